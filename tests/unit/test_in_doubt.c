/* What becomes of a command whose connection broke: each row of the table at the head of in_doubt.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"
#include "lease.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

/* The resolutions after which no old command can arrive any more. */
static const enum resolution surely[] = {RESOLVED_BY_KILL, RESOLVED_BY_RESTART};

/* Writes all commands of the pipeline and breaks the connection before a reply comes. Returns the last command
 * written. */
static struct command *send_and_lose(void) {
    struct command *last = NULL;
    struct command *command;
    while ((command = rig_send(PIPELINE)) != NULL) {
        last = command;
    }
    rig_lost(PIPELINE);
    CHECK(rig_send(PIPELINE) == NULL); /* nothing is sent before the resolution */
    return last;
}

/* Replies to releases that are repeated every second, for 100 s. Returns how many there were. */
static int repeats(uint64_t id) {
    int count = 0;
    for (int i = 0; i < 100; i++) {
        struct command *command;
        while ((command = rig_send(PIPELINE)) != NULL) {
            CHECK(command->kind == COMMAND_RELEASE && command->id == id && command->count == 0);
            rig_integer(PIPELINE, 0);
            count++;
        }
        rig_pass(SECOND);
    }
    return count;
}

/* Owner 1 holds "a" with a fixed lease, and a waiter, owner 2, is parked. */
static struct call *held_with_waiter(void) {
    rig_grant_for("a", 1, 60000);
    struct call *waiter = rig_acquire("a", 2);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 60000);
    return waiter;
}

static void what_was_not_sent_stays_in_order_behind(void) {
    rig_open();
    rig_acquire("a", 1);
    struct command *first = send_and_lose();
    struct call *second = rig_acquire("b", 1);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK(rig_send(PIPELINE) == first && first->repeated);
    CHECK(rig_send(PIPELINE) == second->operation->command);
    CHECK_EQ_INT(rig.engine.stats.resends, 1);
    rig_nil(PIPELINE);
    rig_nil(PIPELINE);
    rig_end("a", 1);
    rig_end("b", 1);
    RIG_CLOSE();
}

/* The connection ended before the release was written. So if the release finds nothing, the lock was lost. */
static void a_release_that_was_not_sent_is_not_in_doubt(void) {
    rig_open();
    rig_grant_for("a", 1, 60000);
    rig_lost(PIPELINE);
    struct call *call = rig_release("a", 1);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK(!rig_send(PIPELINE)->repeated);
    rig_integer(PIPELINE, 0);
    CHECK_EQ_INT(call->status, REDLATCH_LOST);
    CHECK_EQ_INT(rig.engine.stats.resends, 0);
    RIG_CLOSE();
}

static void an_acquire_is_sent_again(void) {
    for (int i = 0; i < 2; i++) {
        rig_open();
        struct call *call = rig_acquire("a", 1);
        struct command *command = send_and_lose();
        CHECK_EQ_INT(call->operation->transient_error, REDLATCH_NO_REPLY);
        rig_pass(SECOND);
        rig_ready(PIPELINE, surely[i]);
        CHECK(rig_send(PIPELINE) == command && command->id == 1);
        rig_nil(PIPELINE);
        CHECK_EQ_INT(call->hold->deadline, lease_deadline(rig.now, RIG_LEASE_MS));
        rig_end("a", 1);
        RIG_CLOSE();
    }
}

/* The first sending may have been granted the values. Some of that grant may be left, while others were taken away
 * since. */
static void an_acquire_of_values_whose_repeat_meets_a_holder_is_undone(void) {
    rig_open();
    rig.lock_kind = REDLATCH_GROUP;
    struct call *call = rig_acquire("a", 1);
    uint64_t id = send_and_lose()->id;
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK_EQ_INT((int64_t)rig_send(PIPELINE)->id, (int64_t)id);
    rig_integer(PIPELINE, 1000);
    CHECK_EQ_INT(call->operation->phase, PHASE_PARKED);
    struct command *undo = rig_send(PIPELINE);
    CHECK(undo && undo->kind == COMMAND_RELEASE && undo->id == id && undo->count == 0);
    if (undo) {
        rig_integer(PIPELINE, 0);
    }
    rig_pass(2 * SECOND);
    CHECK(rig_send(PIPELINE)->id > id);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

/* Ends the hold of owner 1. Checks that the retired number is released every second for one lease. */
static void ends_while_the_retired_is_undone(uint64_t retired) {
    rig_end("a", 1);
    rig_pass(SECOND);
    CHECK_EQ_INT(repeats(retired), 10);
    RIG_CLOSE();
}

static void an_acquire_whose_copy_may_arrive_late_gets_a_new_number(void) {
    rig_open();
    struct call *call = rig_acquire_for("a", 1, 10000);
    send_and_lose();
    rig_ready(PIPELINE, RESOLUTION_DENIED);
    struct command *retired = rig_send(PIPELINE);
    CHECK(retired->kind == COMMAND_RELEASE && retired->id == 1);
    struct command *command = rig_send(PIPELINE);
    CHECK(command->kind == COMMAND_ACQUIRE && command->id == 2);
    rig_integer(PIPELINE, 1); /* the first request was granted, or arrived late */
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->id, 2);
    ends_while_the_retired_is_undone(1);
}

