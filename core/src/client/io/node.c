/* Sets up, closes and frees nodes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "node.h"

#include <stdio.h>
#include <string.h>

void node_init(struct node *node, struct client *client, const struct connection_settings *settings) {
    node->client = client;
    for (int i = 0; i < PIPELINE_COUNT; i++) {
        struct pipeline_io *io = &node->ios[i];
        io->client = client;
        io->node = node;
        io->pipeline = &node->server.pipelines[i];
        busy_poll_init(&io->busy_poll);
        connection_init(&io->connection, settings, false);
    }
    struct subscriber *subscriber = &node->subscriber;
    connection_init(&subscriber->connection, settings, true);
    connection_init(&subscriber->next.connection, settings, true);
    list_init(&subscriber->next.requested);
    list_init(&subscriber->unanswered);
}

void node_address(const struct node *node, char text[NODE_ADDRESS_SIZE]) {
    const struct client *client = node->client;
    const struct uri *uri = &client->uri;
    text[0] = '\0';
    if (node->endpoint.host[0]) {
        endpoint_text(&node->endpoint, text);
    } else if (current_server_is_known(&node->current)) {
        endpoint_text(&node->current.endpoint, text);
    } else if (uri->path) {
        snprintf(text, NODE_ADDRESS_SIZE, "%s", uri->path);
    } else if (uri->servers.count == 0) {
        struct endpoint endpoint;
        endpoint_set(&endpoint, uri->host, strlen(uri->host), uri->port);
        endpoint_text(&endpoint, text);
    }
}

void node_close(struct node *node) {
    for (int i = 0; i < PIPELINE_COUNT; i++) {
        connection_close(&node->ios[i].connection);
        lookup_drop(node->ios[i].lookup);
        node->ios[i].lookup = NULL;
    }
    connection_close(&node->subscriber.connection);
    connection_close(&node->subscriber.next.connection);
}

void node_forget(struct node *node) {
    for (int i = 0; i < PIPELINE_COUNT; i++) {
        connection_forget(&node->ios[i].connection);
    }
    connection_forget(&node->subscriber.connection);
    connection_forget(&node->subscriber.next.connection);
}

void node_free(struct node *node) {
    for (int i = 0; i < PIPELINE_COUNT; i++) {
        reply_free(node->ios[i].kept);
        reply_holder_clear(&node->ios[i].holder);
        connection_free(&node->ios[i].connection);
    }
    reply_holder_clear(&node->subscriber.holder);
    connection_free(&node->subscriber.connection);
    reply_holder_clear(&node->subscriber.next.holder);
    connection_free(&node->subscriber.next.connection);
}

bool node_io_is_unused(const struct pipeline_io *io) {
    const struct pipeline *pipeline = io->pipeline;
    return io->reader == READER_NONE && !io->writing && !io->lookup && list_is_empty(&pipeline->unsent) &&
           list_is_empty(&pipeline->sent) && list_is_empty(&pipeline->in_doubt);
}

bool node_is_unused(const struct node *node) {
    const struct subscriber *subscriber = &node->subscriber;
    bool used = subscriber->connection.state != CONNECTION_CLOSED ||
                subscriber->next.connection.state != CONNECTION_CLOSED || !list_is_empty(&subscriber->unanswered) ||
                node->server.subscriptions > 0 || !list_is_empty(&node->server.subscription_changes) ||
                !list_is_empty(&node->server.stale_channels);
    for (int i = 0; i < PIPELINE_COUNT; i++) {
        const struct pipeline_io *io = &node->ios[i];
        used = used || io->connection.state != CONNECTION_CLOSED || !node_io_is_unused(io);
    }
    return !used;
}

static void connect_soon(struct connection *connection, int64_t now) {
    if (connection->state == CONNECTION_CLOSED) {
        connection->down_since = 0;
        connection->retry_at = now;
        connection->retry_soon_at = now;
    }
}

void node_connect_soon(struct node *node, int64_t now) {
    for (int i = 0; i < PIPELINE_COUNT; i++) {
        connect_soon(&node->ios[i].connection, now);
    }
    connect_soon(&node->subscriber.connection, now);
    connect_soon(&node->subscriber.next.connection, now);
}
