/* The turns of a waiting set, when other calls of the same process want one of its names alone.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

enum { HAND_OVERS_MAX = 16 };

/* Returns a set of "a" and "b" that waits for "a", parked and subscribed, whoever holds "a". */
static struct call *waiting_set(uint64_t owner) {
    struct call *call = rig_set_call(OPERATION_ACQUIRE, "ab", owner);
    rig_start(call);
    do {
        rig_send(PIPELINE);
        rig_contended(PIPELINE, 1, 30000);
    } while (rig_subscriptions() > 0);
    CHECK_EQ_INT(call->operation->phase, PHASE_PARKED);
    return call;
}

static void granted_and_released(struct call *call, uint64_t owner) {
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_ACQUIRE_MANY);
    rig_granted(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_start(rig_set_call(OPERATION_RELEASE, "ab", owner));
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 2);
}

/* After as many hand-overs as may be in a row the set rechecks, and the next waiter later. */
static void after_sixteen_hand_overs_a_set_has_its_turn(void) {
    struct call *waiters[HAND_OVERS_MAX + 3];
    rig_open();
    rig_grant("a", 1);
    struct call *set = waiting_set(100);
    for (uint64_t owner = 2; owner < HAND_OVERS_MAX + 3; owner++) {
        waiters[owner] = rig_acquire("a", owner);
    }
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 30000);
    for (uint64_t owner = 1; owner <= HAND_OVERS_MAX; owner++) {
        rig_release("a", owner);
        CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_HAND_OVER);
        rig_integer(PIPELINE, 1);
        CHECK_EQ_INT(waiters[owner + 1]->status, REDLATCH_OK);
    }
    rig_release("a", HAND_OVERS_MAX + 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_RELEASE);
    rig_integer(PIPELINE, 2); /* only this process received the message */
    struct call *next = waiters[HAND_OVERS_MAX + 2];
    CHECK_EQ_INT(next->operation->phase, PHASE_PARKED);
    CHECK_EQ_INT(set->operation->phase, PHASE_REQUESTING);
    granted_and_released(set, 100);
    rig_pass(3 * MILLISECOND);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(next->status, REDLATCH_OK);
    rig_end("a", HAND_OVERS_MAX + 2);
    RIG_CLOSE();
}

/* An owner that acquires again right after its release does not come before a set that waits. */
static void a_newcomer_waits_until_the_set_has_rechecked(void) {
    rig_open();
    rig_grant("a", 1);
    struct call *set = waiting_set(100);
    rig_release("a", 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 2);
    struct call *again = rig_acquire("a", 1);
    CHECK_EQ_INT(again->operation->phase, PHASE_PARKED);
    granted_and_released(set, 100);
    rig_pass(3 * MILLISECOND);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(again->status, REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

/* The message arrives before the reply: the set rechecks at once, and the other calls wait all the same. */
static void the_message_may_come_before_the_answer(void) {
    rig_open();
    rig_grant("a", 1);
    struct call *set = waiting_set(100);
    rig_release("a", 1);
    struct command *release = rig_send(PIPELINE);
    CHECK_EQ_INT(release->kind, COMMAND_RELEASE);
    rig_message("a");
    CHECK_EQ_INT(set->operation->phase, PHASE_REQUESTING);
    rig_integer(PIPELINE, 2);
    struct call *again = rig_acquire("a", 1);
    CHECK_EQ_INT(again->operation->phase, PHASE_PARKED);
    granted_and_released(set, 100);
    rig_pass(3 * MILLISECOND);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    rig_end("a", 1);
    RIG_CLOSE();
}

/* A set delays nobody on a name that it does not wait for. */
static void where_no_set_waits_nobody_is_held_back(void) {
    rig_open();
    rig_grant("b", 1);
    rig_grant("a", 2);
    struct call *set = waiting_set(100);
    rig_release("b", 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    rig_grant("b", 1);
    rig_end("b", 1);
    rig_abort(set, REDLATCH_CANCELLED);
    rig_end("a", 2);
    RIG_CLOSE();
}

/* Returns a set of two names that waits for "a". Its owner holds the other name for a second. */
static struct call *waiting_holder(const char *letters, uint64_t owner) {
    rig_grant_for((char[]){letters[1], 0}, owner, 1000);
    struct call *call = rig_set_call(OPERATION_ACQUIRE, letters, owner);
    rig_start(call);
    rig_send(PIPELINE);
    rig_contended(PIPELINE, 1, 30000);
    return call;
}

static void notified_of_its_loss(const char *name, struct call *call, uint64_t owner) {
    CHECK(call->done);
    CHECK_EQ_INT(call->status, REDLATCH_LOST);
    rig_release(name, owner);
}

/* The first set that rechecks ends. It lets the next one recheck, which has lost its hold, too. */
static void several_sets_end_when_they_recheck(void) {
    rig_open();
    struct call *sets[] = {waiting_holder("ab", 1), waiting_holder("ac", 2), waiting_holder("ad", 3)};
    rig_pass(SECOND);
    rig_subscriptions(); /* now all recheck */
    notified_of_its_loss("b", sets[0], 1);
    notified_of_its_loss("c", sets[1], 2);
    notified_of_its_loss("d", sets[2], 3);
    RIG_CLOSE();
}

static void the_last_set_ends_as_its_channel_is_denied(void) {
    rig_open();
    struct call *set = waiting_holder("ab", 1);
    rig_pass(SECOND);
    engine_subscription_denied(&rig.engine, &rig_wait_queue("a")->subscription, rig.now);
    rig_turn();
    notified_of_its_loss("b", set, 1);
    CHECK(rig_wait_queue("a") == NULL);
    RIG_CLOSE();
}

int main(void) {
    RUN(after_sixteen_hand_overs_a_set_has_its_turn);
    RUN(a_newcomer_waits_until_the_set_has_rechecked);
    RUN(the_message_may_come_before_the_answer);
    RUN(where_no_set_waits_nobody_is_held_back);
    RUN(several_sets_end_when_they_recheck);
    RUN(the_last_set_ends_as_its_channel_is_denied);
    return unit_done();
}
