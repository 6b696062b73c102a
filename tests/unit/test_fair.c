/* Waiting for fair locks: positions in the server queue, which waiter rechecks, which are refreshed, and how waiters
 * leave.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "fair_fixture.h"
#include "refresh.h"
#include "wire.h"

/* Replies to a refresh that the waiter with this number has no position, or with "" that all have one. */
static void one_is_absent(const char *number) {
    struct reply element = {.kind = REPLY_STRING, .text = number, .size = strlen(number)};
    struct reply reply = {.kind = REPLY_ARRAY, .elements = &element, .count = number[0] ? 1 : 0};
    rig_reply(PIPELINE_BACKGROUND, &reply);
}

static void each_waiter_takes_a_position_once(void) {
    struct call *waiters[5];
    open_fair();
    rig_grant("a", 1);
    for (uint64_t owner = 2; owner <= 3; owner++) {
        waiters[owner] = rig_acquire("a", owner);
        struct command *command = rig_send(PIPELINE);
        CHECK(command && command->kind == COMMAND_ACQUIRE && command->position == POSITION_WANTED);
        CHECK_EQ_INT(command->id, owner);
        queued(30000, "");
        CHECK_EQ_INT(waiters[owner]->operation->phase, PHASE_PARKED);
        CHECK(waiters[owner]->operation->has_position);
    }
    CHECK(rig_send(PIPELINE) == NULL);
    everybody_leaves(waiters, 3);
}

