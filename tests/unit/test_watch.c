/* The watch machine: each row of the table at the head of watch.c, and how watchers share a name with its wait queue.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"

static const enum pipeline_role PIPELINE = PIPELINE_CALLERS;

static struct call *watch(const char *name, bool once) {
    struct call *call = rig_call(OPERATION_WATCH, name, 0);
    call->operation->non_blocking = once;
    rig_start(call);
    return call;
}

/* Returns a watcher that is parked and subscribed: the server replied that the name is held. */
static struct call *parked(const char *name, int64_t ttl_ms) {
    struct call *call = watch(name, false);
    rig_park(ttl_ms);
    return call;
}

static void say_free(void) {
    rig_send(PIPELINE);
    rig_integer(PIPELINE, -2);
}

static void a_free_name_is_found_by_one_command(void) {
    rig_open();
    struct call *call = watch("a", false);
    CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_WATCH);
    CHECK_EQ_INT(rig.engine.stats.waiters, 1);
    rig_integer(PIPELINE, -2);
    CHECK(call->done);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    CHECK_EQ_INT(rig.engine.stats.waiters, 0);
    CHECK_EQ_INT(rig.engine.stats.held, 0);
    CHECK(rig_wait_queue("a") == NULL); /* no subscription was needed */
    RIG_CLOSE();
}

static void one_recheck_at_a_held_name_says_so(void) {
    rig_open();
    struct call *call = watch("a", true);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 5000);
    CHECK_EQ_INT(call->status, REDLATCH_TIMEOUT);
    RIG_CLOSE();
}

static void a_message_the_lease_and_five_seconds_make_it_recheck(void) {
    for (int i = 0; i < 3; i++) {
        rig_open();
        struct call *call = parked("a", i == 1 ? 1000 : i == 2 ? INT64_MAX : 60000);
        CHECK_EQ_INT(call->operation->phase, PHASE_PARKED);
        if (i == 0) {
            rig_message("a");
        } else {
            rig_pass(i == 1 ? 1011 * MILLISECOND : 5 * SECOND);
        }
        CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING);
        say_free();
        CHECK_EQ_INT(call->status, REDLATCH_OK);
        RIG_CLOSE();
    }
}

static void a_message_while_requesting_makes_it_ask_again(void) {
    rig_open();
    struct call *call = parked("a", 60000);
    rig_message("a");
    rig_send(PIPELINE);
    rig_message("a");
    rig_integer(PIPELINE, 60000); /* from before the second message */
    rig_pass(0);
    CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING);
    say_free();
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    RIG_CLOSE();
}

static void watchers_and_waiters_of_a_name_hear_together(void) {
    rig_open();
    struct call *first = parked("a", 60000);
    struct call *second = watch("a", false);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 60000);
    struct call *waiter = rig_acquire("a", 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 60000);
    rig_message("a");
    int requested[COMMAND_RENEW + 1] = {0};
    for (int i = 0; i < 3; i++) {
        struct command *command = rig_send(PIPELINE);
        CHECK(command != NULL);
        requested[command->kind]++;
    }
    CHECK_EQ_INT(requested[COMMAND_WATCH], 2);
    CHECK_EQ_INT(requested[COMMAND_ACQUIRE], 1);
    rig_integer(PIPELINE, -2);
    rig_integer(PIPELINE, -2);
    rig_nil(PIPELINE);
    CHECK(first->status == REDLATCH_OK && second->status == REDLATCH_OK && waiter->status == REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_subscription_stays_while_somebody_watches(void) {
    rig_open();
    struct call *waiter = rig_acquire("a", 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, -1);
    rig_subscriptions();
    rig_send(PIPELINE);
    rig_integer(PIPELINE, -1);
    struct call *call = watch("a", false);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, -1);
    rig_abort(waiter, REDLATCH_CANCELLED);
    for (int i = 0; i < 4; i++) {
        rig_pass(5 * SECOND);
        rig_send(PIPELINE);
        rig_integer(PIPELINE, -1);
    }
    CHECK_EQ_INT(rig_wait_queue("a")->subscription.state, SUBSCRIPTION_ACTIVE);
    rig_message("a");
    say_free();
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_pass(RIG_LINGER_MS * MILLISECOND);
    CHECK_EQ_INT(rig_subscriptions(), 1); /* the channel is left */
    RIG_CLOSE();
}

static void a_transient_error_is_waited_out(void) {
    rig_open();
    struct call *call = watch("a", false);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "LOADING Redis is loading the dataset in memory");
    CHECK_EQ_INT(call->operation->phase, PHASE_PAUSED);
    rig_pass(40 * MILLISECOND);
    say_free();
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    call = watch("a", true);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "LOADING Redis is loading the dataset in memory");
    CHECK_EQ_INT(call->status, REDLATCH_LOADING);
    call = watch("a", false);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "WRONGTYPE Operation against a key holding the wrong kind of value");
    CHECK_EQ_INT(call->status, REDLATCH_WRONG_TYPE);
    call = watch("a", false);
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_PROTOCOL);
    RIG_CLOSE();
}

