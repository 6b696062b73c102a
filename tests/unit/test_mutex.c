/* The acquire machine: each row of the table at the head of mutex.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"
#include "lease.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

/* Returns a waiter that is parked and subscribed: the server replied that the lock is held. */
static struct call *parked(const char *name, uint64_t owner, int64_t ttl_ms) {
    struct call *call = rig_acquire(name, owner);
    rig_park(ttl_ms);
    return call;
}

static void grant(void) {
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
}

static void a_free_lock_is_granted_in_one_command(void) {
    rig_open();
    struct call *call = rig_acquire("a", 1);
    CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING);
    struct command *command = rig_send(PIPELINE);
    CHECK_EQ_INT(command->kind, COMMAND_ACQUIRE);
    CHECK_EQ_INT(command->id, 1);
    CHECK_EQ_INT(command->lease_ms, RIG_LEASE_MS);
    int64_t sent_at = rig.now;
    rig_pass(SECOND);
    rig_nil(PIPELINE);
    CHECK(call->done);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    CHECK_EQ_INT(call->hold->deadline, lease_deadline(sent_at, RIG_LEASE_MS));
    CHECK_EQ_INT(rig.engine.stats.held, 1);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void every_hold_has_a_number_of_its_own(void) {
    rig_open();
    uint64_t first = rig_grant("a", 1)->id;
    rig_end("a", 1);
    CHECK(rig_grant("a", 1)->id > first);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_grant_older_than_its_lease_is_undone(void) {
    rig_open();
    struct call *call = rig_acquire_for("a", 1, 1000);
    rig_send(PIPELINE);
    rig_pass(988 * MILLISECOND);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_LOST);
    struct command *undo = rig_send(PIPELINE);
    CHECK(undo->kind == COMMAND_RELEASE && undo->id == 1 && undo->count == 0);
    CHECK_EQ_INT(rig.engine.stats.compensations, 1);
    rig_integer(PIPELINE, 1);
    RIG_CLOSE();
}

static void a_bound_on_the_hold_shortens_the_first_lease(void) {
    rig_open();
    struct call *call = rig_call(OPERATION_ACQUIRE, "a", 1);
    call->operation->max_hold_ms = 5000;
    rig_start(call);
    CHECK_EQ_INT(rig_send(PIPELINE)->lease_ms, 5000);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->hold->max_hold_at, rig.now + 5 * SECOND);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_try_fails_at_once(void) {
    rig_open();
    struct call *call = rig_try("a", 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 5000);
    CHECK_EQ_INT(call->status, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(rig.engine.stats.contended, 1);
    struct call *waiter = parked("a", 1, 5000);
    struct call *second = rig_try("a", 2); /* a try does not pass waiters */
    CHECK_EQ_INT(second->status, REDLATCH_TIMEOUT);
    rig_abort(waiter, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(waiter->status, REDLATCH_TIMEOUT);
    RIG_CLOSE();
}

static void a_waiter_parks_until_the_holders_lease_ends(void) {
    rig_open();
    struct call *call = parked("a", 1, 1000);
    CHECK_EQ_INT(call->operation->phase, PHASE_PARKED);
    rig_pass(1000 * MILLISECOND);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_pass(11 * MILLISECOND);
    CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING);
    grant();
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

/* The reply 0 is a lease that ends within this millisecond. Only -1 means that there is no lease. */
static void with_0_ms_left_it_rechecks_within_moments(void) {
    rig_open();
    struct call *call = parked("a", 1, 0);
    CHECK_EQ_INT(call->operation->phase, PHASE_PARKED);
    rig_pass(12 * MILLISECOND);
    CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING);
    grant();
    rig_end("a", 1);
    RIG_CLOSE();
}

static void no_park_is_longer_than_five_seconds(void) {
    /* A long lease, no lease, and values that only a hostile server sends. */
    static const int64_t remaining[] = {600000, -1, INT64_C(500000000000000000), INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof remaining / sizeof remaining[0]; i++) {
        rig_open();
        struct call *call = parked("a", 1, remaining[i]);
        rig_pass(5 * SECOND - 1);
        CHECK_EQ_INT(call->operation->phase, PHASE_PARKED);
        rig_pass(1);
        CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING);
        grant();
        rig_end("a", 1);
        RIG_CLOSE();
    }
}