static void a_try_wants_no_position(void) {
    open_fair();
    struct call *call = rig_try("a", 1);
    struct command *command = rig_send(PIPELINE);
    CHECK(command && command->position == POSITION_UNWANTED);
    rig_integer(PIPELINE, 30000);
    CHECK_EQ_INT(call->status, REDLATCH_TIMEOUT);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

static void a_try_that_is_given_a_position_leaves_it(void) {
    open_fair();
    struct call *call = rig_try("a", 1);
    uint64_t id = rig_send(PIPELINE)->id;
    queued(30000, "");
    CHECK_EQ_INT(call->status, REDLATCH_PROTOCOL);
    struct command *undo = rig_send(PIPELINE);
    CHECK(undo && undo->kind == COMMAND_RELEASE && undo->leaves && undo->id == id);
    rig_integer(PIPELINE, 0);
    RIG_CLOSE();
}

static void a_try_behind_waiters_of_this_process_asks_nobody(void) {
    struct call *waiters[3];
    open_fair();
    held_with_waiters(waiters, 2);
    struct call *call = rig_try("a", 9);
    CHECK_EQ_INT(call->status, REDLATCH_TIMEOUT);
    CHECK(rig_send(PIPELINE) == NULL);
    everybody_leaves(waiters, 2);
}

static void the_foremost_rechecks_every_five_seconds_and_makes_no_position(void) {
    struct call *waiters[3];
    open_fair();
    held_with_waiters(waiters, 2);
    rig_pass(4900 * MILLISECOND);
    CHECK(rig_send(PIPELINE) == NULL);
    rig_pass(200 * MILLISECOND);
    struct command *recheck = rig_send(PIPELINE);
    CHECK(recheck && recheck->position == POSITION_TAKEN && recheck->id == 2);
    queued(INT64_MAX, "");
    rig_pass(4900 * MILLISECOND);
    CHECK(rig_send(PIPELINE) == NULL);
    everybody_leaves(waiters, 2);
}

static void the_others_are_refreshed_together(void) {
    struct call *waiters[7];
    open_fair();
    held_with_waiters(waiters, 6);
    rig_pass((RIG_FAIR_MS / 3 + 1) * MILLISECOND);
    struct command *refresh;
    do {
        refresh = rig_send(PIPELINE_BACKGROUND);
        if (refresh && refresh->kind == COMMAND_RENEW) {
            rig_integers(PIPELINE_BACKGROUND, (const int64_t[]){20000}, 1);
        }
    } while (refresh && refresh->kind == COMMAND_RENEW);
    CHECK(refresh && refresh->kind == COMMAND_REFRESH);
    uint32_t keys;
    uint32_t arguments;
    command_counts(refresh, &keys, &arguments);
    CHECK_EQ_INT(keys, 4);
    CHECK_EQ_INT(arguments, 1 + 4); /* the fair timeout, and all waiters but the foremost, which is rechecking */
    one_is_absent("");
    rig_send(PIPELINE); /* the recheck of the foremost */
    queued(30000, "");
    everybody_leaves(waiters, 6);
}

/* Returns how many refreshes wait for a connection or for their reply. */
static uint32_t refreshes_under_way(void) {
    const struct pipeline *pipeline = &rig.server.pipelines[PIPELINE_BACKGROUND];
    const struct list *lists[] = {&pipeline->unsent, &pipeline->sent};
    uint32_t count = 0;
    for (int i = 0; i < 2; i++) {
        for (struct list_link *link = list_first(lists[i]); link; link = list_next(lists[i], link)) {
            count += container_of(link, struct command, link)->kind == COMMAND_REFRESH;
        }
    }
    return count;
}

static void one_refresh_at_most_has_no_reply(void) {
    struct call *waiters[4];
    open_fair();
    rig_grant_for("a", 1, 3600000); /* no renewals */
    queue_up(waiters, 3);
    for (int i = 0; i < 2; i++) {
        rig_pass((RIG_FAIR_MS / 3 + 1) * MILLISECOND);
        CHECK_EQ_INT(refreshes_under_way(), 1);
        if (i == 0) {
            while (rig_send(PIPELINE_BACKGROUND)) {
            }
        }
    }
    rig_lost(PIPELINE_BACKGROUND);
    rig_ready(PIPELINE_BACKGROUND, RESOLVED_BY_KILL);
    CHECK_EQ_INT(refreshes_under_way(), 0);
    rig_pass((RIG_FAIR_MS / 3 + 1) * MILLISECOND);
    CHECK_EQ_INT(refreshes_under_way(), 1); /* the next one */
    rig_drain_background();
    CHECK_EQ_INT(refreshes_under_way(), 0);
    rig_send(PIPELINE); /* the recheck of the foremost */
    queued(30000, "");
    everybody_leaves(waiters, 3);
}

static void a_position_that_is_gone_is_taken_anew_at_the_end(void) {
    struct call *waiters[5];
    open_fair();
    held_with_waiters(waiters, 4);
    rig_pass((RIG_FAIR_MS / 3 + 1) * MILLISECOND);
    rig_drain_background(); /* the hold is renewed, and the reply to the refresh names no lost position */
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 30000); /* the foremost has no position */
    struct command *again = rig_send(PIPELINE);
    CHECK(again && again->id == 2 && again->position == POSITION_WANTED);
    CHECK_EQ_INT(waiters[2]->operation->phase, PHASE_REQUESTING);
    queued(30000, "3");
    const struct operation *first = container_of(list_first(&rig_wait_queue("a")->waiters), struct operation, link);
    CHECK_EQ_INT(first->id, 3);
    CHECK(list_next(&rig_wait_queue("a")->waiters, &waiters[2]->operation->link) == NULL);
    CHECK(waiters[2]->operation->has_position);
    struct command *recheck = rig_send(PIPELINE); /* the new foremost may have lost its position, too */
    CHECK(recheck && recheck->id == 3 && recheck->position == POSITION_TAKEN);
    queued(30000, "3");
    CHECK(rig_send(PIPELINE) == NULL);
    everybody_leaves(waiters, 4);
}

static void a_refresh_that_misses_one_makes_it_ask(void) {
    struct call *waiters[5];
    open_fair();
    held_with_waiters(waiters, 4);
    refresh_waiters(&rig.engine, rig_wait_queue("a"), rig.now);
    struct command *refresh = rig_send(PIPELINE_BACKGROUND);
    CHECK(refresh && refresh->kind == COMMAND_REFRESH);
    one_is_absent("3");
    struct command *again = rig_send(PIPELINE);
    CHECK(again && again->id == 3 && again->position == POSITION_WANTED);
    queued(30000, "2");
    CHECK(list_next(&rig_wait_queue("a")->waiters, &waiters[3]->operation->link) == NULL);
    everybody_leaves(waiters, 4);
}

