/* The waiting of fair locks: places in the server's queue, who looks, who is refreshed, and how waiters leave.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "fair_fixture.h"
#include "steps.h"
#include "wire.h"

/* Answers a refresh: this number has no place. */
static void one_is_absent(const char *number) {
    struct reply element = {.kind = REPLY_STRING, .text = number, .size = strlen(number)};
    struct reply reply = {.kind = REPLY_ARRAY, .elements = &element, .count = number[0] ? 1 : 0};
    rig_reply(LANE_KEEPER, &reply);
}

static void each_waiter_takes_a_place_once(void) {
    struct call *waiters[5];
    open_fair();
    rig_grant("a", 1);
    for (uint64_t owner = 2; owner <= 3; owner++) {
        waiters[owner] = rig_acquire("a", owner);
        struct command *command = rig_send(LANE);
        CHECK(command && command->kind == COMMAND_ACQUIRE && command->place == PLACE_WANTED);
        CHECK_EQ_INT(command->id, owner);
        queued(30000, "");
        CHECK_EQ_INT(waiters[owner]->operation->phase, PHASE_PARKED);
        CHECK(waiters[owner]->operation->placed);
    }
    CHECK(rig_send(LANE) == NULL);
    everybody_leaves(waiters, 3);
}

static void a_try_wants_no_place(void) {
    open_fair();
    struct call *call = rig_try("a", 1);
    struct command *command = rig_send(LANE);
    CHECK(command && command->place == PLACE_UNWANTED);
    rig_integer(LANE, 30000);
    CHECK_EQ_INT(call->status, REDLATCH_TIMEOUT);
    CHECK(rig_send(LANE) == NULL);
    RIG_CLOSE();
}

static void a_try_behind_waiters_of_this_process_asks_nobody(void) {
    struct call *waiters[3];
    open_fair();
    held_with_waiters(waiters, 2);
    struct call *call = rig_try("a", 9);
    CHECK_EQ_INT(call->status, REDLATCH_TIMEOUT);
    CHECK(rig_send(LANE) == NULL);
    everybody_leaves(waiters, 2);
}

static void the_foremost_looks_every_five_seconds_and_makes_no_place(void) {
    struct call *waiters[3];
    open_fair();
    held_with_waiters(waiters, 2);
    rig_pass(4900 * MILLISECOND);
    CHECK(rig_send(LANE) == NULL);
    rig_pass(200 * MILLISECOND);
    struct command *look = rig_send(LANE);
    CHECK(look && look->place == PLACE_TAKEN && look->id == 2);
    queued(INT64_MAX, "");
    rig_pass(4900 * MILLISECOND);
    CHECK(rig_send(LANE) == NULL);
    everybody_leaves(waiters, 2);
}

static void the_others_are_refreshed_together(void) {
    struct call *waiters[7];
    open_fair();
    held_with_waiters(waiters, 6);
    rig_pass((RIG_FAIR_MS / 3 + 1) * MILLISECOND);
    struct command *refresh;
    do {
        refresh = rig_send(LANE_KEEPER);
        if (refresh && refresh->kind == COMMAND_RENEW) {
            rig_integers(LANE_KEEPER, (const int64_t[]){20000}, 1);
        }
    } while (refresh && refresh->kind == COMMAND_RENEW);
    CHECK(refresh && refresh->kind == COMMAND_REFRESH);
    uint32_t keys;
    uint32_t arguments;
    command_counts(refresh, &keys, &arguments);
    CHECK_EQ_INT(keys, 4);
    CHECK_EQ_INT(arguments, 1 + 4); /* the time-out, and all but the foremost, which is looking just now */
    one_is_absent("");
    rig_send(LANE); /* the foremost looked */
    queued(30000, "");
    everybody_leaves(waiters, 6);
}

static void a_place_that_is_gone_is_taken_anew_at_the_end(void) {
    struct call *waiters[5];
    open_fair();
    held_with_waiters(waiters, 4);
    rig_pass((RIG_FAIR_MS / 3 + 1) * MILLISECOND);
    rig_drain_keeper(); /* the hold is renewed; what is not of the right form is passed over */
    rig_send(LANE);
    rig_integer(LANE, 30000); /* the foremost is told that it is absent */
    struct command *again = rig_send(LANE);
    CHECK(again && again->id == 2 && again->place == PLACE_WANTED);
    CHECK_EQ_INT(waiters[2]->operation->phase, PHASE_ASKING);
    queued(30000, "3");
    const struct operation *first =
        container_of(list_first(&rig_contest("a")->queue), struct operation, link);
    CHECK_EQ_INT(first->id, 3);
    CHECK(list_next(&rig_contest("a")->queue, &waiters[2]->operation->link) == NULL);
    CHECK(waiters[2]->operation->placed);
    struct command *look = rig_send(LANE); /* the next one may have lost its own */
    CHECK(look && look->id == 3 && look->place == PLACE_TAKEN);
    queued(30000, "3");
    CHECK(rig_send(LANE) == NULL);
    everybody_leaves(waiters, 4);
}

