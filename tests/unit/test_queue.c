/* The wait queue of a name: order, hand-overs and their bounds, yielding, several calls of one owner.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

enum { HAND_OVERS_MAX = 16 };

/* Owner 1 holds "a" and owners 2 to `last` wait for it, the foremost parked and subscribed. */
static void held_with_waiters(struct call **waiters, uint64_t last) {
    rig_grant("a", 1);
    for (uint64_t owner = 2; owner <= last; owner++) {
        waiters[owner] = rig_acquire("a", owner);
    }
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 30000);
    rig_subscriptions();
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 30000);
}

/* The owner's release hands the lock over to the next waiter, and is answered. */
static void hand_over(uint64_t owner) {
    rig_release("a", owner);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
}

static void only_the_foremost_talks_to_the_server(void) {
    struct call *waiters[5];
    rig_open();
    held_with_waiters(waiters, 4);
    CHECK(rig_send(PIPELINE) == NULL);
    CHECK_EQ_INT(waiters[2]->operation->phase, PHASE_PARKED);
    CHECK_EQ_INT(waiters[3]->operation->phase, PHASE_QUEUED);
    CHECK_EQ_INT(rig.engine.stats.waiters, 3);
    CHECK_EQ_INT(rig_wait_queue("a")->waiter_count, 3);
    CHECK_EQ_INT(rig.engine.subscriptions, 1);
    for (uint64_t owner = 1; owner < 4; owner++) {
        hand_over(owner);
    }
    rig_end("a", 4);
    RIG_CLOSE();
}

static void a_release_goes_to_the_waiters_in_order(void) {
    struct call *waiters[5];
    rig_open();
    held_with_waiters(waiters, 4);
    for (uint64_t owner = 1; owner < 4; owner++) {
        struct call *release = rig_release("a", owner);
        struct command *command = rig_send(PIPELINE);
        CHECK(command->kind == COMMAND_HAND_OVER && command->count == 1 && command->lease_ms == RIG_LEASE_MS);
        CHECK_EQ_INT(waiters[owner + 1]->operation->phase, PHASE_HANDED);
        CHECK_EQ_INT(waiters[owner + 1]->operation->id, command->successor);
        rig_integer(PIPELINE, 1);
        CHECK_EQ_INT(release->status, REDLATCH_OK);
        CHECK_EQ_INT(waiters[owner + 1]->status, REDLATCH_OK);
        CHECK_EQ_INT(waiters[owner + 1]->hold->id, waiters[owner + 1]->id);
        CHECK_EQ_INT(rig.engine.stats.held, 1);
    }
    CHECK_EQ_INT(rig.engine.stats.hand_overs, 3);
    CHECK(rig_send(PIPELINE) == NULL); /* while the lock is held here, the next waiter does not recheck */
    rig_end("a", 4);
    RIG_CLOSE();
}

static void a_hand_over_of_a_lost_hold_makes_the_receiver_ask(void) {
    struct call *waiters[3];
    rig_open();
    held_with_waiters(waiters, 2);
    struct call *release = rig_release("a", 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 0);
    CHECK_EQ_INT(release->status, REDLATCH_LOST);
    CHECK_EQ_INT(waiters[2]->operation->phase, PHASE_REQUESTING);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(waiters[2]->status, REDLATCH_OK);
    rig_end("a", 2);
    RIG_CLOSE();
}

static void a_refused_hand_over_becomes_a_release(void) {
    struct call *waiters[3];
    rig_open();
    held_with_waiters(waiters, 2);
    struct call *release = rig_release("a", 1);
    struct command *command = rig_send(PIPELINE);
    uint64_t id = command->id;
    rig_error(PIPELINE, "OOM command not allowed when used memory > 'maxmemory'.");
    CHECK_EQ_INT(waiters[2]->operation->phase, PHASE_REQUESTING);
    CHECK(rig_send(PIPELINE) == command);
    CHECK(command->kind == COMMAND_RELEASE && command->id == id && command->count == 0);
    CHECK(!command->repeated); /* nothing of it was carried out */
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(release->status, REDLATCH_OK);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    rig_end("a", 2);
    RIG_CLOSE();
}