static void a_refresh_that_misses_a_receiver_makes_it_ask_when_the_hand_over_fails(void) {
    struct call *waiters[4];
    open_fair();
    held_with_waiters(waiters, 3);
    refresh_waiters(&rig.engine, rig_wait_queue("a"), rig.now);
    rig_send(PIPELINE_BACKGROUND);
    rig_release("a", 1);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_HAND_OVER);
    one_is_absent("2");
    CHECK_EQ_INT(waiters[2]->operation->phase, PHASE_HANDED);
    rig_integer(PIPELINE, 2);
    struct command *again = rig_send(PIPELINE);
    CHECK(again && again->id == 2 && again->position == POSITION_TAKEN);
    rig_integer(PIPELINE, 30000);
    again = rig_send(PIPELINE);
    CHECK(again && again->id == 2 && again->position == POSITION_WANTED);
    queued(30000, "");
    rig_abort(waiters[2], REDLATCH_CANCELLED);
    rig_abort(waiters[3], REDLATCH_CANCELLED);
    while (rig_send(PIPELINE)) {
        rig_integer(PIPELINE, 0);
    }
    rig_drain_background();
    RIG_CLOSE();
}

/* The reply to the hand-over shows that the server is usable again. The receiver may then be parked without a timer. It
 * must not end when the unreachable timeout passes. */
static void a_receiver_of_a_broken_hand_over_waits_on(void) {
    struct call *waiters[4];
    open_fair();
    held_with_waiters(waiters, 3);
    rig_release("a", 1);
    rig_send(PIPELINE);
    rig_lost(PIPELINE);
    CHECK(waiters[2]->operation->unusable_since);
    list_remove(&waiters[3]->operation->link); /* the server's reply to it said that it is the head */
    list_prepend(&rig_wait_queue("a")->waiters, &waiters[3]->operation->link);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 2);
    CHECK_EQ_INT(waiters[2]->operation->recheck_at, NEVER);
    CHECK_EQ_INT(waiters[2]->operation->transient_error, 0);
    rig_pass(RIG_UNREACHABLE_MS * MILLISECOND);
    CHECK(!waiters[2]->done);
    rig_abort(waiters[2], REDLATCH_CANCELLED);
    rig_abort(waiters[3], REDLATCH_CANCELLED);
    while (rig_send(PIPELINE)) {
        rig_integer(PIPELINE, 0);
    }
    rig_drain_background();
    RIG_CLOSE();
}

static void only_the_foremost_few_subscribe(void) {
    struct call *waiters[21];
    open_fair();
    held_with_waiters(waiters, 20);
    CHECK_EQ_INT(rig.engine.subscriptions, LISTENING_WAITERS);
    everybody_leaves(waiters, 20);
}

static void giving_up_leaves_the_queue_and_the_lock(void) {
    struct call *waiters[4];
    open_fair();
    held_with_waiters(waiters, 3);
    rig_abort(waiters[3], REDLATCH_TIMEOUT);
    CHECK_EQ_INT(waiters[3]->status, REDLATCH_TIMEOUT);
    struct command *leave = rig_send(PIPELINE);
    CHECK(leave && leave->kind == COMMAND_RELEASE && leave->leaves && leave->id == 3 && leave->count == 0);
    rig_integer(PIPELINE, 0);
    everybody_leaves(waiters, 2);
}

static void an_ask_that_was_sent_is_left_behind_it(void) {
    open_fair();
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    rig_abort(call, REDLATCH_CANCELLED);
    struct command *leave = rig_send(PIPELINE);
    CHECK(leave && leave->kind == COMMAND_RELEASE && leave->leaves && leave->id == 1);
    queued(30000, "");
    rig_integer(PIPELINE, 0);
    RIG_CLOSE();
}

