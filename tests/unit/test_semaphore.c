/* The semaphore machine: each row of the table at the head of semaphore_permits.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

static void open_rig(void) {
    rig_open();
    rig.lock_kind = REDLATCH_SEMAPHORE;
}

static struct call *prepared(int64_t permits) {
    struct call *call = rig_call(OPERATION_ACQUIRE, "s", 0);
    call->operation->amount = permits;
    return call;
}

static struct call *acquire(int64_t permits) {
    struct call *call = prepared(permits);
    rig_start(call);
    return call;
}

/* Returns a waiter that is parked and subscribed, after a reply that too few permits are available. */
static struct call *parked(int64_t permits) {
    struct call *call = acquire(permits);
    rig_park(0);
    CHECK_EQ_INT(call->operation->phase, PHASE_PARKED);
    return call;
}

static struct command *answer(int64_t taken) {
    struct command *command = rig_send(PIPELINE);
    rig_integer(PIPELINE, taken);
    return command;
}

static void permits_that_are_there_take_one_command(void) {
    open_rig();
    struct call *call = acquire(3);
    struct command *command = rig_send(PIPELINE);
    CHECK_EQ_INT(command->kind, COMMAND_ACQUIRE);
    CHECK_EQ_INT(command->amount, 3);
    rig_integer(PIPELINE, 3);
    CHECK(call->done);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    CHECK_EQ_INT(rig.engine.stats.acquired, 1);
    CHECK_EQ_INT(rig.engine.stats.held, 0);
    CHECK(rig_wait_queue("s") == NULL);
    RIG_CLOSE();
}

static void a_try_ends_with_its_answer(void) {
    open_rig();
    struct call *call = prepared(1);
    call->operation->non_blocking = true;
    rig_start(call);
    answer(0);
    CHECK_EQ_INT(call->status, REDLATCH_TIMEOUT);
    RIG_CLOSE();
}

static void one_that_does_not_exist_is_waited_for_unless_it_must(void) {
    open_rig();
    struct call *patient = acquire(1);
    answer(-1);
    CHECK(!patient->done);
    CHECK_EQ_INT(patient->operation->phase, PHASE_PARKED);
    struct call *call = prepared(1);
    call->operation->must_exist = true;
    rig_start(call);
    CHECK(!call->done);
    rig_abort(patient, REDLATCH_CANCELLED);
    answer(-1);
    CHECK(call->done);
    CHECK_EQ_INT(call->status, REDLATCH_NOT_FOUND);
    CHECK(!rig_wait_queue("s") || list_is_empty(&rig_wait_queue("s")->waiters));
    RIG_CLOSE();
}

static void a_limit_goes_with_each_request(void) {
    open_rig();
    struct call *call = prepared(1);
    call->operation->limit = 5;
    rig_start(call);
    struct command *command = answer(0);
    CHECK_EQ_INT(command->limit, 5);
    CHECK(!call->done);
    rig_abort(call, REDLATCH_CANCELLED);
    RIG_CLOSE();
}

static void permits_of_one_that_does_not_exist(void) {
    for (int must_exist = 0; must_exist < 2; must_exist++) {
        open_rig();
        rig.lock_kind = REDLATCH_PERMIT_SEMAPHORE;
        struct call *call = prepared(1);
        call->operation->lease_ms = REDLATCH_RENEWED;
        call->operation->must_exist = must_exist;
        call->operation->non_blocking = true;
        rig_start(call);
        answer(-2);
        CHECK_EQ_INT(call->status, must_exist ? REDLATCH_NOT_FOUND : REDLATCH_TIMEOUT);
        RIG_CLOSE();
    }
}

static void a_try_does_not_pass_those_who_wait(void) {
    open_rig();
    struct call *first = parked(1);
    struct call *call = prepared(1);
    call->operation->non_blocking = true;
    rig_start(call);
    CHECK_EQ_INT(call->status, REDLATCH_TIMEOUT);
    rig_abort(first, REDLATCH_CANCELLED);
    RIG_CLOSE();
}

static void every_ask_has_an_id_of_its_own(void) {
    open_rig();
    struct call *call = acquire(1);
    uint64_t before = rig_send(PIPELINE)->id;
    rig_integer(PIPELINE, 0);
    rig_subscriptions();
    struct command *again = rig_send(PIPELINE);
    CHECK(again->id > before);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    RIG_CLOSE();
}

static void a_message_and_five_seconds_make_it_recheck(void) {
    for (int i = 0; i < 2; i++) {
        open_rig();
        struct call *call = parked(1);
        if (i == 0) {
            rig_message("s");
        } else {
            rig_pass(5 * SECOND);
        }
        CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING);
        answer(1);
        CHECK_EQ_INT(call->status, REDLATCH_OK);
        RIG_CLOSE();
    }
}

