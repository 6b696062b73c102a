/* Replaces the connection for messages by one with new credentials.
 * SPDX-License-Identifier: Apache-2.0 */
#include "successor.h"

#include "client.h"
#include "error_reply.h"
#include "pipeline_io.h"
#include "planted.h"
#include "subscriber.h"

/* The longest message. */
enum { MESSAGE_SIZE_MAX = 1 << 20 };

/* Returns whether a successor is needed: the connection stands, but was greeted with other credentials than the client
 * has now. */
static bool is_wanted(const struct node *node) {
    const struct subscriber *subscriber = &node->subscriber;
    const struct credentials *credentials = &node->client->credentials;
    return subscriber->connection.state == CONNECTION_READY && !subscriber->moves &&
           !PLANTED(FAULT_MESSAGES_KEEP_PASSWORD) && credentials_are_given(credentials) &&
           subscriber->connection.credentials != credentials->version;
}

static bool is_refused(const struct node *node) {
    uint32_t refused = node->subscriber.next.refused;
    return refused == node->client->credentials.version || (refused && PLANTED(FAULT_REFUSED_FOR_EVER));
}

static void forget_subscriptions(struct successor *next) {
    while (list_pop(&next->requested)) {
    }
    next->has_requested = false;
    next->has_pinged = false;
}

static void give_up(struct successor *next, const char *why, int64_t now) {
    forget_subscriptions(next);
    connection_fail(&next->connection, why, now);
}

/* Opens the successor's connection, to the address of the old one; after a move, to those of the pipelines. */
static void open_connection(struct node *node, int64_t now) {
    const struct connection *old = &node->subscriber.connection;
    struct connection *connection = &node->subscriber.next.connection;
    connection->addresses = old->addresses;
    connection->address = old->address;
    if (PLANTED(FAULT_OLD_CLOSED_FIRST)) {
        node->subscriber.moves = true;
    }
    if (subscriber_find_addresses(node, connection, now)) {
        connection_open(connection, now);
    }
}

static void greet(struct node *node, int64_t now) {
    struct successor *next = &node->subscriber.next;
    struct connection *connection = &next->connection;
    int status = connection_advance(connection, now);
    if (status == REDLATCH_OK) {
        enum server_change change = current_server_greeted(node, connection, now);
        if (change == SERVER_MOVED) {
            io_move_all(node, NULL, now); /* which ends this connection, too */
        } else if (change != SERVER_SAME) {
            connection_reject(connection, "the client is on another server", now);
        } else {
            authentication_succeeded(node->client, connection);
        }
    } else if (authentication_failed(node->client, connection)) {
        connection->retry_at = now;
    } else if (connection->refused) {
        next->refused = connection->credentials;
    }
}

/* Returns whether all changes that were requested on the old connection are confirmed. */
static bool is_confirmed(const struct subscriber *subscriber) {
    for (struct list_link *link = list_first(&subscriber->unanswered); link;
         link = list_next(&subscriber->unanswered, link)) {
        if (subscriber_unanswered(subscriber, link)) {
            return false;
        }
    }
    return true;
}

static void request(struct node *node, int64_t now) {
    struct successor *next = &node->subscriber.next;
    engine_list_active(&node->client->engine, &node->server, &next->requested);
    next->has_requested = true;
    for (struct list_link *link = list_first(&next->requested); link; link = list_next(&next->requested, link)) {
        if (!subscriber_ask(node, &next->connection, container_of(link, struct subscription, sent))) {
            give_up(next, "out of memory", now);
            return;
        }
    }
}

static void received(struct node *node, const struct reply *reply, int64_t now) {
    struct successor *next = &node->subscriber.next;
    if (reply->kind == REPLY_ERROR) {
        struct list_link *link = list_pop(&next->requested);
        if (link && !is_redirection(reply->text, reply->size)) { /* else the old connection receives it, too */
            engine_subscription_denied(&node->client->engine, container_of(link, struct subscription, sent), now);
        }
    } else if (subscriber_is_message(reply)) {
        subscriber_received(node, reply, now);
    } else if (!subscriber_is_loss(reply)) {
        list_pop(&next->requested);
    }
}

