/* The change machine: each row of the table at the head of change.c, and what becomes of each change that is given up.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

static struct call *prepared(enum change change) {
    rig.lock_kind = change >= PERMITS_TRY_SET ? REDLATCH_PERMIT_SEMAPHORE
                    : change >= LATCH_TRY_SET ? REDLATCH_LATCH
                                              : REDLATCH_SEMAPHORE;
    struct call *call = rig_call(OPERATION_CHANGE, "c", 0);
    call->operation->change = (uint8_t)change;
    call->operation->amount = 4;
    return call;
}

static struct call *begun(enum change change) {
    rig_open();
    struct call *call = prepared(change);
    rig_start(call);
    return call;
}

/* Returns whether a negative number in the reply says that there would be too many permits. */
static bool is_bounded(int change) {
    return change == SEMAPHORE_ADD || change == SEMAPHORE_RELEASE || change == SEMAPHORE_RELEASE_IF_EXISTS ||
           change == PERMITS_ADD;
}

static void each_is_one_command_with_a_number(void) {
    for (int change = 1; change < CHANGES; change++) {
        struct call *call = begun((enum change)change);
        struct command *command = rig_send(PIPELINE);
        CHECK_EQ_INT(command->kind, COMMAND_CHANGE);
        CHECK_EQ_INT(command->change, change);
        CHECK_EQ_INT(command->amount, 4);
        rig_integer(PIPELINE, -7);
        CHECK_EQ_INT(call->status, is_bounded(change) ? REDLATCH_INVALID : REDLATCH_OK);
        CHECK_EQ_INT(call->result, is_bounded(change) ? 0 : -7);
        RIG_CLOSE();
    }
}

static void what_is_no_number_breaks_the_protocol(void) {
    struct call *call = begun(SEMAPHORE_DRAIN);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_PROTOCOL);
    RIG_CLOSE();
}

static void a_broken_connection_sends_it_again_unless_it_has_no_record(void) {
    for (int change = 1; change < CHANGES; change++) {
        struct call *call = begun((enum change)change);
        uint64_t id = rig_send(PIPELINE)->id;
        rig_lost(PIPELINE);
        rig_ready(PIPELINE, RESOLUTION_DENIED);
        struct command *again = rig_send(PIPELINE);
        if (change == SEMAPHORE_DELETE || change == LATCH_DELETE || change == PERMITS_DELETE) {
            CHECK(again == NULL);
            CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
        } else {
            CHECK(again->id == id);
            rig_integer(PIPELINE, 1);
            CHECK_EQ_INT(call->status, REDLATCH_OK);
        }
        RIG_CLOSE();
    }
}

static void after_its_record_it_is_not_sent_again(void) {
    struct call *call = begun(SEMAPHORE_ADD);
    rig_send(PIPELINE);
    rig_lost(PIPELINE);
    rig.now += (RIG_UNREACHABLE_MS + 16000) * MILLISECOND;
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

/* Loses the connection, and is denied KILL on the next one after `seconds`. */
static void lose_and_be_denied(int64_t seconds) {
    rig_lost(PIPELINE);
    rig.now += seconds * SECOND;
    rig_ready(PIPELINE, RESOLUTION_DENIED);
}

static void where_kill_is_denied_records_live_for_an_hour(void) {
    struct call *call = begun(SEMAPHORE_ADD);
    rig.server.kill_denied = true; /* since an earlier connection */
    rig_send(PIPELINE);
    lose_and_be_denied(0);
    rig_send(PIPELINE);
    lose_and_be_denied(3000);
    CHECK(rig_send(PIPELINE) != NULL);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    RIG_CLOSE();
}

/* The record that the first sending may have left is over by then, so it would run twice. */
static void a_record_lives_as_long_as_the_first_sending_stated(void) {
    for (int sendings = 1; sendings <= 2; sendings++) {
        struct call *call = begun(SEMAPHORE_RELEASE);
        for (int i = 0; i < sendings; i++) {
            rig_send(PIPELINE);
            lose_and_be_denied(i + 1 < sendings ? 0 : 60);
        }
        CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
        CHECK(rig_send(PIPELINE) == NULL);
        RIG_CLOSE();
    }
}

/* A slot moves to a node that has not denied KILL yet. */
static void a_repeat_may_state_a_shorter_life(void) {
    struct call *call = begun(SEMAPHORE_RELEASE);
    rig.server.kill_denied = true;
    rig_send(PIPELINE);
    lose_and_be_denied(0);
    rig.server.kill_denied = false;
    rig_send(PIPELINE);
    lose_and_be_denied(60);
    CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

static void resends_in_the_queue_have_an_end_too(void) {
    struct call *call = begun(SEMAPHORE_ADD);
    rig_send(PIPELINE);
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLVED_BY_KILL); /* to be sent again, and the next connection breaks at once */
    rig_lost(PIPELINE);
    rig.now += 60 * SECOND;
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
    RIG_CLOSE();
}

static void a_transient_error_is_repeated_until_the_caller_has_enough(void) {
    struct call *call = begun(SEMAPHORE_RELEASE);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "OOM command not allowed");
    CHECK(!call->done);
    rig_pass(100 * MILLISECOND);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "OOM command not allowed");
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_SERVER_OUT_OF_MEMORY); /* it was not carried out, and will not be */
    rig_pass(SECOND);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