static void a_message_while_requesting_makes_it_ask_again(void) {
    open_rig();
    struct call *call = parked(1);
    rig_message("s");
    rig_send(PIPELINE);
    rig_message("s");
    rig_integer(PIPELINE, 0);
    CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING);
    answer(1);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    RIG_CLOSE();
}

static void after_a_grant_the_next_one_asks_at_once(void) {
    open_rig();
    struct call *first = parked(5);
    struct call *second = acquire(1);
    CHECK_EQ_INT(second->operation->phase, PHASE_QUEUED);
    rig_message("s");
    struct command *command = answer(5);
    CHECK_EQ_INT(command->amount, 5);
    CHECK_EQ_INT(first->status, REDLATCH_OK);
    CHECK_EQ_INT(second->operation->phase, PHASE_REQUESTING); /* the message may be about more than five permits */
    answer(1);
    CHECK_EQ_INT(second->status, REDLATCH_OK);
    RIG_CLOSE();
}

static void when_the_foremost_gives_up_the_next_one_asks(void) {
    open_rig();
    struct call *first = parked(5);
    struct call *second = acquire(1);
    rig_abort(first, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(first->status, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(second->operation->phase, PHASE_REQUESTING);
    answer(1);
    CHECK_EQ_INT(second->status, REDLATCH_OK);
    RIG_CLOSE();
}

static void giving_up_while_requesting_is_undone_behind_it(void) {
    open_rig();
    struct call *call = acquire(2);
    struct command *requested = rig_send(PIPELINE);
    uint64_t id = requested->id;
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
    struct command *undo = rig_send(PIPELINE);
    CHECK_EQ_INT(undo->kind, COMMAND_UNDO);
    CHECK(undo->id == id);
    rig_integer(PIPELINE, 2);
    rig_integer(PIPELINE, 2);
    CHECK_EQ_INT(rig.engine.stats.compensations, 1);
    RIG_CLOSE();
}

static void what_was_never_sent_needs_no_undo(void) {
    open_rig();
    struct call *call = acquire(2);
    rig_abort(call, REDLATCH_CANCELLED);
    CHECK_EQ_INT(call->status, REDLATCH_CANCELLED);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

static void a_broken_connection_sends_the_same_again(void) {
    static const enum resolution ways[] = {RESOLVED_BY_KILL, RESOLVED_BY_RESTART, RESOLUTION_DENIED};
    for (int i = 0; i < 3; i++) {
        open_rig();
        struct call *call = acquire(1);
        uint64_t id = rig_send(PIPELINE)->id;
        rig_lost(PIPELINE);
        rig_ready(PIPELINE, ways[i]);
        CHECK(rig_send(PIPELINE)->id == id);
        rig_integer(PIPELINE, 1);
        CHECK_EQ_INT(call->status, REDLATCH_OK);
        RIG_CLOSE();
    }
}

static void after_its_record_nothing_is_sent_again(void) {
    open_rig();
    struct call *call = acquire(1);
    rig_send(PIPELINE);
    rig_lost(PIPELINE);
    rig.now += (RIG_UNREACHABLE_MS + 16000) * MILLISECOND; /* the process was stopped; no timer ran */
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

static void an_abandoned_ask_is_not_sent_again_and_its_undo_is(void) {
    open_rig();
    struct call *call = acquire(1);
    rig_send(PIPELINE);
    rig_abort(call, REDLATCH_TIMEOUT);
    rig_send(PIPELINE);
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_UNDO);
    rig_integer(PIPELINE, 0);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

static void a_transient_error_is_waited_out(void) {
    open_rig();
    struct call *call = acquire(1);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "OOM command not allowed");
    CHECK_EQ_INT(call->operation->phase, PHASE_PAUSED);
    rig_pass(50 * MILLISECOND);
    answer(1);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    RIG_CLOSE();
}

static void an_error_in_doubt_is_undone(void) {
    open_rig();
    struct call *call = acquire(1);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "ERR something script: 12, on @user_script:9.");
    CHECK_EQ_INT(call->status, REDLATCH_SERVER);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_UNDO);
    rig_integer(PIPELINE, 0);
    RIG_CLOSE();
}

/* OOM says that the repeat did nothing. The first sending may have taken permits before its reply was lost. */
static void a_refused_repeat_is_undone(void) {
    open_rig();
    struct call *call = acquire(2);
    uint64_t id = rig_send(PIPELINE)->id;
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    CHECK(rig_send(PIPELINE)->id == id);
    rig_error(PIPELINE, "OOM command not allowed");
    CHECK_EQ_INT(call->operation->phase, PHASE_PAUSED);
    const struct command *undo = rig_send(PIPELINE);
    CHECK(undo && undo->kind == COMMAND_UNDO && undo->id == id);
    if (undo) {
        rig_integer(PIPELINE, 2);
    }
    rig_pass(50 * MILLISECOND);
    CHECK(answer(2)->id > id);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    RIG_CLOSE();
}

static void a_wrong_type_is_an_error(void) {
    open_rig();
    struct call *call = acquire(1);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "WRONGTYPE the key holds no number");
    CHECK_EQ_INT(call->status, REDLATCH_WRONG_TYPE);
    RIG_CLOSE();
}

