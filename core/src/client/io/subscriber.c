/* The connection for messages. A lock has one channel, a fair lock has a few, however many wait for it. A channel is
 * subscribed to while anyone waits, and for the linger time. The background thread reads the connection. While it does
 * not stand, waiters recheck by the engine's timers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "subscriber.h"

#include <poll.h>
#include <string.h>

#include "cluster.h"
#include "error_reply.h"
#include "numbers.h"
#include "pipeline_io.h"
#include "routes.h"

/* A connection that was silent for this long is checked with PING. */
static const int64_t QUIET_LIMIT = 10 * SECOND;

/* The longest message. Names are shorter, and the text of a message is a number. */
enum { MESSAGE_SIZE_MAX = 1 << 20 };

static const int64_t FLOOD_PAUSE = MILLISECOND;

static bool subscriber_wanted(const struct node *node) {
    return !list_is_empty(&node->server.subscription_changes) || node->server.subscriptions > 0;
}

struct subscription *subscriber_unanswered(const struct subscriber *subscriber, struct list_link *link) {
    bool none = link == &subscriber->ping || link == &subscriber->farewell;
    return none ? NULL : container_of(link, struct subscription, sent);
}

bool subscriber_ask(const struct node *node, struct connection *connection, const struct subscription *subscription) {
    char channel[CHANNEL_SIZE_MAX];
    bool leave = subscription->state == SUBSCRIPTION_LEAVING;
    bool sharded = shards_messages_of(&node->server, subscription->queue->resource);
    const char *verb = leave ? "SUNSUBSCRIBE" : "SSUBSCRIBE";
    const char *arguments[] = {sharded ? verb : verb + 1, channel};
    const size_t sizes[] = {strlen(arguments[0]), channel_text(&node->client->engine, subscription, channel)};
    return output_arguments(&connection->output, 2, arguments, sizes);
}

/* Sends SUBSCRIBE or UNSUBSCRIBE, and takes the change off the list. Returns false if there was no memory. */
static bool send_change(struct node *node, struct subscription *subscription, int64_t now) {
    char channel[CHANNEL_SIZE_MAX];
    size_t size = channel_text(&node->client->engine, subscription, channel);
    bool leave = subscription->state == SUBSCRIPTION_LEAVING;
    if (leave && engine_needs_channel(&node->client->engine, subscription, channel, size)) {
        list_remove(&subscription->link);
        engine_unsubscribed(&node->client->engine, subscription, now);
        return true;
    }
    if (!subscriber_ask(node, &node->subscriber.connection, subscription)) {
        return false;
    }
    list_remove(&subscription->link);
    list_append(&node->subscriber.unanswered, &subscription->sent);
    return true;
}

void subscriber_begins(struct subscriber *subscriber, int64_t now) {
    subscriber->received_at = now;
    subscriber->pinged_at = 0;
    subscriber->read_at = 0;
}

static void broken(struct node *node, const char *why, int64_t now) {
    connection_fail(&node->subscriber.connection, why, now);
    list_remove(&node->subscriber.ping);
    list_remove(&node->subscriber.farewell);
    engine_subscriptions_lost(&node->client->engine, &node->server, now);
}

/* Gives up the connection to a node that takes no subscriptions now. Its error replies do not show that the connection
 * works: the next one is made after a pause. */
static void not_taken(struct node *node, const char *why, int64_t now) {
    node->subscriber.connection.served = false;
    broken(node, why, now);
}

static void write_out(struct node *node, int64_t now) {
    if (connection_write(&node->subscriber.connection) != REDLATCH_OK) {
        broken(node, "the connection broke", now);
    }
}

