/* Names that move to another server of a cluster: their holds are verified there, their waiters recheck there, their
 * channels are subscribed to there. Also renewals in a cluster, each of which has names of one slot only.
 * SPDX-License-Identifier: Apache-2.0 */
#include "acknowledgement.h"
#include "cluster_fixture.h"
#include "fair_fixture.h"
#include "lease.h"
#include "wire.h"

/* Moves a name, and does what is due at once. */
static void move_now(const char *name, struct server *to) {
    move(name, to);
    rig_pass(0);
}

/* ------------------------------------------------------------------------------------------------------ renewals -- */

/* Returns the entry of a hold in a batch. Returns NULL if the batch has none. */
static const struct renewal *line_of(const struct command *batch, const struct hold *hold) {
    for (uint32_t i = 0; batch && i < batch->batch_count; i++) {
        if (batch->batch[i].hold == hold) {
            return &batch->batch[i];
        }
    }
    return NULL;
}

/* Holds with a fixed lease are only queried. The lease that the new server reports counts, even if it is shorter. */
static void holds_are_verified_at_the_new_server(void) {
    rig_open_cluster();
    struct hold *renewed = rig_grant("{x}a", 1);
    struct hold *fixed = rig_grant_for("{x}b", 1, 60000);
    struct hold *stays = rig_grant_for("stays", 1, 60000);
    int64_t deadline = stays->deadline;
    rig_pass(SECOND);
    move_now("{x}a", second);
    CHECK(send_to(first, PIPELINE_BACKGROUND) == NULL);
    struct command *batch = send_to(second, PIPELINE_BACKGROUND);
    CHECK(batch && batch->batch_count == 2 && line_of(batch, renewed) && line_of(batch, fixed));
    CHECK_EQ_INT(line_of(batch, fixed)->lease_ms, 0);
    rig_integers(PIPELINE_BACKGROUND, (const int64_t[]){7000, 7000}, 2);
    CHECK_EQ_INT(renewed->deadline, lease_deadline(rig.now, RIG_LEASE_MS));
    CHECK_EQ_INT(fixed->deadline, lease_deadline(rig.now, 7000)); /* as if the last extension was not replicated */
    CHECK_EQ_INT(stays->deadline, deadline);
    CHECK(send_to(second, PIPELINE_BACKGROUND) == NULL);
    rig_pass(7 * SECOND);
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, NULL), 1);
    rig.at = second;
    rig_end("{x}a", 1);
    CHECK_EQ_INT(rig_release("{x}b", 1)->status, REDLATCH_LOST);
    rig.at = first;
    rig_end("stays", 1);
    RIG_CLOSE();
}