static void a_message_makes_a_parked_waiter_recheck(void) {
    rig_open();
    struct call *call = parked("a", 1, 60000);
    rig_message("a");
    CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING);
    CHECK_EQ_INT(rig.engine.stats.messages, 1);
    grant();
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    CHECK_EQ_INT(rig.engine.stats.contended, 1);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_message_while_requesting_makes_it_ask_again(void) {
    rig_open();
    struct call *call = parked("a", 1, 60000);
    rig_message("a");
    rig_send(PIPELINE);
    rig_message("a"); /* the reply may be older than the message */
    rig_integer(PIPELINE, 60000);
    CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 60000);
    CHECK_EQ_INT(call->operation->phase, PHASE_PARKED);
    rig_abort(call, REDLATCH_CANCELLED);
    CHECK_EQ_INT(call->status, REDLATCH_CANCELLED);
    RIG_CLOSE();
}

static void a_transient_error_of_an_acquire_is_waited_out(void) {
    rig_open();
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "LOADING Redis is loading the dataset in memory");
    CHECK_EQ_INT(call->operation->phase, PHASE_PAUSED);
    rig_pass(20 * MILLISECOND - 1);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_pass(20 * MILLISECOND);              /* 20 ms, and up to 19 more at random */
    CHECK_EQ_INT(rig_send(PIPELINE)->id, 1); /* the same number: nothing has run */
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

/* Replies LOADING to every command for `time`. Returns how many commands there were. */
static int asks_while_loading(int64_t time) {
    int asks = 0;
    int64_t end = rig.now + time;
    while (rig.now < end) {
        while (asks < 100000 && rig_send(PIPELINE)) {
            rig_error(PIPELINE, "LOADING Redis is loading the dataset in memory");
            asks++;
        }
        rig_pass(MILLISECOND);
    }
    return asks;
}

static void pauses_grow_to_a_second(void) {
    rig_open();
    struct call *call = rig_acquire("a", 1);
    int asks = asks_while_loading(5 * SECOND);
    CHECK(asks >= 20 && asks <= 60);
    asks = asks_while_loading(10 * SECOND);
    CHECK(asks >= 5 && asks <= 20);
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_LOADING);
    RIG_CLOSE();
}

static void a_server_that_loads_after_a_break_is_not_retried_without_pause(void) {
    rig_open();
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLVED_BY_RESTART);
    CHECK(asks_while_loading(SECOND) <= 40); /* acquires, and the undo of the first, which may have run */
    rig_abort(call, REDLATCH_CANCELLED);
    rig_pass(SECOND);
    int undone = 0;
    while (rig_send(PIPELINE)) {
        rig_integer(PIPELINE, 0);
        undone++;
    }
    CHECK(undone >= 1);
    RIG_CLOSE();
}

static void an_unusable_server_ends_a_wait_without_end(void) {
    rig_open();
    struct call *call = rig_acquire("a", 1);
    asks_while_loading(RIG_UNREACHABLE_MS * MILLISECOND - SECOND);
    CHECK(!call->done);
    asks_while_loading(2 * SECOND);
    CHECK(call->done);
    CHECK_EQ_INT(call->status, REDLATCH_LOADING);
    RIG_CLOSE();
}

static void a_try_fails_with_a_transient_error(void) {
    rig_open();
    struct call *call = rig_try("a", 1);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "BUSY Redis is busy running a script.");
    CHECK_EQ_INT(call->status, REDLATCH_SERVER_BUSY);
    RIG_CLOSE();
}

static void another_error_reply_ends_it(void) {
    rig_open();
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "WRONGTYPE Operation against a key holding the wrong kind of value");
    CHECK_EQ_INT(call->status, REDLATCH_WRONG_TYPE);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

static void what_may_have_run_is_undone(void) {
    rig_open();
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "ERR ACL failure in script: User lim has no permissions to run the 'pexpire' command");
    CHECK_EQ_INT(call->status, REDLATCH_NO_PERMISSION);
    struct command *undo = rig_send(PIPELINE);
    CHECK(undo->kind == COMMAND_RELEASE && undo->id == 1);
    rig_integer(PIPELINE, 0);
    RIG_CLOSE();
}

static void an_answer_of_another_kind_is_no_redis(void) {
    rig_open();
    struct call *call = rig_acquire("a", 1);
    struct reply reply = {.kind = REPLY_STRING, .text = "OK", .size = 2};
    rig_send(PIPELINE);
    rig_reply(PIPELINE, &reply);
    CHECK_EQ_INT(call->status, REDLATCH_PROTOCOL);
    RIG_CLOSE();
}

static void giving_up_before_sending_leaves_nothing(void) {
    rig_open();
    struct call *call = rig_acquire("a", 1);
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_UNREACHABLE);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