/* Sends what is left of earlier commands; and the changes of subscriptions, unless the connection is being replaced. */
void subscriber_changes(struct node *node, int64_t now) {
    struct subscriber *subscriber = &node->subscriber;
    bool is_replaced = subscriber->next.connection.state == CONNECTION_READY; /* by a connection that is subscribed to
                                                                                 the same channels */
    subscriber->held = false;
    if (subscriber->connection.state != CONNECTION_READY || subscriber->moves) {
        return;
    }
    struct list_link *link = is_replaced ? NULL : list_first(&node->server.subscription_changes);
    subscriber->held = link && now < node->server.changes_from;
    while (link && !subscriber->held && send_change(node, container_of(link, struct subscription, link), now)) {
        link = list_first(&node->server.subscription_changes);
    }
    write_out(node, now);
}

/* Returns the number in a message (wire format 1.6). A text that is no number counts as 0, which says the least. */
static int64_t message_number(const struct reply *payload) {
    int64_t number;
    return server_number(payload->text, payload->size, &number) ? number : 0;
}

/* Returns whether a SUBSCRIBE or UNSUBSCRIBE of a channel of the slot is unanswered here. */
static bool asks_for_slot(const struct subscriber *subscriber, uint16_t slot) {
    for (struct list_link *link = list_first(&subscriber->unanswered); link;
         link = list_next(&subscriber->unanswered, link)) {
        const struct subscription *subscription = subscriber_unanswered(subscriber, link);
        if (subscription && subscription->queue->resource->slot == slot) {
            return true;
        }
    }
    return false;
}

/* Handles a transient error of a node of a cluster; returns false for another error. After a redirection, the channels
 * of the slot are requested from the other node. If the node redirects to itself, or takes no subscriptions now, the
 * connection is given up. Then all channels are requested again on the next one, after the pause that follows a
 * failure. */
static bool passes(struct node *node, const struct reply *reply, int64_t now) {
    uint16_t slot;
    if (cluster_subscription_moved(node, reply, &slot, now)) {
        io_follow_routes(node->client, now);
        if (asks_for_slot(&node->subscriber, slot)) {
            not_taken(node, "the node says that a slot is at another one, and that this is itself", now);
        }
        return true;
    }
    if (!is_redirection(reply->text, reply->size) && !error_reply_of(reply->text, reply->size).transient) {
        return false;
    }
    not_taken(node, "the node takes no subscriptions now", now);
    return true;
}

/* An error is about the oldest unanswered command, because the server replies in order. */
static void error_received(struct node *node, const struct reply *reply, int64_t now) {
    if (node->client->cluster && passes(node, reply, now)) {
        return;
    }
    struct list_link *link = list_pop(&node->subscriber.unanswered);
    struct subscription *subscription = link ? subscriber_unanswered(&node->subscriber, link) : NULL;
    if (subscription) {
        engine_subscription_denied(&node->client->engine, subscription, now);
    }
}

static bool is_text(const struct reply *reply, const char *kind) {
    return reply->kind == REPLY_STRING && reply->size == strlen(kind) && memcmp(reply->text, kind, reply->size) == 0;
}

static bool is_about(const struct reply *reply, const char *kind) {
    return reply->count > 0 && is_text(reply->elements, kind);
}

bool subscriber_is_message(const struct reply *reply) {
    return is_about(reply, "message") || is_about(reply, "smessage");
}

bool subscriber_is_loss(const struct reply *reply) {
    return is_about(reply, "sunsubscribe");
}