static void take_messages(struct node *node, int64_t now) {
    struct successor *next = &node->subscriber.next;
    struct connection *connection = &next->connection;
    static const struct reply_bounds bounds = {.size_max = MESSAGE_SIZE_MAX};
    char bytes[STAGING_SIZE];
    ssize_t got = connection_read(connection, bytes, sizeof bytes);
    int status = got > 0 ? connection_feed(connection, bytes, (size_t)got) : REDLATCH_OK;
    while (status == REDLATCH_OK && connection_next_reply(connection, &bounds, &next->holder, &status)) {
        received(node, &next->holder.reply, now);
    }
    if (got < 0 || status != REDLATCH_OK) {
        give_up(next, connection_why(connection, "the connection broke"), now);
    }
}

/* Closes the old connection and puts the successor in its place. No message from before the successor's subscriptions
 * is on the way any more. */
static void replace_old(struct node *node, int64_t now) {
    struct subscriber *subscriber = &node->subscriber;
    struct successor *next = &subscriber->next;
    connection_close(&subscriber->connection);
    connection_free(&subscriber->connection);
    connection_replace(&subscriber->connection, &next->connection);
    list_remove(&subscriber->farewell); /* no reply to it can come any more */
    subscriber_begins(subscriber, now);
    forget_subscriptions(next);
    subscriber_changes(node, now);
}

/* Steps a successor that was greeted: subscribes, receives messages, takes the old connection's place. */
static void go_on(struct node *node, int64_t now) {
    struct subscriber *subscriber = &node->subscriber;
    struct successor *next = &subscriber->next;
    if (PLANTED(FAULT_SUCCESSOR_HEARS_LESS)) {
        replace_old(node, now);
        return;
    }
    if (!next->has_requested && is_confirmed(subscriber)) {
        request(node, now);
    }
    if (next->connection.state == CONNECTION_READY) {
        take_messages(node, now);
    }
    if (next->connection.state == CONNECTION_READY && connection_write(&next->connection) != REDLATCH_OK) {
        give_up(next, "the connection broke", now);
    }
    if (next->connection.state != CONNECTION_READY || !next->has_requested || !list_is_empty(&next->requested)) {
        return;
    }
    if (!next->has_pinged && !list_is_linked(&subscriber->ping)) {
        next->has_pinged = subscriber_ping(node, now);
    } else if (next->has_pinged && !list_is_linked(&subscriber->ping)) {
        replace_old(node, now);
    }
}

void successor_step(struct node *node, int64_t now) {
    struct successor *next = &node->subscriber.next;
    struct connection *connection = &next->connection;
    if (!is_wanted(node)) {
        if (connection->state != CONNECTION_CLOSED) {
            forget_subscriptions(next);
            connection_close(connection);
        }
        return;
    }
    if (connection->state == CONNECTION_CLOSED && !is_refused(node) && now >= connection->retry_at) {
        open_connection(node, now);
    }
    if (connection->state == CONNECTION_OPENING || connection->state == CONNECTION_GREETING) {
        greet(node, now);
    }
    if (connection->state == CONNECTION_READY && is_wanted(node)) {
        go_on(node, now);
    }
    if (connection->state == CONNECTION_READY && now >= connection->deadline) {
        give_up(next, "the channels were not confirmed before the connect timeout", now);
    }
}

int64_t successor_next_time(const struct node *node) {
    const struct connection *connection = &node->subscriber.next.connection;
    if (!is_wanted(node)) {
        return connection->state == CONNECTION_CLOSED ? NEVER : 0;
    }
    if (connection->state != CONNECTION_CLOSED) {
        return connection->deadline;
    }
    return is_refused(node) ? NEVER : connection->retry_at;
}