static void a_refresh_that_misses_one_makes_it_ask(void) {
    struct call *waiters[5];
    open_fair();
    held_with_waiters(waiters, 4);
    refresh_waiters(&rig.engine, rig_contest("a"), rig.now);
    struct command *refresh = rig_send(LANE_KEEPER);
    CHECK(refresh && refresh->kind == COMMAND_REFRESH);
    one_is_absent("3");
    struct command *again = rig_send(LANE);
    CHECK(again && again->id == 3 && again->place == PLACE_WANTED);
    queued(30000, "2");
    CHECK(list_next(&rig_contest("a")->queue, &waiters[3]->operation->link) == NULL);
    everybody_leaves(waiters, 4);
}

static void a_refresh_that_misses_a_receiver_makes_it_ask_when_the_hand_over_fails(void) {
    struct call *waiters[4];
    open_fair();
    held_with_waiters(waiters, 3);
    refresh_waiters(&rig.engine, rig_contest("a"), rig.now);
    rig_send(LANE_KEEPER);
    rig_release("a", 1);
    CHECK_EQ_INT(rig_send(LANE)->kind, COMMAND_HAND_OVER);
    one_is_absent("2");
    CHECK_EQ_INT(waiters[2]->operation->phase, PHASE_HANDED);
    rig_integer(LANE, 2);
    struct command *again = rig_send(LANE);
    CHECK(again && again->id == 2 && again->place == PLACE_TAKEN);
    rig_integer(LANE, 30000);
    again = rig_send(LANE);
    CHECK(again && again->id == 2 && again->place == PLACE_WANTED);
    queued(30000, "");
    rig_abort(waiters[2], REDLATCH_CANCELLED);
    rig_abort(waiters[3], REDLATCH_CANCELLED);
    while (rig_send(LANE)) {
        rig_integer(LANE, 0);
    }
    rig_drain_keeper();
    RIG_CLOSE();
}

static void only_the_foremost_few_subscribe(void) {
    struct call *waiters[21];
    open_fair();
    held_with_waiters(waiters, 20);
    CHECK_EQ_INT(rig.engine.subscriptions, CALLED_WAITERS);
    everybody_leaves(waiters, 20);
}

static void giving_up_leaves_the_queue_and_the_lock(void) {
    struct call *waiters[4];
    open_fair();
    held_with_waiters(waiters, 3);
    rig_abort(waiters[3], REDLATCH_TIMEOUT);
    CHECK_EQ_INT(waiters[3]->status, REDLATCH_TIMEOUT);
    struct command *leave = rig_send(LANE);
    CHECK(leave && leave->kind == COMMAND_RELEASE && leave->leaves && leave->id == 3 && leave->count == 0);
    rig_integer(LANE, 0);
    everybody_leaves(waiters, 2);
}

static void an_ask_that_was_sent_is_left_behind_it(void) {
    open_fair();
    struct call *call = rig_acquire("a", 1);
    rig_send(LANE);
    rig_abort(call, REDLATCH_CANCELLED);
    struct command *leave = rig_send(LANE);
    CHECK(leave && leave->kind == COMMAND_RELEASE && leave->leaves && leave->id == 1);
    queued(30000, "");
    rig_integer(LANE, 0);
    RIG_CLOSE();
}

static void an_ask_that_was_not_sent_leaves_nothing(void) {
    open_fair();
    struct call *call = rig_acquire("a", 1);
    rig_abort(call, REDLATCH_CANCELLED);
    CHECK(rig_send(LANE) == NULL);
    RIG_CLOSE();
}