void subscriber_received(struct node *node, const struct reply *reply, int64_t now) {
    struct engine *engine = &node->client->engine;
    struct subscriber *subscriber = &node->subscriber;
    if (reply->kind == REPLY_ERROR) {
        error_received(node, reply, now);
        return;
    }
    if (is_about(reply, "unsubscribe") && list_first(&subscriber->unanswered) == &subscriber->farewell) {
        list_remove(&subscriber->farewell);
    }
    if (is_text(reply, "PONG") || is_about(reply, "pong")) {
        list_remove(&subscriber->ping);
        return;
    }
    static const struct {
        const char *kind;
        enum pubsub_reply what;
    } kinds[] = {{"message", PUBSUB_MESSAGE},          {"smessage", PUBSUB_MESSAGE},
                 {"subscribe", PUBSUB_SUBSCRIBED},     {"ssubscribe", PUBSUB_SUBSCRIBED},
                 {"unsubscribe", PUBSUB_UNSUBSCRIBED}, {"sunsubscribe", PUBSUB_UNSUBSCRIBED}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (is_about(reply, kinds[i].kind) && reply->count > 1) {
            const struct reply *channel = &reply->elements[1];
            bool has_payload = reply->count > 2 && reply->elements[2].kind == REPLY_STRING;
            int64_t number = has_payload ? message_number(&reply->elements[2]) : 0;
            bool wanted = engine_pubsub_received(engine, &node->server, kinds[i].what, channel->text, channel->size,
                                                 number, now);
            if (!wanted && is_about(reply, "message") && node->client->cluster && channel->kind == REPLY_STRING &&
                !list_is_linked(&subscriber->farewell)) {
                cluster_leave_channel(node, channel->text, channel->size);
            }
            return;
        }
    }
}

/* Reads STAGING_SIZE bytes at most. If there are more, other work comes first, and the sender has to slow down. A
 * message of a lock has about a hundred bytes. */
static void take_messages(struct node *node, int64_t now) {
    struct subscriber *subscriber = &node->subscriber;
    struct connection *connection = &subscriber->connection;
    static const struct reply_bounds bounds = {.size_max = MESSAGE_SIZE_MAX};
    char bytes[STAGING_SIZE];
    ssize_t got = connection_read(connection, bytes, sizeof bytes);
    if (got < 0) {
        broken(node, "the server closed the connection", now);
        return;
    }
    subscriber->read_at = got == sizeof bytes ? now + FLOOD_PAUSE : 0;
    int status = got > 0 ? connection_feed(connection, bytes, (size_t)got) : REDLATCH_OK;
    while (status == REDLATCH_OK && connection->state == CONNECTION_READY &&
           connection_next_reply(connection, &bounds, &subscriber->holder, &status)) {
        subscriber->received_at = now;
        subscriber->pinged_at = 0; /* any message shows that the server is there */
        subscriber_received(node, &subscriber->holder.reply, now);
    }
    if (status != REDLATCH_OK) {
        static const char other[] = "what the server sends is not the Redis protocol, or longer than any message";
        broken(node, connection_why(connection, other), now);
    }
}

bool subscriber_ping(struct node *node, int64_t now) {
    struct subscriber *subscriber = &node->subscriber;
    static const char *const arguments[] = {"PING"};
    static const size_t sizes[] = {4};
    if (!output_arguments(&subscriber->connection.output, 1, arguments, sizes)) {
        return false;
    }
    subscriber->pinged_at = now;
    list_remove(&subscriber->ping);
    list_append(&subscriber->unanswered, &subscriber->ping);
    subscriber->received_at = now;
    write_out(node, now);
    return true;
}

/* A half-open connection shows neither messages nor errors, so a silent one is checked with PING. */
static void check_peer(struct node *node, int64_t now) {
    const struct subscriber *subscriber = &node->subscriber;
    if (subscriber->pinged_at && now - subscriber->pinged_at >= node->client->connection_settings.dead_peer_timeout) {
        broken(node, "no reply for too long", now);
    } else if (!subscriber->pinged_at && now - subscriber->received_at >= QUIET_LIMIT && subscriber_wanted(node)) {
        subscriber_ping(node, now);
    }
}

bool subscriber_find_addresses(const struct node *node, struct connection *connection, int64_t now) {
    if (connection->addresses.count > 0) {
        return true;
    }
    for (int i = 0; i < PIPELINE_COUNT; i++) { /* a command was sent before, so a pipeline has looked the name up */
        const struct connection *other = &node->ios[i].connection;
        if (other->addresses.count > 0) {
            connection->addresses = other->addresses;
            connection->address = other->address;
            return true;
        }
    }
    if (!current_server_is_searched(&node->current) &&
        resolve_at_once(connection->settings->uri, &connection->addresses)) {
        return true;
    }
    connection->retry_at = now + SECOND / 10;
    return false;
}

