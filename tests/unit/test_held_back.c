/* Commands that are held back while another one waits for acknowledgements: how that shortens their timeout for
 * acknowledgements, and when it does not.
 * SPDX-License-Identifier: Apache-2.0 */
#include "acknowledgement.h"

#include "acknowledgement_fixture.h"

/* Replies to the oldest command that another client holds the lock. */
static void refuse_lock(void) {
    rig_acknowledged(PIPELINE, (struct reply){.kind = REPLY_INTEGER, .integer = RIG_LEASE_MS}, 0);
}

static struct hold *hold_of(uint64_t owner) {
    struct call *call = rig_acquire("a", owner);
    CHECK(rig_send(PIPELINE)->needs_acknowledgement);
    grant(2);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    return call->hold;
}

/* One command at a time waits for acknowledgements, and commands that need none overtake. A command that was held back
 * has less time, and in the end none. */
static void others_are_held_back(void) {
    open_rig();
    struct call *first = rig_try("a", 1);
    struct call *second = rig_try("b", 2);
    struct call *third = rig_try("c", 3);
    uint64_t id = rig_send(PIPELINE)->id;
    CHECK(rig_send(PIPELINE) == NULL);
    engine_hold_back(&rig.engine, engine_pipeline(&rig.engine, PIPELINE), rig.now);
    rig_pass(600 * MILLISECOND);
    grant(0);
    CHECK_EQ_INT(first->status, REDLATCH_NOT_REPLICATED);
    struct command *command = rig_send(PIPELINE);
    CHECK_EQ_INT(acknowledgement_timeout_ms(&rig.engine, command), 400);
    struct command *undo = rig_send(PIPELINE);
    CHECK(undo->kind == COMMAND_RELEASE && undo->id == id);
    rig_pass(400 * MILLISECOND);
    engine_refuse_late(&rig.engine, &rig.server, rig.now); /* no effect while the pipeline waits */
    CHECK(!third->done);
    grant(2);
    CHECK_EQ_INT(second->status, REDLATCH_OK);
    rig_integer(PIPELINE, 1);
    engine_refuse_late(&rig.engine, &rig.server, rig.now);
    rig_turn();
    CHECK_EQ_INT(third->status, REDLATCH_NOT_REPLICATED);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_end("b", 2);
    RIG_CLOSE();
}

/* Has another acquire wait for acknowledgements on the pipeline, so that further commands that need them are held
 * back. */
static void occupy(void) {
    rig_try("z", 99);
    CHECK(rig_send(PIPELINE)->needs_acknowledgement);
}

static void hold_back(void) {
    CHECK(rig_send(PIPELINE) == NULL);
    engine_hold_back(&rig.engine, engine_pipeline(&rig.engine, PIPELINE), rig.now);
}

/* Ends the command that occupied the pipeline. Then the command that was held back is sent, and has `left_ms` of its
 * timeout left. */
static struct command *send_held_back(int64_t left_ms) {
    refuse_lock();
    struct command *command = rig_send(PIPELINE);
    CHECK_EQ_INT(acknowledgement_timeout_ms(&rig.engine, command), left_ms);
    return command;
}

/* Others hold the name, so the status is TIMEOUT, even while the next request is held back. */
static void a_contended_waiter_times_out(void) {
    open_rig();
    struct call *call = rig_acquire("a", 1);
    rig_park(RIG_LEASE_MS);
    occupy();
    rig_message("a");
    hold_back();
    rig_pass(600 * MILLISECOND);
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_TIMEOUT);
    refuse_lock();
    occupy();
    call = rig_acquire("b", 1);
    hold_back();
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_NOT_REPLICATED); /* it is not known whether others hold it */
    refuse_lock();
    RIG_CLOSE();
}

/* Checks that a repeat of the command has the whole timeout: the time for which it was held back counts for the next
 * sending only. */
static void check_repeated(struct command *command) {
    rig_error(PIPELINE, "LOADING not now");
    rig_pass(600 * MILLISECOND);
    engine_refuse_late(&rig.engine, &rig.server, rig.now);
    rig_turn();
    CHECK(rig_send(PIPELINE) == command);
    CHECK_EQ_INT(acknowledgement_timeout_ms(&rig.engine, command), 1000);
}

static void a_repeat_has_all_its_time(void) {
    open_rig();
    hold_of(1);
    occupy();
    struct call *call = rig_acquire("a", 1);
    hold_back();
    rig_pass(600 * MILLISECOND);
    struct command *command = send_held_back(400);
    CHECK_EQ_INT(command->kind, COMMAND_REENTER);
    check_repeated(command);
    confirm(2);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 1);
    occupy();
    call = rig_extend("a", 1, RIG_LEASE_MS);
    hold_back();
    rig_pass(600 * MILLISECOND);
    command = send_held_back(400);
    CHECK_EQ_INT(command->kind, COMMAND_EXTEND);
    check_repeated(command);
    confirm(2);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 1);
    occupy();
    rig.lock_kind = REDLATCH_SEMAPHORE;
    call = rig_call(OPERATION_CHANGE, "s", 0);
    call->operation->change = SEMAPHORE_DRAIN;
    rig_start(call);
    hold_back();
    rig_pass(600 * MILLISECOND);
    command = send_held_back(400);
    CHECK_EQ_INT(command->kind, COMMAND_CHANGE);
    check_repeated(command);
    confirm(2);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    RIG_CLOSE();
}

/* An extension in doubt becomes a move, which is repeated until replicas acknowledge it. */
static void a_move_has_all_its_time(void) {
    open_rig();
    struct hold *hold = hold_of(1);
    occupy();
    struct call *call = rig_extend("a", 1, RIG_LEASE_MS);
    hold_back();
    rig_pass(999 * MILLISECOND);
    send_held_back(1);
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLUTION_DENIED);
    for (int i = 0; i < 3; i++) {
        struct command *move = rig_send(PIPELINE);
        CHECK_EQ_INT(move->kind, COMMAND_MOVE);
        CHECK_EQ_INT(acknowledgement_timeout_ms(&rig.engine, move), 1000);
        confirm(i == 2 ? 2 : 1);
        rig_pass(200 * MILLISECOND);
    }
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    CHECK(hold->id != hold->serial);
    rig_end("a", 1);
    RIG_CLOSE();
}

/* A lost connection holds nothing back. Commands that were not sent on it have their whole timeout on the next one. */
static void a_lost_connection_holds_nothing_back(void) {
    open_rig();
    struct call *first = rig_try("z", 99);
    CHECK(rig_send(PIPELINE)->needs_acknowledgement);
    struct call *call = rig_acquire("a", 1);
    hold_back();
    rig_pass(600 * MILLISECOND);
    rig_abort(first, REDLATCH_CANCELLED);
    rig_lost(PIPELINE);
    rig_pass(600 * MILLISECOND);
    engine_refuse_late(&rig.engine, &rig.server, rig.now);
    rig_turn();
    CHECK(!call->done);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK_EQ_INT(acknowledgement_timeout_ms(&rig.engine, rig_send(PIPELINE)), 1000);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE);
    grant(2);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_integer(PIPELINE, 1);
    rig_end("a", 1);
    RIG_CLOSE();
}

int main(void) {
    RUN(others_are_held_back);
    RUN(a_contended_waiter_times_out);
    RUN(a_repeat_has_all_its_time);
    RUN(a_move_has_all_its_time);
    RUN(a_lost_connection_holds_nothing_back);
    return unit_done();
}