static void a_release_that_is_refused_for_good_lets_the_next_waiter_recheck(void) {
    rig_open();
    rig_grant("a", 1);
    struct call *release = rig_release("a", 1);
    rig_send(PIPELINE);
    struct call *waiter = rig_acquire("a", 2);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "NOPERM no permissions");
    CHECK_EQ_INT(release->status, REDLATCH_NO_PERMISSION);
    rig_integer(PIPELINE, 30000);
    CHECK_EQ_INT(waiter->operation->phase, PHASE_REQUESTING);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(waiter->status, REDLATCH_OK);
    rig_end("a", 2);
    RIG_CLOSE();
}

static void a_hand_over_that_may_have_run_is_undone(void) {
    struct call *waiters[3];
    rig_open();
    held_with_waiters(waiters, 2);
    rig_release("a", 1);
    struct command *command = rig_send(PIPELINE);
    uint64_t successor = command->successor;
    rig_error(PIPELINE, "ERR failed script: 00, on @user_script:3.");
    struct command *undo = rig_send(PIPELINE);
    CHECK(undo->kind == COMMAND_RELEASE && undo->id == successor);
    CHECK(rig_send(PIPELINE) == command);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE);
    rig_integer(PIPELINE, 1);
    rig_integer(PIPELINE, 0);
    rig_nil(PIPELINE);
    CHECK(waiters[2]->status == REDLATCH_OK && waiters[2]->id > successor);
    rig_end("a", 2);
    RIG_CLOSE();
}

static void a_receiver_that_gives_up_has_its_hold_undone(void) {
    struct call *waiters[4];
    rig_open();
    held_with_waiters(waiters, 3);
    struct call *release = rig_release("a", 1);
    uint64_t successor = rig_send(PIPELINE)->successor;
    rig_abort(waiters[2], REDLATCH_CANCELLED);
    CHECK_EQ_INT(waiters[2]->status, REDLATCH_CANCELLED);
    CHECK_EQ_INT(waiters[3]->operation->phase, PHASE_REQUESTING); /* the next waiter rechecks at once */
    struct command *undo = rig_send(PIPELINE);
    CHECK(undo->kind == COMMAND_RELEASE && undo->id == successor);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(release->status, REDLATCH_OK);
    CHECK_EQ_INT(rig.engine.stats.held, 0);
    rig_integer(PIPELINE, 1);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(waiters[3]->status, REDLATCH_OK);
    rig_end("a", 3);
    RIG_CLOSE();
}

/* The last waiter gives up during its hand-over, on a server that does not know the script yet. */
static void a_hand_over_that_nobody_waits_for_is_not_sent_again_as_text(void) {
    struct call *waiters[3];
    rig_open();
    held_with_waiters(waiters, 2);
    struct call *release = rig_release("a", 1);
    struct command *command = rig_send(PIPELINE);
    rig_abort(waiters[2], REDLATCH_CANCELLED);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE); /* the undo, written before the answer came */
    rig_error(PIPELINE, "NOSCRIPT No matching script.");
    rig_integer(PIPELINE, 0);
    CHECK(rig_send(PIPELINE) == command);
    CHECK(command->kind == COMMAND_RELEASE && command->id != command->successor); /* a release for all instead */
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(release->status, REDLATCH_OK);
    RIG_CLOSE();
}

static void after_sixteen_hand_overs_the_lock_is_released_for_all(void) {
    struct call *waiters[HAND_OVERS_MAX + 3];
    rig_open();
    held_with_waiters(waiters, HAND_OVERS_MAX + 2);
    uint64_t owner = 1;
    for (; owner <= HAND_OVERS_MAX; owner++) {
        rig_release("a", owner);
        CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_HAND_OVER);
        rig_integer(PIPELINE, 1);
    }
    struct call *last = waiters[owner + 1];
    rig_release("a", owner);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE);
    rig_integer(PIPELINE, 1 + 2); /* another process received the message, too */
    CHECK_EQ_INT(last->operation->phase, PHASE_PARKED);
    CHECK(rig_wait_queue("a")->yield_until > rig.now);
    rig_pass(MILLISECOND - 1);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_pass(2 * MILLISECOND + 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(last->status, REDLATCH_OK);
    rig_end("a", owner + 1);
    RIG_CLOSE();
}

