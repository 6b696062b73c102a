/* The subscription of a wait queue: when it is wanted, confirmed, lost, denied, left.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

/* Returns a waiter of a held lock, whose subscription is not confirmed yet. */
static struct call *contended_waiter(const char *name, uint64_t owner) {
    struct call *call = rig_acquire(name, owner);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 60000);
    return call;
}

static void answer_held(void) {
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 60000);
}

static struct subscription *next_change(void) {
    struct list_link *link = list_pop(&rig.engine.server->subscription_changes);
    return link ? container_of(link, struct subscription, link) : NULL;
}

static void nothing_is_subscribed_to_without_a_holder(void) {
    rig_open();
    rig_grant("a", 1);
    CHECK(rig_wait_queue("a") == NULL); /* gone with the wait */
    CHECK_EQ_INT(rig_subscriptions(), 0);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_confirmed_subscription_is_followed_by_a_recheck(void) {
    rig_open();
    struct call *call = contended_waiter("a", 1);
    struct subscription *channel = next_change();
    CHECK_EQ_INT(channel->state, SUBSCRIPTION_WANTED);
    CHECK(rig_send(PIPELINE) == NULL);
    engine_subscribed(&rig.engine, channel, rig.now);
    CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING);
    engine_subscribed(&rig.engine, channel, rig.now); /* confirmed twice, counted once */
    CHECK_EQ_INT(rig.engine.subscriptions, 1);
    answer_held();
    CHECK(rig_send(PIPELINE) == NULL);
    rig_abort(call, REDLATCH_TIMEOUT);
    RIG_CLOSE();
}

static void one_confirmed_for_another_name_is_not_requested(void) {
    rig_open();
    struct call *call = contended_waiter("a", 1);
    engine_subscribed(&rig.engine, &rig_wait_queue("a")->subscription, rig.now); /* {a} has the same channel */
    CHECK(next_change() == NULL);
    answer_held();
    rig_abort(call, REDLATCH_TIMEOUT);
    RIG_CLOSE();
}

static void one_confirmed_while_requesting_is_followed_by_another_recheck(void) {
    rig_open();
    struct call *call = contended_waiter("a", 1);
    struct subscription *channel = next_change();
    rig_pass(5 * SECOND); /* the recheck of a parked waiter */
    rig_send(PIPELINE);
    engine_subscribed(&rig.engine, channel, rig.now);
    rig_integer(PIPELINE, 60000);
    CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING);
    answer_held();
    CHECK_EQ_INT(call->operation->phase, PHASE_PARKED);
    rig_abort(call, REDLATCH_TIMEOUT);
    RIG_CLOSE();
}

static void a_subscription_lingers_and_is_used_again(void) {
    rig_open();
    struct call *call = contended_waiter("a", 1);
    rig_subscriptions();
    answer_held();
    rig_abort(call, REDLATCH_TIMEOUT);
    rig_pass((RIG_LINGER_MS - 1) * MILLISECOND);
    CHECK_EQ_INT(rig_subscriptions(), 0);
    call = contended_waiter("a", 2);
    rig_pass(2 * SECOND);
    CHECK_EQ_INT(rig_subscriptions(), 0); /* neither left nor subscribed to again */
    CHECK_EQ_INT(call->operation->phase, PHASE_PARKED);
    rig_abort(call, REDLATCH_TIMEOUT);
    rig_pass(RIG_LINGER_MS * MILLISECOND);
    CHECK_EQ_INT(rig_wait_queue("a")->subscription.state, SUBSCRIPTION_LEAVING);
    CHECK_EQ_INT(rig_subscriptions(), 1);
    CHECK(rig_wait_queue("a") == NULL);
    CHECK_EQ_INT(rig.engine.subscriptions, 0);
    RIG_CLOSE();
}