static void a_refusal_that_passes_keeps_the_number(void) {
    open_fair();
    struct call *call = rig_acquire("a", 1);
    rig_send(LANE);
    queued(30000, "");
    rig_subscriptions();
    rig_send(LANE);
    rig_error(LANE, "OOM command not allowed when used memory > 'maxmemory'.");
    CHECK_EQ_INT(call->operation->phase, PHASE_PAUSED);
    rig_pass(SECOND);
    struct command *look = rig_send(LANE);
    CHECK(look && look->id == 1 && look->place == PLACE_TAKEN);
    rig_nil(LANE);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_look_is_sent_again_whatever_became_of_it(void) {
    static const enum settlement ways[] = {SETTLED_BY_KILL, SETTLED_BY_RESTART, SETTLEMENT_DENIED};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        open_fair();
        struct call *call = rig_acquire("a", 1);
        rig_send(LANE);
        queued(30000, "");
        rig_subscriptions();
        rig_send(LANE);
        rig_lost(LANE);
        rig_ready(LANE, ways[i]);
        struct command *look = rig_send(LANE);
        CHECK(look && look->kind == COMMAND_ACQUIRE && look->id == 1 && look->place == PLACE_TAKEN);
        rig_nil(LANE);
        CHECK_EQ_INT(call->status, REDLATCH_OK);
        rig_end("a", 1);
        RIG_CLOSE();
    }
}

static void a_place_asked_for_in_vain_is_left_where_old_commands_may_come(void) {
    open_fair();
    struct call *call = rig_acquire("a", 1);
    rig_send(LANE);
    rig_lost(LANE);
    rig_ready(LANE, SETTLEMENT_DENIED);
    struct command *leave = rig_send(LANE);
    CHECK(leave && leave->kind == COMMAND_RELEASE && leave->leaves && leave->id == 1);
    struct command *ask = rig_send(LANE);
    CHECK(ask && ask->id == 2 && ask->place == PLACE_WANTED);
    rig_integer(LANE, 0);
    rig_nil(LANE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 2 - 1);
    rig_pass((RIG_LEASE_MS + 2000) * MILLISECOND);
    while (rig_send(LANE)) {
        rig_integer(LANE, 0);
    }
    rig_pass((RIG_LEASE_MS + 2000) * MILLISECOND);
    while (rig_send(LANE)) {
        rig_integer(LANE, 0);
    }
    RIG_CLOSE();
}

/* The channel of the number that was given up calls nobody any more. */
static void a_waiter_with_a_new_number_listens_for_that(void) {
    struct call *waiters[3];
    open_fair();
    held_with_waiters(waiters, 2);
    rig_pass((RIG_FAIR_MS / 3 + 1) * MILLISECOND);
    rig_drain_keeper();
    rig_send(LANE);
    rig_integer(LANE, 30000); /* it is absent, and asks for a new place */
    rig_send(LANE);
    rig_lost(LANE);
    rig_ready(LANE, SETTLEMENT_DENIED);
    struct command *leave = rig_send(LANE);
    CHECK(leave && leave->kind == COMMAND_RELEASE && leave->leaves && leave->id == 2);
    struct command *ask = rig_send(LANE);
    CHECK(ask && ask->id > 2 && ask->place == PLACE_WANTED);
    rig_integer(LANE, 0);
    queued(30000, "");
    rig_subscriptions();
    const struct operation *operation = waiters[2]->operation;
    CHECK(operation->call && operation->call->state == SUBSCRIPTION_ACTIVE);
    CHECK_EQ_INT(operation->call->waiter, operation->id);
    rig_abort(waiters[2], REDLATCH_CANCELLED);
    while (rig_send(LANE)) {
        rig_integer(LANE, 0);
    }
    rig_drain_keeper();
    rig_end("a", 1);
    for (int i = 0; i < 2; i++) { /* until the old number can not come late any more */
        rig_pass((RIG_LEASE_MS + 2000) * MILLISECOND);
        while (rig_send(LANE)) {
            rig_integer(LANE, 0);
        }
    }
    RIG_CLOSE();
}

/* However short the lease is that it asked for. */
static void a_place_is_left_again_and_again_while_it_may_come_late(void) {
    open_fair();
    struct call *call = rig_acquire_for("a", 1, 50);
    rig_send(LANE);
    rig_lost(LANE);
    rig_abort(call, REDLATCH_TIMEOUT);
    rig_ready(LANE, SETTLEMENT_DENIED);
    int leaves = 0;
    for (struct command *command = rig_send(LANE); command; command = rig_send(LANE)) {
        CHECK(command->kind == COMMAND_RELEASE && command->leaves && command->id == 1);
        leaves++;
        rig_integer(LANE, 0);
        rig_pass(SECOND);
    }
    CHECK_EQ_INT(leaves, 1 + RIG_FAIR_MS / 1000);
    RIG_CLOSE();
}

