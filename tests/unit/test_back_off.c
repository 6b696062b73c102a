/* The pauses of a spin lock's waiters, and which waiter polls when.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"
#include "back_off.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

/* Checks that each of `count` pauses is within its bounds in `expected`, in ms. */
static void check_pauses(struct back_off back_off, const int64_t (*expected)[2], size_t count) {
    for (size_t i = 0; i < count; i++) {
        int64_t pause = back_off_next(&rig.engine, &back_off);
        CHECK(pause >= expected[i][0] && pause <= expected[i][1]);
    }
}

/* LockOptionsTest.testExponentialBackoff of Redisson: 10, then three times that and some jitter, at most 100. */
static void pauses_grow_to_the_longest(void) {
    static const int64_t expected[][2] = {{10, 10}, {30, 31}, {90, 94}, {100, 100}, {100, 100}};
    rig_open();
    for (int i = 0; i < 100; i++) {
        check_pauses((struct back_off){.next_ms = 10, .max_ms = 100, .multiplier = 3}, expected, 5);
    }
    RIG_CLOSE();
}

/* LockOptionsTest.testConstantBackoff of Redisson. */
static void pauses_of_one_length(void) {
    static const int64_t expected[][2] = {{30, 30}, {30, 30}, {30, 30}, {30, 30}};
    rig_open();
    check_pauses((struct back_off){.next_ms = 30, .max_ms = 30, .multiplier = 2}, expected, 4);
    RIG_CLOSE();
}

static void the_usual_pauses(void) {
    static const int64_t expected[][2] = {{1, 1},   {2, 2},    {4, 5},     {8, 12},   {16, 27},
                                          {32, 58}, {64, 121}, {128, 128}, {128, 128}};
    rig_open();
    for (int i = 0; i < 100; i++) {
        check_pauses((struct back_off){.next_ms = 1, .max_ms = 128, .multiplier = 2}, expected, 9);
    }
    RIG_CLOSE();
}

static void the_largest_numbers_do_not_wrap(void) {
    static const int64_t expected[][2] = {{3599999, 3599999}, {3600000, 3600000}, {3600000, 3600000}};
    rig_open();
    check_pauses((struct back_off){.next_ms = 3599999, .max_ms = 3600000, .multiplier = 1000}, expected, 3);
    RIG_CLOSE();
}

static void rig_open_spin(void) {
    rig_open();
    rig.lock_kind = REDLATCH_SPIN;
}

static struct call *waiter(uint64_t owner, int64_t wait_us) {
    struct call *call = rig_call(OPERATION_ACQUIRE, "a", owner);
    call->operation->back_off = (struct back_off){.next_ms = 10, .max_ms = 40, .multiplier = 2};
    if (wait_us) {
        call->operation->wait_until = rig.now + wait_us;
    }
    rig_start(call);
    return call;
}

/* Checks that the next recheck comes after `least` to `most` ms, and replies that others hold the lock. */
static void check_recheck(int64_t least, int64_t most) {
    rig_pass(least * MILLISECOND - 1);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_pass((most - least) * MILLISECOND + 1);
    struct command *command = rig_send(PIPELINE);
    CHECK(command && command->kind == COMMAND_ACQUIRE);
    rig_integer(PIPELINE, 30000);
}

static void a_waiter_rechecks_after_each_pause_and_never_listens(void) {
    rig_open_spin();
    struct call *call = waiter(2, 0);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 30000);
    check_recheck(10, 10);
    check_recheck(20, 20);
    check_recheck(40, 40);
    check_recheck(40, 40);
    CHECK_EQ_INT(rig_subscriptions(), 0);
    CHECK_EQ_INT(rig_wait_queue("a")->subscription.state, SUBSCRIPTION_NONE);
    rig_pass(40 * MILLISECOND);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 2);
    RIG_CLOSE();
}

static void only_the_foremost_polls(void) {
    rig_open_spin();
    struct call *first = waiter(2, 0);
    struct call *second = waiter(3, 0);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 30000);
    check_recheck(10, 10);
    CHECK_EQ_INT(second->operation->phase, PHASE_QUEUED);
    rig_abort(first, REDLATCH_CANCELLED);
    CHECK(rig_send(PIPELINE)); /* the next waiter requests at once, with pauses of its own */
    rig_integer(PIPELINE, 30000);
    check_recheck(10, 10);
    rig_abort(second, REDLATCH_CANCELLED);
    RIG_CLOSE();
}

static void the_last_recheck_comes_before_the_deadline(void) {
    rig_open_spin();
    struct call *call = waiter(2, 80 * MILLISECOND);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 30000);
    check_recheck(10, 10);
    check_recheck(20, 20);
    check_recheck(25, 25); /* instead of 40: 25 ms before the deadline, so that the reply is in time */
    rig_pass(25 * MILLISECOND);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(call->status, REDLATCH_TIMEOUT);
    RIG_CLOSE();
}

static void while_this_process_holds_it_nobody_polls(void) {
    rig_open_spin();
    rig_grant("a", 1);
    struct call *call = waiter(2, 0);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 30000);
    rig_pass(2 * SECOND);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_release("a", 1);
    struct command *command = rig_send(PIPELINE);
    CHECK(command && command->kind == COMMAND_HAND_OVER);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 2);
    RIG_CLOSE();
}

static void the_end_of_the_holders_lease_is_a_reason_to_recheck(void) {
    rig_open_spin();
    struct call *call = waiter(2, 0);
    call->operation->back_off.next_ms = 1000;
    call->operation->back_off.max_ms = 1000;
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 100);
    rig_pass(120 * MILLISECOND);
    CHECK(rig_send(PIPELINE));
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 2);
    RIG_CLOSE();
}

int main(void) {
    RUN(pauses_grow_to_the_longest);
    RUN(pauses_of_one_length);
    RUN(the_usual_pauses);
    RUN(the_largest_numbers_do_not_wrap);
    RUN(a_waiter_rechecks_after_each_pause_and_never_listens);
    RUN(only_the_foremost_polls);
    RUN(the_last_recheck_comes_before_the_deadline);
    RUN(while_this_process_holds_it_nobody_polls);
    RUN(the_end_of_the_holders_lease_is_a_reason_to_recheck);
    return unit_done();
}