static void an_ask_that_was_not_sent_leaves_nothing(void) {
    open_fair();
    struct call *call = rig_acquire("a", 1);
    rig_abort(call, REDLATCH_CANCELLED);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

static void a_transient_error_keeps_the_number(void) {
    open_fair();
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    queued(30000, "");
    rig_subscriptions();
    rig_send(PIPELINE);
    rig_error(PIPELINE, "OOM command not allowed when used memory > 'maxmemory'.");
    CHECK_EQ_INT(call->operation->phase, PHASE_PAUSED);
    rig_pass(SECOND);
    struct command *recheck = rig_send(PIPELINE);
    CHECK(recheck && recheck->id == 1 && recheck->position == POSITION_TAKEN);
    rig_nil(PIPELINE);
    rig_end("a", 1);
    RIG_CLOSE();
}

/* The second error says that the request may have run. */
static void a_position_that_was_refused_is_not_left(void) {
    static const char *const errors[] = {"LOADING the data", "ERR access to a non local key"};
    for (int i = 0; i < 2; i++) {
        open_fair();
        struct call *call = rig_acquire("a", 1);
        uint64_t id = rig_send(PIPELINE)->id;
        rig_error(PIPELINE, errors[i]);
        if (call->operation->phase == PHASE_REQUESTING) {
            rig_send(PIPELINE);
            rig_error(PIPELINE, "LOADING the data");
        }
        CHECK_EQ_INT(call->operation->phase, PHASE_PAUSED);
        rig_abort(call, REDLATCH_TIMEOUT);
        const struct command *leave = rig_send(PIPELINE);
        CHECK(i == 0 ? !leave : leave && leave->kind == COMMAND_RELEASE && leave->leaves && leave->id == id);
        if (leave) {
            rig_integer(PIPELINE, 0);
        }
        RIG_CLOSE();
    }
}

/* The request that may have made a position is followed by one that is never sent. */
static void a_position_in_doubt_is_left_from_every_phase(void) {
    open_fair();
    struct call *call = rig_acquire("a", 1);
    uint64_t id = rig_send(PIPELINE)->id;
    rig_error(PIPELINE, "ERR access to a non local key");
    rig_pass(SECOND);
    CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING);
    rig_abort(call, REDLATCH_TIMEOUT);
    const struct command *leave = rig_send(PIPELINE);
    CHECK(leave && leave->kind == COMMAND_RELEASE && leave->leaves && leave->id == id);
    rig_integer(PIPELINE, 0);
    CHECK(rig_send(PIPELINE) == NULL);
    RIG_CLOSE();
}

static void a_recheck_is_sent_again_whatever_became_of_it(void) {
    static const enum resolution ways[] = {RESOLVED_BY_KILL, RESOLVED_BY_RESTART, RESOLUTION_DENIED};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        open_fair();
        struct call *call = rig_acquire("a", 1);
        rig_send(PIPELINE);
        queued(30000, "");
        rig_subscriptions();
        rig_send(PIPELINE);
        rig_lost(PIPELINE);
        rig_ready(PIPELINE, ways[i]);
        struct command *recheck = rig_send(PIPELINE);
        CHECK(recheck && recheck->kind == COMMAND_ACQUIRE && recheck->id == 1 && recheck->position == POSITION_TAKEN);
        rig_nil(PIPELINE);
        CHECK_EQ_INT(call->status, REDLATCH_OK);
        rig_end("a", 1);
        RIG_CLOSE();
    }
}

static void a_position_requested_in_vain_is_left_where_old_commands_may_come(void) {
    open_fair();
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLUTION_DENIED);
    struct command *leave = rig_send(PIPELINE);
    CHECK(leave && leave->kind == COMMAND_RELEASE && leave->leaves && leave->id == 1);
    struct command *ask = rig_send(PIPELINE);
    CHECK(ask && ask->id == 2 && ask->position == POSITION_WANTED);
    rig_integer(PIPELINE, 0);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 2 - 1);
    rig_pass((RIG_LEASE_MS + 2000) * MILLISECOND);
    while (rig_send(PIPELINE)) {
        rig_integer(PIPELINE, 0);
    }
    rig_pass((RIG_LEASE_MS + 2000) * MILLISECOND);
    while (rig_send(PIPELINE)) {
        rig_integer(PIPELINE, 0);
    }
    RIG_CLOSE();
}