/* A message made the waiter request. So the new request does not wait until the next recheck by timer. */
static void a_woken_acquire_whose_copy_may_arrive_late_asks_at_once(void) {
    rig_open();
    struct call *call = rig_acquire_for("a", 1, 10000);
    rig_park(60000);
    rig_message("a");
    uint64_t id = send_and_lose()->id;
    rig_ready(PIPELINE, RESOLUTION_DENIED);
    rig_pass(0);
    struct command *retired = rig_send(PIPELINE);
    CHECK(retired->kind == COMMAND_RELEASE && retired->id == id);
    struct command *command = rig_send(PIPELINE);
    CHECK(command && command->kind == COMMAND_ACQUIRE && command->id > id);
    rig_integer(PIPELINE, 0);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    ends_while_the_retired_is_undone(id);
}

static void an_acquire_without_numbers_left_gives_up(void) {
    rig_open();
    rig_grant_for("b", 1, 60000);
    struct call *call = rig_acquire_for("a", 1, 3600000);
    for (int i = 0; i < 20 && !call->done; i++) {
        send_and_lose();
        rig_ready(PIPELINE, RESOLUTION_DENIED);
    }
    CHECK(call->done);
    CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
    rig_pass(0);
    rig_drain_background(); /* the queries of holds that the end of each connection caused */
    rig_pass(3600 * SECOND);
    while (rig_send(PIPELINE)) {
        rig_integer(PIPELINE, 0);
    }
    rig_release("b", 1);
    RIG_CLOSE();
}

static void an_abandoned_acquire_is_forgotten_and_undone(void) {
    for (int i = 0; i < 2; i++) {
        rig_open();
        struct call *call = rig_acquire("a", 1);
        rig_send(PIPELINE);
        rig_abort(call, REDLATCH_TIMEOUT);
        struct command *undo = send_and_lose();
        rig_ready(PIPELINE, surely[i]);
        CHECK(rig_send(PIPELINE) == undo && undo->kind == COMMAND_RELEASE);
        rig_integer(PIPELINE, 1);
        rig_pass(5 * SECOND);
        CHECK(rig_send(PIPELINE) == NULL);
        RIG_CLOSE();
    }
}

static void an_undo_is_repeated_while_what_it_undoes_may_arrive(void) {
    for (int sent = 0; sent < 2; sent++) { /* the undo was sent before the connection broke, or not */
        rig_open();
        struct call *call = rig_acquire_for("a", 1, 10000);
        rig_send(PIPELINE);
        rig_abort(call, REDLATCH_TIMEOUT);
        if (sent) {
            rig_send(PIPELINE);
        }
        rig_lost(PIPELINE);
        rig_ready(PIPELINE, RESOLUTION_DENIED);
        CHECK_EQ_INT(repeats(1), 11);
        RIG_CLOSE();
    }
}

static void a_reentry_is_sent_again(void) {
    static const enum resolution ways[] = {RESOLVED_BY_KILL, RESOLUTION_DENIED};
    for (int i = 0; i < 2; i++) {
        rig_open();
        struct hold *hold = rig_grant_for("a", 1, 60000);
        struct call *call = rig_acquire_for("a", 1, 60000);
        struct command *command = send_and_lose();
        rig_ready(PIPELINE, ways[i]);
        CHECK(rig_send(PIPELINE) == command && command->kind == COMMAND_REENTER && command->count == 2);
        rig_integer(PIPELINE, 1);
        CHECK(call->status == REDLATCH_OK && hold->count == 2);
        rig_end("a", 1);
        rig_end("a", 1);
        RIG_CLOSE();
    }
}