static void a_watcher_that_gives_up_leaves_nothing(void) {
    rig_open();
    struct call *unsent = watch("a", false);
    rig_abort(unsent, REDLATCH_CANCELLED);
    CHECK_EQ_INT(unsent->status, REDLATCH_CANCELLED);
    CHECK(rig_send(PIPELINE) == NULL);
    struct call *sent = watch("a", false);
    rig_send(PIPELINE);
    rig_abort(sent, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(sent->status, REDLATCH_NO_REPLY);
    rig_integer(PIPELINE, 100);
    struct call *waiting = parked("a", 60000);
    rig_abort(waiting, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(waiting->status, REDLATCH_TIMEOUT);
    RIG_CLOSE();
}

static void a_broken_connection_is_outlived(void) {
    rig_open();
    struct call *call = watch("a", false);
    rig_send(PIPELINE);
    rig_lost(PIPELINE);
    rig_failed(PIPELINE, REDLATCH_UNREACHABLE);
    CHECK(!call->done);
    rig_ready(PIPELINE, RESOLUTION_DENIED);
    say_free();
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    RIG_CLOSE();
}

/* Watches a name in the roles `kinds`. The watch begins with the first of them. */
static struct call *watch_as(const char *name, const uint8_t *kinds, size_t count, bool once) {
    struct call *call = NULL;
    for (size_t i = 0; i < count; i++) {
        rig.lock_kind = kinds[i];
        call = i == 0 ? rig_call(OPERATION_WATCH, name, 0) : call;
        call->operation->roles[i] = resource_keep(rig_name(name));
    }
    call->operation->non_blocking = once;
    rig_start(call);
    return call;
}

static const uint8_t mutex_first[] = {REDLATCH_MUTEX, REDLATCH_READ, REDLATCH_LATCH};
enum { AS_READ = -10 - REDLATCH_READ, AS_LATCH = -10 - REDLATCH_LATCH };

static void it_moves_to_the_channel_of_its_kind(void) {
    rig_open();
    struct call *call = watch_as("a", mutex_first, 3, false);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, AS_READ);
    rig_pass(0);
    rig.lock_kind = REDLATCH_MUTEX;
    CHECK(rig_wait_queue("a") == NULL); /* the watch has left the queue of that role */
    rig.lock_kind = REDLATCH_READ;
    rig_park(60000);
    CHECK_EQ_INT(call->operation->phase, PHASE_PARKED);
    CHECK_EQ_INT(rig.engine.stats.waiters, 1);
    rig_message("a");
    rig_send(PIPELINE);
    rig_integer(PIPELINE, AS_LATCH); /* it moves again, while the first channel is still subscribed to */
    rig_pass(0);
    rig.lock_kind = REDLATCH_LATCH;
    rig_park(60000);
    rig_message("a");
    say_free();
    CHECK(call->done && call->status == REDLATCH_OK);
    CHECK_EQ_INT(rig.engine.stats.waiters, 0);
    RIG_CLOSE();
}

static void one_recheck_does_not_go_elsewhere(void) {
    rig_open();
    struct call *call = watch_as("a", mutex_first, 3, true);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, AS_LATCH);
    CHECK(call->done && call->status == REDLATCH_TIMEOUT);
    RIG_CLOSE();
}

/* Nor does a watch that lacks the role: it rechecks by timer. */
static void it_stays_where_there_is_no_such_channel(void) {
    rig_open();
    struct call *call = watch_as("a", mutex_first, 2, false);
    rig.lock_kind = REDLATCH_MUTEX;
    rig_park(AS_LATCH);
    CHECK_EQ_INT(call->operation->phase, PHASE_PARKED);
    rig_pass(5 * SECOND);
    CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING);
    rig_abort(call, REDLATCH_CANCELLED);
    CHECK_EQ_INT(call->status, REDLATCH_CANCELLED);
    rig_send(PIPELINE);
    RIG_CLOSE();
}

static void a_message_before_the_reply_is_not_missed_where_there_is_no_such_channel(void) {
    rig_open();
    struct call *call = watch_as("a", mutex_first, 2, false);
    rig.lock_kind = REDLATCH_MUTEX;
    rig_park(AS_LATCH);
    rig_pass(5 * SECOND);
    rig_send(PIPELINE);
    rig_message("a");
    rig_integer(PIPELINE, AS_LATCH);
    rig_pass(0);
    CHECK_EQ_INT(call->operation->phase, PHASE_REQUESTING);
    say_free();
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    RIG_CLOSE();
}

/* A watch of a plain lock uses the script for several names, with one entry. */
static void a_reply_as_of_several_names_says_free_held_or_nothing(void) {
    const int64_t held[] = {1, 5000}, wrong[] = {0, 5000};
    for (int i = 0; i < 4; i++) {
        rig_open();
        rig.lock_kind = REDLATCH_PLAIN;
        struct call *call = watch("a", true);
        CHECK_EQ_INT(rig_send(PIPELINE)->kind, COMMAND_WATCH);
        if (i == 0) {
            rig_granted(PIPELINE);
        } else {
            rig_integers(PIPELINE, i == 1 ? held : wrong, i == 3 ? 0 : 2);
        }
        CHECK_EQ_INT(call->status, i == 0 ? REDLATCH_OK : i == 1 ? REDLATCH_TIMEOUT : REDLATCH_PROTOCOL);
        RIG_CLOSE();
    }
}

int main(void) {
    RUN(a_reply_as_of_several_names_says_free_held_or_nothing);
    RUN(it_moves_to_the_channel_of_its_kind);
    RUN(one_recheck_does_not_go_elsewhere);
    RUN(it_stays_where_there_is_no_such_channel);
    RUN(a_message_before_the_reply_is_not_missed_where_there_is_no_such_channel);
    RUN(a_free_name_is_found_by_one_command);
    RUN(one_recheck_at_a_held_name_says_so);
    RUN(a_message_the_lease_and_five_seconds_make_it_recheck);
    RUN(a_message_while_requesting_makes_it_ask_again);
    RUN(watchers_and_waiters_of_a_name_hear_together);
    RUN(a_subscription_stays_while_somebody_watches);
    RUN(a_transient_error_is_waited_out);
    RUN(a_watcher_that_gives_up_leaves_nothing);
    RUN(a_broken_connection_is_outlived);
    return unit_done();
}