/* Nobody is woken on the channel of the old number any more, so the waiter subscribes to that of its new number. */
static void a_waiter_with_a_new_number_listens_for_that(void) {
    struct call *waiters[3];
    open_fair();
    held_with_waiters(waiters, 2);
    rig_pass((RIG_FAIR_MS / 3 + 1) * MILLISECOND);
    rig_drain_background();
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 30000); /* it has no position, and requests a new one */
    rig_send(PIPELINE);
    rig_lost(PIPELINE);
    rig_ready(PIPELINE, RESOLUTION_DENIED);
    struct command *leave = rig_send(PIPELINE);
    CHECK(leave && leave->kind == COMMAND_RELEASE && leave->leaves && leave->id == 2);
    struct command *ask = rig_send(PIPELINE);
    CHECK(ask && ask->id > 2 && ask->position == POSITION_WANTED);
    rig_integer(PIPELINE, 0);
    queued(30000, "");
    rig_subscriptions();
    const struct operation *operation = waiters[2]->operation;
    CHECK(operation->wake_channel && operation->wake_channel->state == SUBSCRIPTION_ACTIVE);
    CHECK_EQ_INT(operation->wake_channel->waiter, operation->id);
    rig_abort(waiters[2], REDLATCH_CANCELLED);
    while (rig_send(PIPELINE)) {
        rig_integer(PIPELINE, 0);
    }
    rig_drain_background();
    rig_end("a", 1);
    for (int i = 0; i < 2; i++) { /* until no command with the old number can arrive late */
        rig_pass((RIG_LEASE_MS + 2000) * MILLISECOND);
        while (rig_send(PIPELINE)) {
            rig_integer(PIPELINE, 0);
        }
    }
    RIG_CLOSE();
}

/* The leave is repeated for the fair timeout, even if the requested lease is shorter. */
static void a_position_is_left_again_and_again_while_it_may_come_late(void) {
    open_fair();
    struct call *call = rig_acquire_for("a", 1, 50);
    rig_send(PIPELINE);
    rig_lost(PIPELINE);
    rig_abort(call, REDLATCH_TIMEOUT);
    rig_ready(PIPELINE, RESOLUTION_DENIED);
    int leaves = 0;
    for (struct command *command = rig_send(PIPELINE); command; command = rig_send(PIPELINE)) {
        CHECK(command->kind == COMMAND_RELEASE && command->leaves && command->id == 1);
        leaves++;
        rig_integer(PIPELINE, 0);
        rig_pass(SECOND);
    }
    CHECK_EQ_INT(leaves, 1 + RIG_FAIR_MS / 1000);
    RIG_CLOSE();
}

static void calls_of_one_owner_do_not_wait_for_each_other(void) {
    open_fair();
    struct call *first = rig_acquire_named("a", 1);
    struct call *second = rig_acquire_named("a", 1);
    rig_send(PIPELINE);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(first->status, REDLATCH_OK);
    queued(30000, "");
    struct command *leave = rig_send(PIPELINE);
    CHECK(leave && leave->leaves && leave->id == 2);
    struct command *reenter = rig_send(PIPELINE);
    CHECK(reenter && reenter->kind == COMMAND_REENTER && reenter->id == 1 && reenter->count == 2);
    rig_integer(PIPELINE, 0);
    rig_integer(PIPELINE, 1);
    CHECK_EQ_INT(second->status, REDLATCH_OK);
    rig_end("a", 1);
    rig_end("a", 1);
    RIG_CLOSE();
}

/* The second call was to re-enter a hold that has ended meanwhile. It requests anew, with another number than the one
 * that it is just leaving. */