/* Called when the connection stands. It may show that the client has to move, or lead to a server that the client has
 * left. */
static void became_ready(struct node *node, int64_t now) {
    struct subscriber *subscriber = &node->subscriber;
    enum server_change change = current_server_greeted(node, &subscriber->connection, now);
    if (change == SERVER_STALE || change == SERVER_ALTERNATES) {
        connection_reject(&subscriber->connection, "the client is on another server", now);
        connection_forget_addresses(&subscriber->connection);
        return;
    }
    if (!cluster_greeted(node, &subscriber->connection, now)) {
        return;
    }
    if (change == SERVER_MOVED) {
        io_move_all(node, NULL, now);
        subscriber->moves = false; /* it leads to the new server */
    }
    authentication_succeeded(node->client, &subscriber->connection);
    node->client->engine.stats.reconnects += subscriber->connection.generation > 1;
    subscriber_begins(subscriber, now);
}

/* Opens the connection when it is wanted, goes on with opening it, receives messages, sends changes. */
void subscriber_step(struct node *node, int64_t now) {
    struct connection *connection = &node->subscriber.connection;
    if (node->subscriber.moves) {
        node->subscriber.moves = false;
        broken(node, "the client moved to another server", now);
        connection->retry_at = now;
    }
    if (connection->state == CONNECTION_READY && now >= node->subscriber.read_at) {
        take_messages(node, now);
    }
    if (connection->state == CONNECTION_READY) {
        check_peer(node, now);
    }
    if (connection->state == CONNECTION_CLOSED && subscriber_wanted(node) && now >= connection->retry_at &&
        subscriber_find_addresses(node, connection, now)) {
        connection_open(connection, now);
    }
    if (connection->state == CONNECTION_OPENING || connection->state == CONNECTION_GREETING) {
        if (connection_advance(connection, now) == REDLATCH_OK) {
            became_ready(node, now);
        } else if (authentication_failed(node->client, connection)) {
            connection->retry_at = now;
        }
    }
    subscriber_changes(node, now);
}

int64_t subscriber_next_time(const struct node *node) {
    const struct subscriber *subscriber = &node->subscriber;
    const struct connection *connection = &subscriber->connection;
    if (subscriber->moves) {
        return 0;
    }
    if (connection->state == CONNECTION_CLOSED) {
        return subscriber_wanted(node) ? connection->retry_at : NEVER;
    }
    if (connection->state != CONNECTION_READY) {
        return connection->deadline;
    }
    if (subscriber->read_at) {
        return subscriber->read_at;
    }
    int64_t check = subscriber_wanted(node) ? subscriber->received_at + QUIET_LIMIT : NEVER;
    if (subscriber->pinged_at) {
        check = subscriber->pinged_at + node->client->connection_settings.dead_peer_timeout;
    }
    return subscriber->held && node->server.changes_from < check ? node->server.changes_from : check;
}

/* Returns what to poll for. During the pause of a flood that is not POLLIN. */
short subscriber_events(const struct node *node) {
    const struct subscriber *subscriber = &node->subscriber;
    bool pauses = subscriber->connection.state == CONNECTION_READY && subscriber->read_at;
    return (short)(connection_events(&subscriber->connection) & (pauses ? POLLOUT : POLLIN | POLLOUT));
}

/* Returns whether the background thread has to step the connection before it wakes by itself. */
bool subscriber_needs_background(const struct node *node) {
    bool changes = node->subscriber.connection.state == CONNECTION_READY &&
                   !list_is_empty(&node->server.subscription_changes) && !node->subscriber.held;
    return changes || subscriber_next_time(node) < node->client->background_wakes_at;
}