static void one_never_requested_is_dropped_after_lingering(void) {
    rig_open();
    rig_abort(contended_waiter("a", 1), REDLATCH_TIMEOUT);
    rig_pass(RIG_LINGER_MS * MILLISECOND);
    CHECK(rig_wait_queue("a") == NULL);
    CHECK_EQ_INT(rig_subscriptions(), 0);
    RIG_CLOSE();
}

static void one_not_confirmed_yet_is_kept_until_it_is(void) {
    rig_open();
    rig_abort(contended_waiter("a", 1), REDLATCH_TIMEOUT);
    struct subscription *channel = next_change();
    rig_pass(2 * RIG_LINGER_MS * MILLISECOND);
    CHECK(&rig_wait_queue("a")->subscription == channel);
    engine_subscribed(&rig.engine, channel, rig.now);
    rig_pass(RIG_LINGER_MS * MILLISECOND);
    CHECK_EQ_INT(channel->state, SUBSCRIPTION_LEAVING);
    RIG_CLOSE();
}

static void without_lingering_nothing_spins(void) {
    rig_open();
    rig.engine.settings.linger_ms = 0;
    rig_abort(contended_waiter("a", 1), REDLATCH_TIMEOUT);
    struct subscription *channel = next_change();
    engine_run_timers(&rig.engine, rig.now); /* returns: it does not spin */
    engine_subscribed(&rig.engine, channel, rig.now);
    rig_pass(SECOND);
    CHECK_EQ_INT(channel->state, SUBSCRIPTION_LEAVING);
    RIG_CLOSE();
}

static void a_waiter_that_comes_while_it_is_left_has_it_renewed(void) {
    rig_open();
    struct call *call = contended_waiter("a", 1);
    rig_subscriptions();
    answer_held();
    rig_abort(call, REDLATCH_TIMEOUT);
    rig_pass(RIG_LINGER_MS * MILLISECOND);
    struct subscription *channel = next_change();
    call = contended_waiter("a", 2);
    engine_unsubscribed(&rig.engine, channel, rig.now);
    CHECK_EQ_INT(channel->state, SUBSCRIPTION_WANTED);
    CHECK_EQ_INT(rig_subscriptions(), 1);
    engine_unsubscribed(&rig.engine, channel, rig.now); /* a late confirmation, which does not count */
    CHECK_EQ_INT(channel->state, SUBSCRIPTION_ACTIVE);
    answer_held();
    rig_abort(call, REDLATCH_TIMEOUT);
    RIG_CLOSE();
}

static void a_waiter_that_comes_and_goes_while_it_is_left_does_not_keep_it(void) {
    rig_open();
    struct call *call = contended_waiter("a", 1);
    rig_subscriptions();
    answer_held();
    rig_abort(call, REDLATCH_TIMEOUT);
    rig_pass(RIG_LINGER_MS * MILLISECOND);
    struct subscription *channel = next_change();
    rig_abort(contended_waiter("a", 2), REDLATCH_TIMEOUT);
    CHECK(&rig_wait_queue("a")->subscription == channel);
    engine_unsubscribed(&rig.engine, channel, rig.now);
    CHECK(rig_wait_queue("a") == NULL);
    RIG_CLOSE();
}

static void a_lost_connection_subscribes_again_and_rechecks(void) {
    rig_open();
    struct call *call = contended_waiter("a", 1);
    rig_subscriptions();
    answer_held();
    engine_subscriptions_lost(&rig.engine, rig.engine.server, rig.now);
    CHECK_EQ_INT(rig.engine.subscriptions, 0);
    engine_subscriptions_lost(&rig.engine, rig.engine.server, rig.now); /* again before that was taken: one change */
    CHECK_EQ_INT(rig_subscriptions(), 1);
    CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING);
    answer_held();
    rig_abort(call, REDLATCH_TIMEOUT);
    RIG_CLOSE();
}