/* A lease that was confirmed by the server where the name is now keeps its deadline. */
static void a_lease_of_the_new_server_is_believed(void) {
    rig_open_cluster();
    rig_name("a");
    move_now("a", second);
    rig.at = second;
    struct hold *hold = rig_grant_for("a", 1, 60000);
    int64_t deadline = hold->deadline;
    rig_lost(PIPELINE); /* after that the hold is queried */
    rig_pass(0);
    CHECK(line_of(send_to(second, PIPELINE_BACKGROUND), hold));
    rig_integers(PIPELINE_BACKGROUND, (const int64_t[]){7000}, 1);
    CHECK_EQ_INT(hold->deadline, deadline);
    rig_ready(PIPELINE, RESOLVED_BY_KILL);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_hold_that_the_new_server_has_not_is_lost(void) {
    rig_open_cluster();
    rig_grant("a", 1);
    move_now("a", second);
    send_to(second, PIPELINE_BACKGROUND);
    rig_integers(PIPELINE_BACKGROUND, (const int64_t[]){-2}, 1);
    int reason = 0;
    CHECK_EQ_INT(rig_losses(LOSS_EVENTS, &reason), 1);
    CHECK_EQ_INT(reason, REDLATCH_REASON_MISSING);
    CHECK_EQ_INT(rig_release("a", 1)->status, REDLATCH_LOST);
    RIG_CLOSE();
}

static void a_renewal_under_way_is_redirected(void) {
    rig_open_cluster();
    struct hold *hold = rig_grant("a", 1);
    rig_pass(RIG_LEASE_MS / 3 * MILLISECOND);
    struct command *batch = send_to(first, PIPELINE_BACKGROUND);
    CHECK(line_of(batch, hold));
    move_now("a", second);
    CHECK(send_to(second, PIPELINE_BACKGROUND) == NULL); /* the renewal in flight is enough */
    CHECK(engine_redirected(&rig.engine, &first->pipelines[PIPELINE_BACKGROUND], rig.now));
    CHECK(send_to(second, PIPELINE_BACKGROUND) == batch);
    rig_integers(PIPELINE_BACKGROUND, (const int64_t[]){1}, 1);
    CHECK_EQ_INT(hold->deadline, lease_deadline(rig.now, RIG_LEASE_MS));
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_renewal_that_nodes_do_not_agree_about_is_repeated(void) {
    rig_open_cluster();
    struct hold *hold = rig_grant("a", 1);
    int64_t deadline = hold->deadline;
    rig_pass(RIG_LEASE_MS / 3 * MILLISECOND);
    send_to(first, PIPELINE_BACKGROUND);
    rig_error(PIPELINE_BACKGROUND, "MOVED 1 127.0.0.1:7001");
    CHECK_EQ_INT(hold->deadline, deadline);
    rig_pass(100 * MILLISECOND);
    CHECK(line_of(send_to(first, PIPELINE_BACKGROUND), hold));
    rig_integers(PIPELINE_BACKGROUND, (const int64_t[]){1}, 1);
    CHECK(hold->deadline > deadline);
    rig_end("a", 1);
    RIG_CLOSE();
}

/* The names of a slot that migrates are on two nodes, which both refuse to renew them together. */
static void names_on_two_nodes_are_renewed_by_themselves(void) {
    rig_open_cluster();
    struct hold *holds[] = {rig_grant("{y}a", 1), rig_grant("{y}b", 1), rig_grant("{x}", 1), rig_grant("{x}b", 1)};
    rig_pass(RIG_LEASE_MS / 3 * MILLISECOND);
    struct command *batch = send_to(first, PIPELINE_BACKGROUND);
    CHECK(batch->batch_count == 2 && line_of(batch, holds[0]) && line_of(batch, holds[1]));
    rig_error(PIPELINE_BACKGROUND, "TRYAGAIN Multiple keys request during rehashing of slot");
    for (int round = 0; round < 5; round++) {
        rig_pass(round == 0 ? 0 : RIG_LEASE_MS / 3 * MILLISECOND);
        int alone = 0;
        while ((batch = send_to(first, PIPELINE_BACKGROUND)) != NULL) {
            bool apart = line_of(batch, holds[0]) || line_of(batch, holds[1]);
            CHECK(batch->batch_count == 2 || (apart && batch->batch_count == 1));
            alone += batch->batch_count == 1;
            rig_integers(PIPELINE_BACKGROUND, (const int64_t[]){1, 1}, batch->batch_count);
        }
        CHECK(round == 3 || alone == (round < 3 ? 2 : 0)); /* together again, a lease after the error reply */
    }
    rig_drain_background();
    for (int i = 0; i < 4; i++) {
        rig_end((const char *[]){"{y}a", "{y}b", "{x}", "{x}b"}[i], 1);
    }
    RIG_CLOSE();
}

static void a_renewal_in_doubt_is_followed_by_one_to_the_new_server(void) {
    rig_open_cluster();
    struct hold *hold = rig_grant("a", 1);
    rig_pass(RIG_LEASE_MS / 3 * MILLISECOND);
    send_to(first, PIPELINE_BACKGROUND);
    rig_lost(PIPELINE_BACKGROUND);
    move_now("a", second);
    engine_reroute(&rig.engine, first, rig.now);
    rig_pass(0);
    CHECK(line_of(send_to(second, PIPELINE_BACKGROUND), hold));
    rig_integers(PIPELINE_BACKGROUND, (const int64_t[]){1}, 1);
    rig_end("a", 1);
    RIG_CLOSE();
}

enum { NAMES = 40 };

static const char *name_of(int number) {
    static char name[20];
    snprintf(name, sizeof name, "{%d}%d", number / 2, number); /* two of each slot */
    return name;
}

/* Also when more slots are due than the engine gathers batches at a time, or than the pool has batches. */
static void a_batch_has_names_of_one_slot(void) {
    struct hold *holds[NAMES];
    int64_t deadlines[NAMES];
    int renewed = 0;
    int batches = 0;
    rig_open_cluster();
    for (int i = 0; i < NAMES; i++) {
        holds[i] = rig_grant(name_of(i), 1);
        deadlines[i] = holds[i]->deadline;
    }
    rig_pass(RIG_LEASE_MS / 3 * MILLISECOND);
    for (int turn = 0; turn < 10; turn++) {
        struct command *batch;
        while ((batch = rig_send(PIPELINE_BACKGROUND)) != NULL) {
            int64_t left[NAMES];
            CHECK(batch->batch_count > 0 && batch->batch_count <= 2);
            for (uint32_t i = 0; i < batch->batch_count; i++) {
                CHECK_EQ_INT(batch->batch[i].name->slot, batch->batch[0].name->slot);
                left[i] = 1;
                renewed++;
            }
            batches++;
            rig_integers(PIPELINE_BACKGROUND, left, batch->batch_count);
        }
        rig_pass(20 * MILLISECOND);
    }
    CHECK(renewed >= NAMES);
    CHECK(batches <= NAMES * 3 / 4); /* most batches have two */
    for (int i = 0; i < NAMES; i++) {
        CHECK(holds[i]->deadline > deadlines[i]);
        rig_end(name_of(i), 1);
    }
    RIG_CLOSE();
}

/* ------------------------------------------------------------------------------------------------------- waiters -- */

static void the_foremost_waiter_rechecks_at_the_new_server(void) {
    rig_open_cluster();
    struct call *moves = parked("a", 1);
    struct call *behind = rig_acquire("a", 2);
    struct call *stays = parked("stays", 1);
    move_now("a", second);
    CHECK(send_to(first, PIPELINE) == NULL);
    CHECK(send_to(second, PIPELINE) == moves->operation->command);
    CHECK(send_to(second, PIPELINE) == NULL);
    CHECK_EQ_INT(behind->operation->phase, PHASE_QUEUED);
    CHECK_EQ_INT(stays->operation->phase, PHASE_PARKED);
    rig_integer(PIPELINE, 60000);
    CHECK_EQ_INT(rig_subscriptions(), 1); /* a message may have been missed before that */
    CHECK(send_to(second, PIPELINE) == moves->operation->command);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(moves->status, REDLATCH_OK);
    rig_abort(behind, REDLATCH_TIMEOUT);
    rig_abort(stays, REDLATCH_TIMEOUT);
    rig.at = second;
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_waiter_that_pauses_rechecks_at_once(void) {
    rig_open_cluster();
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    rig_error(PIPELINE, "LOADING Redis is loading the dataset in memory");
    CHECK_EQ_INT(call->operation->phase, PHASE_PAUSED);
    move_now("a", second);
    CHECK(send_to(second, PIPELINE) != NULL);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

static void a_watch_rechecks_at_the_new_server(void) {
    rig_open_cluster();
    struct call *call = rig_call(OPERATION_WATCH, "a", 1);
    rig_start(call);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 60000);
    CHECK_EQ_INT(call->operation->phase, PHASE_PARKED);
    move_now("a", second);
    struct command *command = send_to(second, PIPELINE);
    CHECK(command && command->kind == COMMAND_WATCH);
    rig_integer(PIPELINE, -2);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    RIG_CLOSE();
}

/* A command that was held back for too long is refused, whichever its server. */
static void commands_are_held_back_at_each_server(void) {
    rig_open_cluster();
    rig.engine.settings.min_replicas = 1;
    rig.engine.settings.replica_timeout_ms = 1000;
    rig_name("{x}a");
    move_now("{x}a", second);
    struct call *call = rig_try("{x}a", 1);
    struct call *late = rig_try("{x}b", 1);
    struct call *elsewhere = rig_try("elsewhere", 1);
    CHECK(send_to(second, PIPELINE) == call->operation->command && send_to(second, PIPELINE) == NULL);
    CHECK(send_to(first, PIPELINE) == elsewhere->operation->command); /* its pipeline is another one */
    engine_hold_back(&rig.engine, &second->pipelines[PIPELINE], rig.now);
    rig_pass(SECOND);
    rig.at = second;
    rig_error(PIPELINE, "OOM command not allowed");
    engine_refuse_late(&rig.engine, first, rig.now);
    rig_turn();
    CHECK(!late->done);
    engine_refuse_late(&rig.engine, second, rig.now);
    rig_turn();
    CHECK_EQ_INT(late->status, REDLATCH_NOT_REPLICATED);
    rig.at = first;
    rig_error(PIPELINE, "OOM command not allowed");
    CHECK_EQ_INT(elsewhere->status, REDLATCH_SERVER_OUT_OF_MEMORY);
    RIG_CLOSE();
}

/* ------------------------------------------------------------------------------------------------------ channels -- */

/* A server sends a message or a confirmation about a subscription's channel. Returns whether the client wants that
 * channel from that server. */
static bool receive(const struct server *server, enum pubsub_reply what, const struct subscription *subscription) {
    char channel[CHANNEL_SIZE_MAX];
    size_t size = channel_text(&rig.engine, subscription, channel);
    bool wanted = engine_pubsub_received(&rig.engine, server, what, channel, size, 0, rig.now);
    rig_turn();
    return wanted;
}

static struct subscription *channel_of(const char *name) {
    return &rig_wait_queue(name)->subscription;
}

/* Returns the next channel that a driver is to subscribe to or to leave at a server. */
static struct subscription *next_change(struct server *server) {
    struct list_link *link = list_pop(&server->subscription_changes);
    return link ? container_of(link, struct subscription, link) : NULL;
}

static void check_wanted(const struct subscription *subscription, const struct server *server) {
    CHECK_EQ_INT(subscription->state, SUBSCRIPTION_WANTED);
    CHECK(subscription->server == server);
    CHECK_EQ_INT(rig.engine.subscriptions, 0);
    CHECK_EQ_INT(first->subscriptions, 0);
    CHECK_EQ_INT(second->subscriptions, 0);
}

/* Answers all commands at the second server, and aborts a waiter. */
static void give_up(struct call *call) {
    rig.at = second;
    while (rig_send(PIPELINE)) {
        rig_integer(PIPELINE, 60000);
    }
    rig_abort(call, REDLATCH_TIMEOUT);
}

static void an_active_channel_is_requested_of_the_new_server(void) {
    rig_open_cluster();
    struct call *call = parked("a", 1);
    struct subscription *channel = channel_of("a");
    CHECK_EQ_INT(channel->state, SUBSCRIPTION_ACTIVE);
    CHECK_EQ_INT(first->subscriptions, 1);
    move_now("a", second);
    check_wanted(channel, second);
    CHECK(next_change(first) == NULL);
    receive(first, PUBSUB_SUBSCRIBED, channel); /* late confirmations */
    receive(first, PUBSUB_UNSUBSCRIBED, channel);
    engine_subscriptions_lost(&rig.engine, first, rig.now);
    check_wanted(channel, second);
    CHECK(next_change(second) == channel);
    receive(second, PUBSUB_SUBSCRIBED, channel);
    CHECK_EQ_INT(channel->state, SUBSCRIPTION_ACTIVE);
    CHECK_EQ_INT(second->subscriptions, 1);
    engine_subscriptions_lost(&rig.engine, first, rig.now);
    CHECK_EQ_INT(channel->state, SUBSCRIPTION_ACTIVE);
    engine_subscriptions_lost(&rig.engine, second, rig.now);
    check_wanted(channel, second);
    CHECK(next_change(second) == channel);
    receive(second, PUBSUB_SUBSCRIBED, channel);
    give_up(call);
    RIG_CLOSE();
}

/* A cluster passes each message on to all its nodes. */
static void a_message_counts_wherever_it_is_received(void) {
    rig_open_cluster();
    struct call *call = parked("a", 1);
    move_now("a", second);
    CHECK(send_to(second, PIPELINE) != NULL);
    rig_integer(PIPELINE, 60000);
    CHECK_EQ_INT(call->operation->phase, PHASE_PARKED);
    CHECK(!receive(first, PUBSUB_MESSAGE, channel_of("a"))); /* not wanted: the driver unsubscribes there */
    CHECK(send_to(second, PIPELINE) != NULL);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

/* Once without and once with a SUBSCRIBE that was sent to the old server. */
static void a_wanted_channel_is_requested_of_the_new_server(void) {
    for (int sent = 0; sent <= 1; sent++) {
        struct list unanswered;
        list_init(&unanswered);
        rig_open_cluster();
        struct call *call = rig_acquire("a", 1);
        rig_send(PIPELINE);
        rig_integer(PIPELINE, 60000);
        struct subscription *channel = channel_of("a");
        if (sent) {
            CHECK(next_change(first) == channel);
            list_append(&unanswered, &channel->sent);
        }
        move_now("a", second);
        CHECK(list_is_empty(&unanswered)); /* an error of the old server is not about this channel */
        CHECK(next_change(first) == NULL);
        check_wanted(channel, second);
        receive(first, PUBSUB_SUBSCRIBED, channel);
        check_wanted(channel, second);
        move_now("a", first); /* and back */
        CHECK(next_change(second) == NULL);
        check_wanted(channel, first);
        move_now("a", second);
        CHECK(next_change(second) == channel && next_change(second) == NULL);
        receive(second, PUBSUB_SUBSCRIBED, channel);
        CHECK_EQ_INT(channel->state, SUBSCRIPTION_ACTIVE);
        give_up(call);
        rig.at = first;
        CHECK(rig_send(PIPELINE) == NULL);
        RIG_CLOSE();
    }
}

/* Two servers may redirect a channel to each other. The first move to each of them is followed at once. */
static void channels_that_move_again_and_again_are_requested_after_pauses(void) {
    rig_open_cluster();
    struct call *call = parked("a", 1);
    move_now("a", second);
    CHECK(second->changes_from <= rig.now);
    move_now("a", first);
    CHECK(first->changes_from <= rig.now);
    int64_t moved_at = rig.now;
    move_now("a", second);
    CHECK_EQ_INT(second->changes_from, moved_at + 50 * MILLISECOND);
    CHECK(next_change(second) == channel_of("a"));
    rig_pass(10 * MILLISECOND);
    move_now("a", first);
    move_now("a", second);
    CHECK_EQ_INT(second->changes_from, moved_at + 50 * MILLISECOND); /* a further move does not delay it */
    rig_pass(SECOND);
    move_now("a", first);
    CHECK(first->changes_from <= rig.now);
    move_now("a", second);
    receive(second, PUBSUB_SUBSCRIBED, channel_of("a"));
    give_up(call);
    RIG_CLOSE();
}

/* The new server may serve a name that moves once. If a name moves back and forth, the servers do not agree on it, and
 * the waiter keeps its pause. */
static void a_paused_waiter_rechecks_at_once_but_not_again_and_again(void) {
    rig_open_cluster();
    struct call *call = rig_acquire("a", 1);
    send_to(first, PIPELINE);
    rig_error(PIPELINE, "CLUSTERDOWN The cluster is down");
    CHECK_EQ_INT(call->operation->phase, PHASE_PAUSED);
    move_now("a", second);
    CHECK(send_to(second, PIPELINE) != NULL);
    rig_error(PIPELINE, "CLUSTERDOWN The cluster is down");
    int64_t recheck_at = call->operation->recheck_at;
    CHECK(recheck_at > rig.now);
    move_now("a", first);
    move_now("a", second);
    CHECK_EQ_INT(call->operation->phase, PHASE_PAUSED);
    CHECK_EQ_INT(call->operation->recheck_at, recheck_at);
    rig_pass(recheck_at - rig.now);
    CHECK(send_to(second, PIPELINE) != NULL);
    rig_nil(PIPELINE);
    CHECK_EQ_INT(call->status, REDLATCH_OK);
    rig_end("a", 1);
    RIG_CLOSE();
}

/* Opens the rig. Returns a channel that is being unsubscribed from, because its waiter has gone. */
static struct subscription *leaving(void) {
    rig_open_cluster();
    rig_abort(parked("a", 1), REDLATCH_TIMEOUT);
    rig_pass(RIG_LINGER_MS * MILLISECOND);
    CHECK_EQ_INT(channel_of("a")->state, SUBSCRIPTION_LEAVING);
    return channel_of("a");
}

static void a_channel_that_is_left_ends(void) {
    for (int sent = 0; sent <= 1; sent++) {
        const struct subscription *channel = leaving();
        CHECK(!sent || next_change(first) == channel);
        move_now("a", second);
        CHECK(rig_wait_queue("a") == NULL);
        CHECK(next_change(first) == NULL && next_change(second) == NULL);
        RIG_CLOSE();
    }
}

static void a_channel_that_is_left_and_wanted_again_is_requested_of_the_new_server(void) {
    struct subscription *channel = leaving();
    CHECK(next_change(first) == channel);
    struct call *call = rig_acquire("a", 2);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 60000);
    CHECK_EQ_INT(channel->state, SUBSCRIPTION_LEAVING);
    move_now("a", second);
    check_wanted(channel, second);
    receive(first, PUBSUB_UNSUBSCRIBED, channel); /* the UNSUBSCRIBE is confirmed now */
    check_wanted(channel, second);
    CHECK(next_change(second) == channel);
    receive(second, PUBSUB_SUBSCRIBED, channel);
    give_up(call);
    rig_pass(RIG_LINGER_MS * MILLISECOND);
    CHECK(next_change(second) == channel);
    CHECK_EQ_INT(channel->state, SUBSCRIPTION_LEAVING);
    receive(first, PUBSUB_UNSUBSCRIBED, channel);
    CHECK_EQ_INT(channel->state, SUBSCRIPTION_LEAVING);
    receive(second, PUBSUB_UNSUBSCRIBED, channel);
    CHECK(rig_wait_queue("a") == NULL);
    RIG_CLOSE();
}

/* All nodes of a cluster are assumed to have the same access rules. */
static void waiters_of_a_denied_channel_go_on_polling(void) {
    rig_open_cluster();
    struct call *call = rig_acquire("a", 1);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 60000);
    engine_subscription_denied(&rig.engine, next_change(first), rig.now);
    rig_send(PIPELINE);
    rig_integer(PIPELINE, 60000);
    move_now("a", second);
    CHECK_EQ_INT(channel_of("a")->state, SUBSCRIPTION_DENIED);
    CHECK(next_change(first) == NULL && next_change(second) == NULL);
    for (int i = 0; i < 3; i++) {
        CHECK(send_to(second, PIPELINE) != NULL);
        rig_integer(PIPELINE, 60000);
        rig_pass(250 * MILLISECOND);
    }
    give_up(call);
    CHECK(rig_wait_queue("a") == NULL);
    RIG_CLOSE();
}

/* Each waiter of a fair lock has a channel. The channel of a waiter that has gone ends with the move. */
static void own_channels_of_waiters_move(void) {
    struct call *waiters[5];
    rig_open_cluster();
    rig.lock_kind = REDLATCH_FAIR;
    held_with_waiters(waiters, 4);
    struct wait_queue *queue = rig_wait_queue("a");
    struct subscription *channels[5];
    for (int owner = 2; owner <= 4; owner++) {
        channels[owner] = waiters[owner]->operation->wake_channel;
        CHECK_EQ_INT(channels[owner]->state, SUBSCRIPTION_ACTIVE);
    }
    int32_t count = first->subscriptions;
    CHECK(count >= 3 && rig.engine.subscriptions == count);
    rig_abort(waiters[4], REDLATCH_CANCELLED);
    while (rig_send(PIPELINE)) {
        rig_integer(PIPELINE, 0);
    }
    CHECK_EQ_INT(channels[4]->state, SUBSCRIPTION_ACTIVE); /* until its room in the array is needed */
    move_now("a", second);
    CHECK_EQ_INT(channels[4]->state, SUBSCRIPTION_NONE);
    check_wanted(channels[2], second);
    check_wanted(channels[3], second);
    CHECK(waiters[2]->operation->wake_channel == channels[2] && rig_wait_queue("a") == queue);
    CHECK(next_change(first) == NULL);
    rig.at = second;
    CHECK_EQ_INT(rig_subscriptions(), count - 1);
    CHECK_EQ_INT(second->subscriptions, count - 1);
    while (rig_send(PIPELINE)) {
        queued(30000, "2");
    }
    receive(second, PUBSUB_MESSAGE, channels[2]); /* wakes the waiter */
    CHECK(waiters[2]->operation->woken || waiters[2]->operation->phase == PHASE_REQUESTING);
    while (rig_send(PIPELINE)) {
        queued(30000, "2");
    }
    everybody_leaves(waiters, 3);
}

static void a_broken_engine_moves_nothing(void) {
    rig_open_cluster();
    struct call *call = rig_acquire("a", 1);
    rig.engine.broken = "of the test";
    move_now("a", second);
    engine_reroute(&rig.engine, first, rig.now);
    CHECK(rig_name("a")->server == first);
    CHECK(!engine_redirected(&rig.engine, &first->pipelines[PIPELINE], rig.now));
    CHECK(!engine_redirected_to_importer(&rig.engine, &first->pipelines[PIPELINE], second, rig.now));
    CHECK(list_first(&first->pipelines[PIPELINE].unsent) == &call->operation->command->link);
    CHECK(list_is_empty(&second->pipelines[PIPELINE].unsent));
    rig.engine.broken = NULL;
    rig_send(PIPELINE);
    rig_nil(PIPELINE);
    rig_end("a", 1);
    RIG_CLOSE();
}

int main(void) {
    RUN(holds_are_verified_at_the_new_server);
    RUN(a_lease_of_the_new_server_is_believed);
    RUN(a_hold_that_the_new_server_has_not_is_lost);
    RUN(a_renewal_under_way_is_redirected);
    RUN(a_renewal_that_nodes_do_not_agree_about_is_repeated);
    RUN(names_on_two_nodes_are_renewed_by_themselves);
    RUN(a_renewal_in_doubt_is_followed_by_one_to_the_new_server);
    RUN(a_batch_has_names_of_one_slot);
    RUN(the_foremost_waiter_rechecks_at_the_new_server);
    RUN(a_waiter_that_pauses_rechecks_at_once);
    RUN(a_watch_rechecks_at_the_new_server);
    RUN(commands_are_held_back_at_each_server);
    RUN(an_active_channel_is_requested_of_the_new_server);
    RUN(a_message_counts_wherever_it_is_received);
    RUN(a_wanted_channel_is_requested_of_the_new_server);
    RUN(channels_that_move_again_and_again_are_requested_after_pauses);
    RUN(a_paused_waiter_rechecks_at_once_but_not_again_and_again);
    RUN(a_channel_that_is_left_ends);
    RUN(a_channel_that_is_left_and_wanted_again_is_requested_of_the_new_server);
    RUN(waiters_of_a_denied_channel_go_on_polling);
    RUN(own_channels_of_waiters_move);
    RUN(a_broken_engine_moves_nothing);
    return unit_done();
}