static void calls_of_one_owner_do_not_wait_for_each_other(void) {
    open_fair();
    struct call *first = rig_acquire_named("a", 1);
    struct call *second = rig_acquire_named("a", 1);
    rig_send(LANE);
    rig_send(LANE);
    rig_nil(LANE);
    CHECK_EQ_INT(first->status, REDLATCH_OK);
    queued(30000, "");
    struct command *leave = rig_send(LANE);
    CHECK(leave && leave->leaves && leave->id == 2);
    struct command *reenter = rig_send(LANE);
    CHECK(reenter && reenter->kind == COMMAND_REENTER && reenter->id == 1 && reenter->count == 2);
    rig_integer(LANE, 0);
    rig_integer(LANE, 1);
    CHECK_EQ_INT(second->status, REDLATCH_OK);
    rig_end("a", 1);
    rig_end("a", 1);
    RIG_CLOSE();
}

/* What re-entered has to begin anew, as the hold is gone: by another number than the one whose leave is under way. */
static void a_number_that_was_left_is_not_used_again(void) {
    open_fair();
    rig_acquire_named("a", 1);
    struct call *second = rig_acquire_named("a", 1);
    rig_send(LANE);
    rig_send(LANE);
    rig_nil(LANE);
    rig_extend("a", 1, 5000);
    rig_release("a", 1); /* waits for the extension, and the second call behind it */
    queued(30000, "");
    rig_send(LANE);
    struct command *leave = rig_send(LANE);
    CHECK(leave && leave->leaves && leave->id == 2);
    rig_integer(LANE, 1);
    rig_integer(LANE, 0);
    struct command *release = rig_send(LANE);
    CHECK(release && release->kind == COMMAND_RELEASE && release->id == 1);
    rig_integer(LANE, 1);
    struct command *again = rig_send(LANE);
    CHECK(again && again->kind == COMMAND_ACQUIRE && again->id == 3 && again->place == PLACE_WANTED);
    rig_nil(LANE);
    CHECK_EQ_INT(second->status, REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void where_channels_are_denied_the_foremost_polls(void) {
    open_fair();
    struct call *call = rig_acquire("a", 1);
    rig_send(LANE);
    queued(30000, "");
    struct list_link *link = list_pop(&rig.engine.subscription_changes);
    CHECK(link != NULL);
    engine_subscription_denied(&rig.engine, container_of(link, struct subscription, link), rig.now);
    rig_turn();
    rig_send(LANE);
    queued(30000, "");
    rig_pass(260 * MILLISECOND);
    CHECK(rig_send(LANE) != NULL);
    rig_nil(LANE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void channels_are_wanted_again_after_their_connection_broke(void) {
    struct call *waiters[7];
    open_fair();
    held_with_waiters(waiters, 6);
    rig_abort(waiters[3], REDLATCH_CANCELLED);
    rig_send(LANE);
    rig_integer(LANE, 0);
    engine_subscriptions_lost(&rig.engine, rig.now);
    rig_turn();
    CHECK_EQ_INT(rig.engine.subscriptions, 0);
    rig_subscriptions();
    CHECK(rig.engine.subscriptions >= 3 && rig.engine.subscriptions <= CALLED_WAITERS);
    CHECK(rig_send(LANE) == NULL);
    everybody_leaves(waiters, 6);
}

int main(void) {
    RUN(each_waiter_takes_a_place_once);
    RUN(a_try_wants_no_place);
    RUN(a_try_behind_waiters_of_this_process_asks_nobody);
    RUN(the_foremost_looks_every_five_seconds_and_makes_no_place);
    RUN(the_others_are_refreshed_together);
    RUN(a_place_that_is_gone_is_taken_anew_at_the_end);
    RUN(a_refresh_that_misses_one_makes_it_ask);
    RUN(a_refresh_that_misses_a_receiver_makes_it_ask_when_the_hand_over_fails);
    RUN(only_the_foremost_few_subscribe);
    RUN(giving_up_leaves_the_queue_and_the_lock);
    RUN(an_ask_that_was_sent_is_left_behind_it);
    RUN(an_ask_that_was_not_sent_leaves_nothing);
    RUN(a_refusal_that_passes_keeps_the_number);
    RUN(a_look_is_sent_again_whatever_became_of_it);
    RUN(a_place_asked_for_in_vain_is_left_where_old_commands_may_come);
    RUN(a_waiter_with_a_new_number_listens_for_that);
    RUN(a_place_is_left_again_and_again_while_it_may_come_late);
    RUN(calls_of_one_owner_do_not_wait_for_each_other);
    RUN(a_number_that_was_left_is_not_used_again);
    RUN(where_channels_are_denied_the_foremost_polls);
    RUN(channels_are_wanted_again_after_their_connection_broke);
    return unit_done();
}