static void another_error_is_the_answer(void) {
    struct call *call = begun(LATCH_COUNT_DOWN);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "WRONGTYPE the key holds no number");
    CHECK_EQ_INT(call->status, REDLATCH_WRONG_TYPE);
    RIG_CLOSE();
}

static void what_gives_goes_on_alone(void) {
    static const enum change gives[] = {SEMAPHORE_RELEASE, SEMAPHORE_RELEASE_IF_EXISTS, LATCH_COUNT_DOWN,
                                        PERMITS_RELEASE};
    for (int i = 0; i < 4; i++) {
        struct call *call = begun(gives[i]);
        uint64_t id = rig_send(PIPELINE)->id;
        rig_abort(call, REDLATCH_TIMEOUT);
        CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
        rig_lost(PIPELINE);
        rig_ready(PIPELINE, RESOLVED_BY_KILL);
        CHECK(rig_send(PIPELINE)->id == id);
        rig_error(PIPELINE, "LOADING Redis is loading");
        rig_pass(100 * MILLISECOND);
        CHECK(rig_send(PIPELINE)->id == id);
        rig_integer(PIPELINE, 1);
        RIG_CLOSE();
    }
}

static void what_gives_and_was_never_sent_is_not(void) {
    struct call *call = begun(SEMAPHORE_RELEASE);
    rig_failed(PIPELINE, REDLATCH_UNREACHABLE);
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_UNREACHABLE); /* so the caller may release again */
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

static void a_drain_is_undone(void) {
    struct call *call = begun(SEMAPHORE_DRAIN);
    uint64_t id = rig_send(PIPELINE)->id;
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
    struct command *undo = rig_send(PIPELINE);
    CHECK_EQ_INT(undo->kind, COMMAND_UNDO);
    CHECK(undo->id == id);
    rig_integer(PIPELINE, 4);
    rig_error(PIPELINE, "OOM command not allowed");
    rig_pass(100 * MILLISECOND);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_UNDO);
    rig_integer(PIPELINE, 4);
    RIG_CLOSE();
}

static void the_others_are_forgotten(void) {
    static const enum change others[] = {SEMAPHORE_TRY_SET, SEMAPHORE_ADD, SEMAPHORE_COUNT, SEMAPHORE_DELETE,
                                         LATCH_TRY_SET,     LATCH_COUNT,   LATCH_DELETE};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct call *call = begun(others[i]);
        rig_send(PIPELINE);
        rig_abort(call, REDLATCH_TIMEOUT);
        CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
        rig_lost(PIPELINE);
        rig_ready(PIPELINE, RESOLVED_BY_KILL);
        CHECK(rig_send(PIPELINE) == NULL);
        RIG_CLOSE();
    }
}

static void an_undo_is_not_sent_for_ever(void) {
    struct call *call = begun(SEMAPHORE_DRAIN);
    rig_send(PIPELINE);
    rig_abort(call, REDLATCH_TIMEOUT);
    rig_send(PIPELINE);
    rig_lost(PIPELINE);
    rig.now += 60 * SECOND;
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK(rig_send(PIPELINE) == NULL); /* by then the record that it needs may have ended */
    RIG_CLOSE();
}

int main(void) {
    RUN(each_is_one_command_with_a_number);
    RUN(what_is_no_number_breaks_the_protocol);
    RUN(a_broken_connection_sends_it_again_unless_it_has_no_record);
    RUN(after_its_record_it_is_not_sent_again);
    RUN(where_kill_is_denied_records_live_for_an_hour);
    RUN(a_record_lives_as_long_as_the_first_sending_stated);
    RUN(a_repeat_may_state_a_shorter_life);
    RUN(resends_in_the_queue_have_an_end_too);
    RUN(a_transient_error_is_repeated_until_the_caller_has_enough);
    RUN(another_error_is_the_answer);
    RUN(what_gives_goes_on_alone);
    RUN(what_gives_and_was_never_sent_is_not);
    RUN(a_drain_is_undone);
    RUN(the_others_are_forgotten);
    RUN(an_undo_is_not_sent_for_ever);
    return unit_done();
}
