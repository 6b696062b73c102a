/* Which waiter of a fair lock goes first: wake-up messages, hand-overs, and what replies say of the head of the server
 * queue.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "fair_fixture.h"
#include "wire.h"

/* Delivers a message on a waiter's wake-up channel. */
static void call_waiter(const char *name, struct operation *operation) {
    CHECK(operation->wake_channel != NULL);
    if (operation->wake_channel) {
        char channel[200];
        size_t size = (size_t)snprintf(channel, sizeof channel, "redisson_lock__channel:{%s}:%s:%llu", name, rig_uuid,
                                       (unsigned long long)operation->id);
        engine_pubsub_received(&rig.engine, &rig.server, PUBSUB_MESSAGE, channel, size, 0, rig.now);
        rig_turn();
    }
}

/* Checks that a waiter rechecks from its position with the number `id`, and grants it the lock. */
static void recheck_is_granted(const struct call *waiter, uint64_t id) {
    struct command *recheck = rig_send(PIPELINE);
    CHECK(recheck && recheck->id == id && recheck->position == POSITION_TAKEN);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(waiter->status, REDLATCH_OK);
}

static void a_release_hands_over_to_the_head(void) {
    struct call *waiters[4];
    open_fair();
    held_with_waiters(waiters, 3);
    struct call *release = rig_release("a", 1);
    struct command *command = rig_send(PIPELINE);
    CHECK(command && command->kind == COMMAND_HAND_OVER && command->successor == 2);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(release->status, REDLATCH_OK);
    CHECK_EQ_INT(waiters[2]->status, REDLATCH_OK);
    CHECK_EQ_INT(waiters[2]->hold->id, 2); /* the number of its position */
    CHECK(rig_send(PIPELINE) == NULL);
    rig_release("a", 2);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(waiters[3]->status, REDLATCH_OK);
    rig_end("a", 3);
    RIG_CLOSE();
}

static void if_another_stands_at_the_head_the_release_was_one(void) {
    struct call *waiters[3];
    open_fair();
    held_with_waiters(waiters, 2);
    struct call *release = rig_release("a", 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 2);
    CHECK_EQ_INT(release->status, REDLATCH_OK);
    CHECK_EQ_INT(waiters[2]->operation->phase, PHASE_PARKED);
    CHECK(rig_send(PIPELINE) == NULL); /* the server will wake it */
    call_waiter("a", waiters[2]->operation);
    recheck_is_granted(waiters[2], 2);
    rig_end("a", 2);
    RIG_CLOSE();
}

/* The server wakes no waiter without a position, and each later hand-over of this process would make the waiter park
 * again. */
static void a_receiver_whose_position_is_gone_asks_for_another(void) {
    struct call *waiters[3];
    open_fair();
    held_with_waiters(waiters, 2);
    struct call *release = rig_release("a", 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 3);
    CHECK_EQ_INT(release->status, REDLATCH_OK);
    struct command *recheck = rig_send(PIPELINE);
    CHECK(recheck && recheck->kind == COMMAND_ACQUIRE && recheck->id == 2 && recheck->position == POSITION_TAKEN);
    rig_integer(PIPELINE, -2);
    struct command *ask = rig_send(PIPELINE);
    CHECK(ask && ask->kind == COMMAND_ACQUIRE && ask->position == POSITION_WANTED);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(waiters[2]->status, REDLATCH_OK);
    rig_end("a", 2);
    RIG_CLOSE();
}

/* The waiter at the head was woken and has left again. Then this waiter was woken. */
static void a_call_during_a_hand_over_is_not_missed(void) {
    struct call *waiters[3];
    open_fair();
    held_with_waiters(waiters, 2);
    rig_release("a", 1);
    rig_send(PIPELINE);
    call_waiter("a", waiters[2]->operation);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_integer(PIPELINE, 2);
    recheck_is_granted(waiters[2], 2);
    rig_end("a", 2);
    RIG_CLOSE();
}

static void a_call_while_requesting_is_not_missed(void) {
    open_fair();
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    queued(30000, "");
    rig_subscriptions();
    rig_send(PIPELINE);
    call_waiter("a", call->operation);
    queued(30000, "");
    CHECK(rig_send(PIPELINE) != NULL);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void who_is_called_goes_first_here_too(void) {
    struct call *waiters[5];
    open_fair();
    held_with_waiters(waiters, 4);
    call_waiter("a", waiters[4]->operation);
    struct command *recheck = rig_send(PIPELINE);
    CHECK(recheck && recheck->id == 4);
    queued(30000, "4");
    CHECK(list_first(&rig_wait_queue("a")->waiters) == &waiters[4]->operation->link);
    everybody_leaves(waiters, 4);
}

static void the_reply_that_names_another_head_of_ours_brings_it_forward(void) {
    struct call *waiters[8];
    open_fair();
    held_with_waiters(waiters, 7);
    rig_pass(5100 * MILLISECOND);
    rig_send(PIPELINE);
    queued(30000, "7");
    struct command *recheck = rig_send(PIPELINE);
    CHECK(recheck && recheck->id == 7 && recheck->position == POSITION_TAKEN);
    queued(30000, "7");
    everybody_leaves(waiters, 7);
}

/* Releases on another pipeline than that of the waiters' requests. The release hands the lock over. */
static void hand_over_beside(uint64_t from) {
    struct call *release = rig_call(OPERATION_RELEASE, "a", from);
    release->operation->pipeline = PIPELINE_CALLERS_SECOND;
    rig_start(release);
    rig_send(PIPELINE_CALLERS_SECOND);
    rig_integer(PIPELINE_CALLERS_SECOND, 1);
}

/* The reply is older than replies that were read before it, so the position that it names is gone. If a later reply
 * still names that position, the server has brought it back. */
static void a_head_that_departed_since_the_ask_is_not_left(void) {
    struct call *waiters[5];
    open_fair();
    held_with_waiters(waiters, 3);
    waiters[4] = rig_acquire("a", 4);
    CHECK(rig_send(PIPELINE) != NULL);
    hand_over_beside(1);
    hand_over_beside(2);
    CHECK_EQ_INT(waiters[3]->status, REDLATCH_OK);
    queued(30000, "2");
    CHECK(rig_send(PIPELINE) == NULL);
    rig_pass((RIG_FAIR_MS / 3 + 1) * MILLISECOND);
    struct command *recheck = rig_send(PIPELINE);
    CHECK(recheck && recheck->id == 4 && recheck->position == POSITION_TAKEN);
    queued(30000, "2");
    struct command *leave = rig_send(PIPELINE);
    CHECK(leave && leave->kind == COMMAND_RELEASE && leave->leaves && leave->id == 2);
    rig_integer(PIPELINE, 0);
    rig_abort(waiters[4], REDLATCH_CANCELLED);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 0);
    rig_drain_background();
    rig_end("a", 3);
    RIG_CLOSE();
}