static void without_other_listeners_it_does_not_yield(void) {
    struct call *waiters[4];
    rig_open();
    held_with_waiters(waiters, 3);
    hand_over(1);
    rig_pass(10 * MILLISECOND); /* after 10 ms of hand-overs it is a release, too */
    rig_release("a", 2);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE);
    rig_integer(PIPELINE, 1 + 1); /* only this process received the message */
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE);
    rig_nil(PIPELINE);
    rig_end("a", 3);
    RIG_CLOSE();
}

static void the_echo_of_its_own_release_does_not_end_the_yielding(void) {
    struct call *waiters[4];
    rig_open();
    held_with_waiters(waiters, 3);
    hand_over(1);
    rig_pass(10 * MILLISECOND);
    rig_release("a", 2);
    rig_send(PIPELINE);
    rig_message("a"); /* the message arrives before the reply */
    CHECK_EQ_INT(waiters[3]->operation->phase, PHASE_PARKED);
    int64_t until = rig_wait_queue("a")->yield_until;
    CHECK(until > rig.now);
    rig_integer(PIPELINE, 1 + 2);
    CHECK_EQ_INT(rig_wait_queue("a")->yield_until, until);
    rig_message("a");
    CHECK_EQ_INT(waiters[3]->operation->phase, PHASE_PARKED);
    struct call *newcomer = rig_try("a", 4);
    CHECK_EQ_INT(newcomer->status, REDLATCH_TIMEOUT);
    rig_abort(waiters[3], REDLATCH_TIMEOUT);
    newcomer = rig_acquire("a", 5); /* it yields as well */
    CHECK_EQ_INT(newcomer->operation->phase, PHASE_PARKED);
    CHECK_EQ_INT(newcomer->operation->recheck_at, until);
    rig_pass(3 * MILLISECOND);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    rig_end("a", 5);
    RIG_CLOSE();
}

static void a_waiter_out_of_time_is_not_handed_the_lock(void) {
    rig_open();
    rig_grant("a", 1);
    struct call *waiter = rig_call(OPERATION_ACQUIRE, "a", 2);
    waiter->operation->wait_until = rig.now + SECOND;
    rig_start(waiter);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 30000);
    rig_pass(SECOND);
    rig_release("a", 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE);
    rig_abort(waiter, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(waiter->status, REDLATCH_TIMEOUT);
    rig_integer(PIPELINE, 1);
    RIG_CLOSE();
}

static void a_release_while_the_foremost_asks_makes_it_ask_again(void) {
    rig_open();
    rig_grant("a", 1);
    struct call *waiter = rig_acquire("a", 2);
    rig_send(PIPELINE);
    rig_release("a", 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE);
    rig_integer(PIPELINE, 30000); /* the waiter's answer, from before the release */
    CHECK_EQ_INT(waiter->operation->phase, PHASE_PARKED);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(waiter->operation->phase, PHASE_REQUESTING);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    rig_end("a", 2);
    RIG_CLOSE();
}

static void the_next_waiter_rechecks_when_the_foremost_leaves(void) {
    rig_open();
    struct call *first = rig_acquire("a", 1);
    struct call *second = rig_acquire("a", 2);
    struct call *third = rig_acquire("a", 3);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 30000);
    rig_abort(second, REDLATCH_CANCELLED); /* not the foremost: nobody rechecks */
    CHECK(rig_send(PIPELINE) == NULL);
    rig_abort(first, REDLATCH_CANCELLED);
    CHECK_EQ_INT(third->operation->phase, PHASE_REQUESTING);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    rig_end("a", 3);
    RIG_CLOSE();
}

static void calls_of_one_named_owner_do_not_wait_for_each_other(void) {
    rig_open();
    struct call *calls[3];
    for (int i = 0; i < 3; i++) {
        calls[i] = rig_acquire_named("a", 7);
    }
    struct call *other = rig_acquire_named("a", 8);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(calls[0]->status, REDLATCH_OK);
    CHECK_EQ_INT(calls[1]->operation->phase, PHASE_REQUESTING);
    CHECK_EQ_INT(calls[2]->operation->phase, PHASE_WAITING);
    CHECK_EQ_INT(other->operation->phase, PHASE_PARKED);
    CHECK_EQ_INT(rig_send(PIPELINE)->count, 2);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->count, 3);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(calls[2]->status, REDLATCH_OK);
    CHECK_EQ_INT(calls[0]->hold->count, 3);
    rig_end("a", 7);
    rig_end("a", 7);
    hand_over(7);
    CHECK_EQ_INT(other->status, REDLATCH_OK);
    rig_end("a", 8);
    RIG_CLOSE();
}