static void giving_up_after_sending_queues_an_undo_behind_it(void) {
    rig_open();
    struct call *call = rig_acquire("a", 1);
    struct command *ask = rig_send(PIPELINE);
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_NO_REPLY);
    CHECK(ask->abandoned && !ask->operation);
    struct command *undo = rig_send(PIPELINE);
    CHECK(undo->kind == COMMAND_RELEASE && undo->id == ask->id && undo->count == 0);
    rig_nil(PIPELINE); /* the late grant */
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(rig.engine.stats.held, 0);
    RIG_CLOSE();
}

static void an_abandoned_ask_is_not_sent_again_as_text(void) {
    rig_open();
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    rig_abort(call, REDLATCH_TIMEOUT);
    rig_error(PIPELINE, "NOSCRIPT No matching script.");
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE);
    rig_integer(PIPELINE, 0);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

static void a_script_unknown_to_the_server_goes_as_text(void) {
    rig_open();
    struct call *call = rig_acquire("a", 1);
    struct command *ask = rig_send(PIPELINE);
    rig_error(PIPELINE, "NOSCRIPT No matching script.");
    CHECK(ask->as_text && !ask->was_sent);
    rig_pass(SECOND);
    CHECK(rig_send(PIPELINE) == ask);
    CHECK(!ask->repeated);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->hold->confirmed_at, rig.now);
    CHECK_EQ_INT(rig.engine.stats.script_loads, 1);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void an_asynchronous_wait_ends_by_itself(void) {
    rig_open();
    struct call *call = rig_call(OPERATION_ACQUIRE, "a", 1);
    call->operation->asynchronous = true;
    call->operation->pipeline = PIPELINE_HOST;
    call->operation->wait_until = rig.now + 2 * SECOND;
    rig_start(call);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_send(PIPELINE_HOST);
    rig_integer(PIPELINE_HOST, 60000);
    rig_subscriptions();
    rig_send(PIPELINE_HOST);
    rig_integer(PIPELINE_HOST, 60000);
    rig_pass(2 * SECOND - 1);
    CHECK(!call->done);
    rig_pass(1);
    CHECK_EQ_INT(call->status, REDLATCH_TIMEOUT);
    RIG_CLOSE();
}

static void an_asynchronous_wait_in_the_queue_ends_by_itself(void) {
    rig_open();
    struct call *first = parked("a", 1, 60000);
    struct call *call = rig_call(OPERATION_ACQUIRE, "a", 2);
    call->operation->asynchronous = true;
    call->operation->wait_until = rig.now + SECOND;
    rig_start(call);
    CHECK_EQ_INT(call->operation->phase, PHASE_QUEUED);
    rig_pass(SECOND);
    CHECK_EQ_INT(call->status, REDLATCH_TIMEOUT);
    rig_abort(first, REDLATCH_TIMEOUT);
    RIG_CLOSE();
}

int main(void) {
    RUN(a_free_lock_is_granted_in_one_command);
    RUN(every_hold_has_a_number_of_its_own);
    RUN(a_grant_older_than_its_lease_is_undone);
    RUN(a_bound_on_the_hold_shortens_the_first_lease);
    RUN(a_try_fails_at_once);
    RUN(a_waiter_parks_until_the_holders_lease_ends);
    RUN(with_0_ms_left_it_rechecks_within_moments);
    RUN(no_park_is_longer_than_five_seconds);
    RUN(a_message_makes_a_parked_waiter_recheck);
    RUN(a_message_while_requesting_makes_it_ask_again);
    RUN(a_transient_error_of_an_acquire_is_waited_out);
    RUN(pauses_grow_to_a_second);
    RUN(a_server_that_loads_after_a_break_is_not_retried_without_pause);
    RUN(an_unusable_server_ends_a_wait_without_end);
    RUN(a_try_fails_with_a_transient_error);
    RUN(another_error_reply_ends_it);
    RUN(what_may_have_run_is_undone);
    RUN(an_answer_of_another_kind_is_no_redis);
    RUN(giving_up_before_sending_leaves_nothing);
    RUN(giving_up_after_sending_queues_an_undo_behind_it);
    RUN(an_abandoned_ask_is_not_sent_again_as_text);
    RUN(a_script_unknown_to_the_server_goes_as_text);
    RUN(an_asynchronous_wait_ends_by_itself);
    RUN(an_asynchronous_wait_in_the_queue_ends_by_itself);
    return unit_done();
}