static struct call *granted_to_a_host(int64_t permits) {
    struct call *call = prepared(permits);
    call->operation->asynchronous = true;
    rig_start(call);
    answer(permits);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    return call;
}

static void what_a_host_collects_is_its_own(void) {
    open_rig();
    struct call *call = granted_to_a_host(2);
    rig_claim(call);
    rig_pass(2 * RIG_CLAIM_MS * MILLISECOND);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

static void what_a_host_does_not_collect_goes_back(void) {
    open_rig();
    struct call *call = granted_to_a_host(2);
    rig_pass(RIG_CLAIM_MS * MILLISECOND);
    CHECK_EQ_INT(call->operation->status, REDLATCH_UNCLAIMED);
    struct command *command = rig_send(PIPELINE);
    CHECK_EQ_INT(command->kind, COMMAND_CHANGE);
    CHECK_EQ_INT(command->change, SEMAPHORE_RELEASE);
    CHECK_EQ_INT(command->amount, 2);
    rig_integer(PIPELINE, 1);
    rig_claim(call);
    RIG_CLOSE();
}

static void at_the_end_it_goes_back_too(void) {
    open_rig();
    struct call *call = granted_to_a_host(2);
    engine_unclaimed(&rig.engine, call->operation);
    CHECK_EQ_INT(call->operation->status, REDLATCH_OK);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    rig_claim(call);
    RIG_CLOSE();
}

/* Each permit with an id is a hold of its own, and a release of its own. Commands are reserved for a few only; the
 * others are released as soon as there is memory, not at the end of the lease. */
static void permits_with_ids_that_a_host_does_not_collect_go_back_one_by_one(void) {
    enum { PERMITS = 20 };
    rig_open();
    rig.lock_kind = REDLATCH_PERMIT_SEMAPHORE;
    struct call *call = prepared(PERMITS);
    call->operation->asynchronous = true;
    call->operation->lease_ms = 3600000;
    rig_start(call);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(rig.engine.stats.held, PERMITS);
    rig_pass(RIG_CLAIM_MS * MILLISECOND);
    int released = 0;
    for (int turn = 0; turn < PERMITS; turn++) {
        const struct command *command;
        while ((command = rig_send(PIPELINE)) != NULL) {
            released += command->kind == COMMAND_RELEASE && command->count == 0;
            rig_integer(PIPELINE, 1);
        }
        rig_supply();
        rig_pass(MILLISECOND);
    }
    CHECK_EQ_INT(released, PERMITS);
    CHECK_EQ_INT(rig.engine.stats.held, 0);
    CHECK_EQ_INT(call->operation->status, REDLATCH_UNCLAIMED);
    rig_claim(call);
    RIG_CLOSE();
}

int main(void) {
    RUN(permits_that_are_there_take_one_command);
    RUN(a_try_ends_with_its_answer);
    RUN(one_that_does_not_exist_is_waited_for_unless_it_must);
    RUN(a_limit_goes_with_each_request);
    RUN(permits_of_one_that_does_not_exist);
    RUN(a_try_does_not_pass_those_who_wait);
    RUN(every_ask_has_an_id_of_its_own);
    RUN(a_message_and_five_seconds_make_it_recheck);
    RUN(a_message_while_requesting_makes_it_ask_again);
    RUN(after_a_grant_the_next_one_asks_at_once);
    RUN(when_the_foremost_gives_up_the_next_one_asks);
    RUN(giving_up_while_requesting_is_undone_behind_it);
    RUN(what_was_never_sent_needs_no_undo);
    RUN(a_broken_connection_sends_the_same_again);
    RUN(after_its_record_nothing_is_sent_again);
    RUN(an_abandoned_ask_is_not_sent_again_and_its_undo_is);
    RUN(a_transient_error_is_waited_out);
    RUN(an_error_in_doubt_is_undone);
    RUN(a_refused_repeat_is_undone);
    RUN(a_wrong_type_is_an_error);
    RUN(what_a_host_collects_is_its_own);
    RUN(what_a_host_does_not_collect_goes_back);
    RUN(at_the_end_it_goes_back_too);
    RUN(permits_with_ids_that_a_host_does_not_collect_go_back_one_by_one);
    return unit_done();
}