static void who_waited_behind_a_refused_one_was_refused_too(void) {
    rig_open();
    struct call *first = rig_acquire("a", 1);
    struct call *second = rig_acquire("a", 2);
    rig_park(30000);
    rig_abort(first, REDLATCH_TIMEOUT);
    CHECK(rig_send(PIPELINE) != NULL); /* its own first acquire */
    rig_abort(second, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(second->status, REDLATCH_TIMEOUT);
    rig_integer(PIPELINE, 30000);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 0);
    RIG_CLOSE();
}

static void the_last_call_of_a_named_owner_ends_the_queue(void) {
    rig_open();
    rig_acquire_named("a", 7);
    struct call *second = rig_acquire_named("a", 7);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(rig.engine.stats.waiters, 0);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_REENTER);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(second->status, REDLATCH_OK);
    rig_end("a", 7);
    rig_end("a", 7);
    RIG_CLOSE();
}

static void a_receiver_is_found_for_the_hold_of_another_pipeline(void) {
    rig_open();
    rig_grant("a", 1);
    struct call *waiter = rig_call(OPERATION_ACQUIRE, "a", 2);
    waiter->operation->pipeline = PIPELINE_HOST;
    waiter->operation->asynchronous = true;
    rig_start(waiter);
    rig_send(PIPELINE_HOST);
    rig_integer(PIPELINE_HOST, 30000);
    rig_release("a", 1);
    uint64_t successor = rig_send(PIPELINE)->successor;
    rig_abort(waiter, REDLATCH_CANCELLED);
    CHECK(rig_send(PIPELINE_HOST) == NULL);
    CHECK_EQ_INT(rig_send(PIPELINE)->id, successor); /* the undo goes behind what it undoes */
    rig_integer(PIPELINE, 1);
    rig_integer(PIPELINE, 1);
    RIG_CLOSE();
}

static void a_parked_waiter_behind_a_fixed_lease_rechecks_when_it_ends(void) {
    rig_open();
    rig_grant_for("a", 1, 1000);
    struct call *first = rig_acquire("a", 2);
    struct call *second = rig_acquire("a", 3);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1000);
    rig_abort(first, REDLATCH_CANCELLED);
    CHECK_EQ_INT(second->operation->phase, PHASE_PARKED); /* the lock is held here: a recheck would be useless */
    CHECK(second->operation->recheck_at < rig.now + 1100 * MILLISECOND);
    hand_over(1);
    rig_end("a", 3);
    RIG_CLOSE();
}

int main(void) {
    RUN(only_the_foremost_talks_to_the_server);
    RUN(a_release_goes_to_the_waiters_in_order);
    RUN(a_hand_over_of_a_lost_hold_makes_the_receiver_ask);
    RUN(a_refused_hand_over_becomes_a_release);
    RUN(a_release_that_is_refused_for_good_lets_the_next_waiter_recheck);
    RUN(a_hand_over_that_may_have_run_is_undone);
    RUN(a_receiver_that_gives_up_has_its_hold_undone);
    RUN(a_hand_over_that_nobody_waits_for_is_not_sent_again_as_text);
    RUN(after_sixteen_hand_overs_the_lock_is_released_for_all);
    RUN(without_other_listeners_it_does_not_yield);
    RUN(the_echo_of_its_own_release_does_not_end_the_yielding);
    RUN(a_waiter_out_of_time_is_not_handed_the_lock);
    RUN(a_release_while_the_foremost_asks_makes_it_ask_again);
    RUN(the_next_waiter_rechecks_when_the_foremost_leaves);
    RUN(calls_of_one_named_owner_do_not_wait_for_each_other);
    RUN(who_waited_behind_a_refused_one_was_refused_too);
    RUN(the_last_call_of_a_named_owner_ends_the_queue);
    RUN(a_receiver_is_found_for_the_hold_of_another_pipeline);
    RUN(a_parked_waiter_behind_a_fixed_lease_rechecks_when_it_ends);
    return unit_done();
}