static void an_abandoned_reentry_is_forgotten(void) {
    rig_open();
    struct hold *hold = rig_grant_for("a", 1, 60000);
    struct call *call = rig_acquire_for("a", 1, 60000);
    rig_send(PIPELINE);
    rig_abort(call, REDLATCH_TIMEOUT);
    struct command *undo = send_and_lose();
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK(rig_send(PIPELINE) == undo && undo->count == 1);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(hold->count, 1);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_resent_release_that_finds_nothing_is_a_success(void) {
    rig_open();
    rig_grant_for("a", 1, 60000);
    struct call *release = rig_release("a", 1);
    struct command *command = send_and_lose();
    rig_ready(PIPELINE, RESOLUTION_DENIED);
    CHECK(rig_send(PIPELINE) == command);
    rig_integer(PIPELINE, 0);
    CHECK_EQ_INT(release->status, REDLATCH_OK);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

/* The release starts before the deadline of the hold, and is sent for the first time after it. */
static void a_release_first_sent_after_the_deadline_is_lost(void) {
    rig_open();
    rig_grant_for("a", 1, 1000);
    struct call *release = rig_release("a", 1);
    rig_pass(2 * SECOND);
    send_and_lose();
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 0);
    CHECK_EQ_INT(release->status, REDLATCH_LOST);
    RIG_CLOSE();
}

static void an_extension_is_sent_again(void) {
    rig_open();
    struct hold *hold = rig_grant_for("a", 1, 60000);
    struct call *call = rig_extend("a", 1, 5000);
    struct command *command = send_and_lose();
    rig_pass(SECOND);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK(rig_send(PIPELINE) == command && command->kind == COMMAND_EXTEND);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    CHECK_EQ_INT(hold->deadline, lease_deadline(rig.now, 5000));
    rig_end("a", 1);
    RIG_CLOSE();
}

static void an_extension_that_may_arrive_late_moves_the_hold(void) {
    rig_open();
    struct hold *hold = rig_grant_for("a", 1, 60000);
    rig_acquire_for("a", 1, 60000);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    uint64_t id = hold->id;
    struct call *call = rig_extend("a", 1, 5000);
    int64_t first_sent_at = rig.now;
    send_and_lose();
    rig_pass(SECOND);
    rig_ready(PIPELINE, RESOLUTION_DENIED);
    struct command *move = rig_send(PIPELINE);
    CHECK(move->kind == COMMAND_MOVE && move->id == id && move->count == 2 && move->lease_ms == 5000);
    CHECK(move->successor > id);
    rig_integer(PIPELINE, 1);
    CHECK(call->status == REDLATCH_OK && hold->id == move->successor);
    CHECK_EQ_INT(hold->serial, id); /* for its user it is the same hold */
    CHECK_EQ_INT(hold->deadline, lease_deadline(first_sent_at, 5000));
    rig_end("a", 1);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void an_extension_of_a_forgotten_hold_does_not_move_it(void) {
    rig_open();
    rig_grant_for("a", 1, 60000);
    struct call *call = rig_extend("a", 1, 5000);
    struct command *command = send_and_lose();
    engine_owner_end(&rig.engine, 1, rig.now);
    rig_turn();
    rig_ready(PIPELINE, RESOLUTION_DENIED);
    CHECK(rig_send(PIPELINE) == command && command->kind == COMMAND_EXTEND);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(call->status, REDLATCH_LOST);
    RIG_CLOSE();
}

static void a_hand_over_is_sent_again(void) {
    rig_open();
    struct call *waiter = held_with_waiter();
    struct call *release = rig_release("a", 1);
    struct command *command = send_and_lose();
    int64_t first_sent_at = rig.now;
    rig_pass(SECOND);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK(rig_send(PIPELINE) == command && command->kind == COMMAND_HAND_OVER);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(release->status, REDLATCH_OK);
    CHECK_EQ_INT(waiter->status, REDLATCH_OK);
    /* A repeat does not prolong the lease. */
    CHECK_EQ_INT(waiter->hold->deadline, lease_deadline(first_sent_at, RIG_LEASE_MS));
    rig_end("a", 2);
    RIG_CLOSE();
}

static void a_hand_over_that_may_arrive_late_becomes_a_release(void) {
    rig_open();
    struct call *waiter = held_with_waiter();
    struct call *release = rig_release("a", 1);
    struct command *command = send_and_lose();
    uint64_t retired = command->successor;
    rig_ready(PIPELINE, RESOLUTION_DENIED);
    CHECK(rig_send(PIPELINE) == command && command->kind == COMMAND_RELEASE && command->id == 1);
    struct command *undo = rig_send(PIPELINE);
    CHECK(undo->kind == COMMAND_RELEASE && undo->id == retired);
    struct command *ask = rig_send(PIPELINE);
    CHECK(ask->kind == COMMAND_ACQUIRE && ask->id > retired);
    rig_integer(PIPELINE, 0);
    CHECK_EQ_INT(release->status, REDLATCH_OK);
    rig_integer(PIPELINE, 1);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(waiter->status, REDLATCH_OK);
    rig_end("a", 2);
    rig_pass(SECOND);
    CHECK_EQ_INT(repeats(retired), 30);
    RIG_CLOSE();
}

static void a_hand_over_that_nobody_waits_for_becomes_a_release(void) {
    rig_open();
    struct call *waiter = held_with_waiter();
    struct call *release = rig_release("a", 1);
    struct command *command = rig_send(PIPELINE);
    uint64_t successor = command->successor;
    rig_abort(waiter, REDLATCH_CANCELLED);
    struct command *undo = send_and_lose();
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK(rig_send(PIPELINE) == command && command->kind == COMMAND_RELEASE && command->id == 1);
    CHECK(rig_send(PIPELINE) == undo && undo->id == successor);
    rig_integer(PIPELINE, 0);
    CHECK_EQ_INT(release->status, REDLATCH_OK);
    rig_integer(PIPELINE, 1);
    RIG_CLOSE();
}

static void the_undo_of_a_hand_over_is_repeated_while_that_may_arrive(void) {
    rig_open();
    struct call *waiter = held_with_waiter();
    rig_release("a", 1);
    struct command *command = rig_send(PIPELINE);
    uint64_t successor = command->successor;
    rig_abort(waiter, REDLATCH_CANCELLED);
    rig_lost(PIPELINE); /* before the undo was sent */
    rig_ready(PIPELINE, RESOLUTION_DENIED);
    CHECK(rig_send(PIPELINE) == command && command->kind == COMMAND_RELEASE);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(repeats(successor), 31);
    RIG_CLOSE();
}

static void a_force_release_is_not_sent_again(void) {
    rig_open();
    struct call *call = rig_call(OPERATION_FORCE, "a", 1);
    rig_start(call);
    send_and_lose();
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

static void a_query_is_sent_again_unless_abandoned(void) {
    for (int abandoned = 0; abandoned < 2; abandoned++) {
        rig_open();
        struct call *call = rig_call(OPERATION_QUERY, "a", 1);
        rig_start(call);
        send_and_lose();
        if (abandoned) {
            rig_abort(call, REDLATCH_TIMEOUT);
        }
        rig_ready(PIPELINE, RESOLVED_BY_KILL);
        if (abandoned) {
            CHECK(rig_send(PIPELINE) == NULL);
            CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
        } else {
            CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_QUERY);
            rig_integers(PIPELINE, NULL, 0);
            CHECK_EQ_INT(call->status, REDLATCH_OK);
        }
        RIG_CLOSE();
    }
}

int main(void) {
    RUN(what_was_not_sent_stays_in_order_behind);
    RUN(a_release_that_was_not_sent_is_not_in_doubt);
    RUN(an_acquire_is_sent_again);
    RUN(an_acquire_of_values_whose_repeat_meets_a_holder_is_undone);
    RUN(an_acquire_whose_copy_may_arrive_late_gets_a_new_number);
    RUN(a_woken_acquire_whose_copy_may_arrive_late_asks_at_once);
    RUN(an_acquire_without_numbers_left_gives_up);
    RUN(an_abandoned_acquire_is_forgotten_and_undone);
    RUN(an_undo_is_repeated_while_what_it_undoes_may_arrive);
    RUN(a_reentry_is_sent_again);
    RUN(an_abandoned_reentry_is_forgotten);
    RUN(a_resent_release_that_finds_nothing_is_a_success);
    RUN(a_release_first_sent_after_the_deadline_is_lost);
    RUN(an_extension_is_sent_again);
    RUN(an_extension_that_may_arrive_late_moves_the_hold);
    RUN(an_extension_of_a_forgotten_hold_does_not_move_it);
    RUN(a_hand_over_is_sent_again);
    RUN(a_hand_over_that_may_arrive_late_becomes_a_release);
    RUN(a_hand_over_that_nobody_waits_for_becomes_a_release);
    RUN(the_undo_of_a_hand_over_is_repeated_while_that_may_arrive);
    RUN(a_force_release_is_not_sent_again);
    RUN(a_query_is_sent_again_unless_abandoned);
    return unit_done();
}