static void a_number_that_was_left_is_not_used_again(void) {
    open_fair();
    rig_acquire_named("a", 1);
    struct call *second = rig_acquire_named("a", 1);
    rig_send(PIPELINE);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    rig_extend("a", 1, 5000);
    rig_release("a", 1); /* waits for the extension; the second call will wait for the release */
    queued(30000, "");
    rig_send(PIPELINE);
    struct command *leave = rig_send(PIPELINE);
    CHECK(leave && leave->leaves && leave->id == 2);
    rig_integer(PIPELINE, 1);
    rig_integer(PIPELINE, 0);
    struct command *release = rig_send(PIPELINE);
    CHECK(release && release->kind == COMMAND_RELEASE && release->id == 1);
    rig_integer(PIPELINE, 1);
    struct command *again = rig_send(PIPELINE);
    CHECK(again && again->kind == COMMAND_ACQUIRE && again->id == 3 && again->position == POSITION_WANTED);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(second->status, REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void where_channels_are_denied_the_foremost_polls(void) {
    open_fair();
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    queued(30000, "");
    struct list_link *link = list_pop(&rig.engine.server->subscription_changes);
    CHECK(link != NULL);
    engine_subscription_denied(&rig.engine, container_of(link, struct subscription, link), rig.now);
    rig_turn();
    rig_send(PIPELINE);
    queued(30000, "");
    rig_pass(260 * MILLISECOND);
    CHECK(rig_send(PIPELINE) != NULL);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void channels_are_wanted_again_after_their_connection_broke(void) {
    struct call *waiters[7];
    open_fair();
    held_with_waiters(waiters, 6);
    rig_abort(waiters[3], REDLATCH_CANCELLED);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 0);
    engine_subscriptions_lost(&rig.engine, rig.engine.server, rig.now);
    rig_turn();
    CHECK_EQ_INT(rig.engine.subscriptions, 0);
    rig_subscriptions();
    CHECK(rig.engine.subscriptions >= 3 && rig.engine.subscriptions <= LISTENING_WAITERS);
    CHECK(rig_send(PIPELINE) == NULL);
    everybody_leaves(waiters, 6);
}

int main(void) {
    RUN(each_waiter_takes_a_position_once);
    RUN(a_try_wants_no_position);
    RUN(a_try_that_is_given_a_position_leaves_it);
    RUN(a_try_behind_waiters_of_this_process_asks_nobody);
    RUN(the_foremost_rechecks_every_five_seconds_and_makes_no_position);
    RUN(the_others_are_refreshed_together);
    RUN(one_refresh_at_most_has_no_reply);
    RUN(a_position_that_is_gone_is_taken_anew_at_the_end);
    RUN(a_refresh_that_misses_one_makes_it_ask);
    RUN(a_refresh_that_misses_a_receiver_makes_it_ask_when_the_hand_over_fails);
    RUN(a_receiver_of_a_broken_hand_over_waits_on);
    RUN(only_the_foremost_few_subscribe);
    RUN(giving_up_leaves_the_queue_and_the_lock);
    RUN(an_ask_that_was_sent_is_left_behind_it);
    RUN(an_ask_that_was_not_sent_leaves_nothing);
    RUN(a_transient_error_keeps_the_number);
    RUN(a_position_that_was_refused_is_not_left);
    RUN(a_position_in_doubt_is_left_from_every_phase);
    RUN(a_recheck_is_sent_again_whatever_became_of_it);
    RUN(a_position_requested_in_vain_is_left_where_old_commands_may_come);
    RUN(a_waiter_with_a_new_number_listens_for_that);
    RUN(a_position_is_left_again_and_again_while_it_may_come_late);
    RUN(calls_of_one_owner_do_not_wait_for_each_other);
    RUN(a_number_that_was_left_is_not_used_again);
    RUN(where_channels_are_denied_the_foremost_polls);
    RUN(channels_are_wanted_again_after_their_connection_broke);
    return unit_done();
}