static void a_connection_lost_while_leaving_ends_it(void) {
    rig_open();
    struct call *call = contended_waiter("a", 1);
    rig_subscriptions();
    answer_held();
    rig_abort(call, REDLATCH_TIMEOUT);
    rig_pass(RIG_LINGER_MS * MILLISECOND);
    next_change();
    engine_subscriptions_lost(&rig.engine, rig.engine.server, rig.now);
    rig_turn();
    CHECK(rig_wait_queue("a") == NULL);
    RIG_CLOSE();
}

/* The driver has not taken the change when the connection breaks and a new waiter is there. */
static void a_change_that_stands_in_the_list_is_not_entered_twice(void) {
    rig_open();
    struct call *call = contended_waiter("a", 1);
    rig_subscriptions();
    answer_held();
    rig_abort(call, REDLATCH_TIMEOUT);
    rig_pass(RIG_LINGER_MS * MILLISECOND);
    CHECK_EQ_INT(rig_wait_queue("a")->subscription.state, SUBSCRIPTION_LEAVING);
    call = contended_waiter("a", 2);
    engine_subscriptions_lost(&rig.engine, rig.engine.server, rig.now);
    CHECK_EQ_INT(rig_subscriptions(), 1);
    CHECK_EQ_INT(rig_wait_queue("a")->subscription.state, SUBSCRIPTION_ACTIVE);
    answer_held();
    rig_abort(call, REDLATCH_TIMEOUT);
    RIG_CLOSE();
}

static void without_permission_waiters_poll(void) {
    rig_open();
    struct call *call = contended_waiter("a", 1);
    engine_subscription_denied(&rig.engine, next_change(), rig.now);
    CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING);
    answer_held();
    rig_pass(250 * MILLISECOND - 1);
    CHECK_EQ_INT(call->operation->phase, PHASE_PARKED);
    rig_pass(1);
    CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK(rig_wait_queue("a") == NULL);
    rig_end("a", 1);
    RIG_CLOSE();
}

/* A second connection subscribes to the active channels of the first. A channel that is denied there counts as denied.
 */
static void another_connection_is_to_hear_the_same(void) {
    struct list active;
    list_init(&active);
    rig_open();
    struct call *call = contended_waiter("a", 1);
    engine_list_active(&rig.engine, rig.engine.server, &active);
    CHECK(list_is_empty(&active)); /* not confirmed yet */
    rig_subscriptions();
    answer_held();
    engine_list_active(&rig.engine, rig.engine.server, &active);
    struct list_link *link = list_pop(&active);
    struct subscription *subscription = &rig_wait_queue("a")->subscription;
    CHECK(link == &subscription->sent && list_is_empty(&active));
    CHECK_EQ_INT(rig.engine.subscriptions, 1);
    engine_subscription_denied(&rig.engine, subscription, rig.now);
    CHECK_EQ_INT(rig.engine.subscriptions, 0);
    CHECK_EQ_INT(subscription->state, SUBSCRIPTION_DENIED);
    CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING);
    answer_held();
    rig_abort(call, REDLATCH_TIMEOUT);
    RIG_CLOSE();
}

/* The connection stays subscribed, which does no harm. The next waiter subscribes anew. */
static void a_channel_that_may_not_be_left_is_forgotten_all_the_same(void) {
    rig_open();
    struct call *call = contended_waiter("a", 1);
    rig_subscriptions();
    answer_held();
    rig_abort(call, REDLATCH_TIMEOUT);
    rig_pass(RIG_LINGER_MS * MILLISECOND);
    struct subscription *leaving = next_change();
    CHECK_EQ_INT(leaving->state, SUBSCRIPTION_LEAVING);
    call = contended_waiter("a", 2);
    engine_subscription_denied(&rig.engine, leaving, rig.now);
    CHECK_EQ_INT(leaving->state, SUBSCRIPTION_WANTED);
    CHECK_EQ_INT(rig_subscriptions(), 1);
    CHECK_EQ_INT(leaving->state, SUBSCRIPTION_ACTIVE);
    answer_held();
    rig_abort(call, REDLATCH_TIMEOUT);
    RIG_CLOSE();
}