/* Two pipelines: the later reply to one waiter is read before the earlier reply to another. */
static void a_head_that_still_requests_rechecks(void) {
    open_fair();
    struct call *head = rig_acquire("a", 1);
    rig_send(PIPELINE);
    struct call *other = rig_call(OPERATION_ACQUIRE, "a", 2);
    other->operation->asynchronous = true;
    other->operation->pipeline = PIPELINE_HOST;
    rig_start(other);
    rig_send(PIPELINE_HOST);
    queued_on(PIPELINE_HOST, 2500, "1");
    queued(300, "");
    recheck_is_granted(head, 1);
    rig_abort(other, REDLATCH_CANCELLED);
    while (rig_send(PIPELINE_HOST)) {
        rig_integer(PIPELINE_HOST, 0);
    }
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_lost_hand_over_keeps_the_receivers_position(void) {
    struct call *waiters[3];
    open_fair();
    held_with_waiters(waiters, 2);
    rig_release("a", 1);
    rig_send(PIPELINE);
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLUTION_DENIED);
    struct command *release = rig_send(PIPELINE);
    CHECK(release && release->kind == COMMAND_RELEASE && release->id == 1 && !release->leaves);
    struct command *recheck = rig_send(PIPELINE);
    CHECK(recheck && recheck->kind == COMMAND_ACQUIRE && recheck->id == 2 && recheck->position == POSITION_TAKEN);
    rig_integer(PIPELINE, 1);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(waiters[2]->status, REDLATCH_OK);
    rig_end("a", 2);
    RIG_CLOSE();
}

static void a_receiver_that_gives_up_leaves_behind_the_hand_over(void) {
    struct call *waiters[3];
    open_fair();
    held_with_waiters(waiters, 2);
    rig_release("a", 1);
    rig_send(PIPELINE);
    rig_abort(waiters[2], REDLATCH_CANCELLED);
    struct command *leave = rig_send(PIPELINE);
    CHECK(leave && leave->kind == COMMAND_RELEASE && leave->leaves && leave->id == 2);
    rig_integer(PIPELINE, 1);
    rig_integer(PIPELINE, 1);
    RIG_CLOSE();
}

static void a_loss_makes_the_foremost_recheck(void) {
    struct call *waiters[3];
    open_fair();
    held_with_waiters(waiters, 2);
    engine_owner_end(&rig.engine, 1, rig.now);
    rig_turn();
    recheck_is_granted(waiters[2], 2);
    rig_end("a", 2);
    RIG_CLOSE();
}

static void a_forced_release_of_ours_makes_the_foremost_recheck(void) {
    struct call *waiters[3];
    open_fair();
    held_with_waiters(waiters, 2);
    struct call *force = rig_call(OPERATION_FORCE, "a", 9);
    rig_start(force);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 1); /* the message that it published has not been received yet */
    CHECK(force->forced);
    recheck_is_granted(waiters[2], 2);
    engine_owner_end(&rig.engine, 1, rig.now);
    rig_end("a", 2);
    RIG_CLOSE();
}

int main(void) {
    RUN(a_release_hands_over_to_the_head);
    RUN(if_another_stands_at_the_head_the_release_was_one);
    RUN(a_receiver_whose_position_is_gone_asks_for_another);
    RUN(a_call_during_a_hand_over_is_not_missed);
    RUN(a_call_while_requesting_is_not_missed);
    RUN(who_is_called_goes_first_here_too);
    RUN(the_reply_that_names_another_head_of_ours_brings_it_forward);
    RUN(a_head_that_departed_since_the_ask_is_not_left);
    RUN(a_head_that_still_requests_rechecks);
    RUN(a_lost_hand_over_keeps_the_receivers_position);
    RUN(a_receiver_that_gives_up_leaves_behind_the_hand_over);
    RUN(a_loss_makes_the_foremost_recheck);
    RUN(a_forced_release_of_ours_makes_the_foremost_recheck);
    return unit_done();
}