static void a_denial_that_comes_after_the_wait_ends_the_wait_queue(void) {
    rig_open();
    rig_abort(contended_waiter("a", 1), REDLATCH_TIMEOUT);
    engine_subscription_denied(&rig.engine, next_change(), rig.now);
    CHECK(rig_wait_queue("a") == NULL);
    RIG_CLOSE();
}

/* The receiver gives up during its hand-over where there is no subscription: the hand-over keeps the wait queue. */
static void a_wait_queue_lives_as_long_as_its_hand_over(void) {
    rig_open();
    rig_grant("a", 1);
    struct call *call = contended_waiter("a", 2);
    engine_subscription_denied(&rig.engine, next_change(), rig.now);
    answer_held();
    rig_release("a", 1);
    rig_send(PIPELINE);
    rig_abort(call, REDLATCH_TIMEOUT);
    CHECK(rig_wait_queue("a") != NULL);
    rig_integer(PIPELINE, 1);
    CHECK(rig_wait_queue("a") == NULL);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    RIG_CLOSE();
}

/* The hand-over keeps the wait queue. The channel that was to be left ended with the connection, and is not subscribed
 * to again. */
static void a_connection_lost_before_the_leave_was_sent_leaves_no_change(void) {
    rig_open();
    rig_grant("a", 1);
    struct call *call = contended_waiter("a", 2);
    rig_subscriptions();
    answer_held();
    rig_release("a", 1);
    rig_send(PIPELINE);
    rig_abort(call, REDLATCH_TIMEOUT);
    rig_pass(RIG_LINGER_MS * MILLISECOND);
    CHECK_EQ_INT(rig_wait_queue("a")->subscription.state, SUBSCRIPTION_LEAVING);
    engine_subscriptions_lost(&rig.engine, rig.engine.server, rig.now);
    CHECK_EQ_INT(rig_wait_queue("a")->subscription.state, SUBSCRIPTION_NONE);
    CHECK(next_change() == NULL);
    rig_integer(PIPELINE, 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    RIG_CLOSE();
}

static void a_message_for_nobody_is_only_counted(void) {
    rig_open();
    struct call *call = contended_waiter("a", 1);
    rig_subscriptions();
    answer_held();
    rig_abort(call, REDLATCH_TIMEOUT);
    rig_message("a");
    CHECK_EQ_INT(rig.engine.stats.messages, 1);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

int main(void) {
    RUN(nothing_is_subscribed_to_without_a_holder);
    RUN(a_confirmed_subscription_is_followed_by_a_recheck);
    RUN(one_confirmed_for_another_name_is_not_requested);
    RUN(one_confirmed_while_requesting_is_followed_by_another_recheck);
    RUN(a_subscription_lingers_and_is_used_again);
    RUN(one_never_requested_is_dropped_after_lingering);
    RUN(one_not_confirmed_yet_is_kept_until_it_is);
    RUN(without_lingering_nothing_spins);
    RUN(a_waiter_that_comes_while_it_is_left_has_it_renewed);
    RUN(a_waiter_that_comes_and_goes_while_it_is_left_does_not_keep_it);
    RUN(a_lost_connection_subscribes_again_and_rechecks);
    RUN(a_connection_lost_while_leaving_ends_it);
    RUN(a_change_that_stands_in_the_list_is_not_entered_twice);
    RUN(without_permission_waiters_poll);
    RUN(another_connection_is_to_hear_the_same);
    RUN(a_channel_that_may_not_be_left_is_forgotten_all_the_same);
    RUN(a_denial_that_comes_after_the_wait_ends_the_wait_queue);
    RUN(a_wait_queue_lives_as_long_as_its_hand_over);
    RUN(a_connection_lost_before_the_leave_was_sent_leaves_no_change);
    RUN(a_message_for_nobody_is_only_counted);
    return unit_done();
}
