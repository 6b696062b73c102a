/* Nodes of a cluster and routes to them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cluster.h"

#include <stdlib.h>
#include <string.h>

#include "error_reply.h"
#include "node.h"
#include "reroute.h"
#include "wire.h"

bool cluster_init(struct client *client, enum sharded_messages sharded_messages) {
    if (!client->uri.cluster) {
        return true;
    }
    struct cluster *cluster = calloc(1, sizeof *cluster);
    if (!cluster) {
        return false;
    }
    for (int slot = 0; slot < SLOT_COUNT; slot++) {
        cluster->routes[slot] = &client->node.server;
    }
    cluster->sharded_messages = sharded_messages;
    client->cluster = cluster;
    client->engine.routes = cluster->routes;
    return true;
}

void cluster_free(struct client *client) {
    for (struct node *node; (node = client->node.next) != NULL;) {
        client->node.next = node->next;
        node_free(node);
        free(node);
    }
    if (client->cluster) {
        topology_free(&client->cluster->topology);
        free(client->cluster);
    }
}

static struct node *find_node(struct client *client, const struct endpoint *endpoint) {
    struct node *node = client->node.next;
    while (node && !endpoint_equal(&node->endpoint, endpoint)) {
        node = node->next;
    }
    return node;
}

static void set_up_node(struct node *node, struct client *client, const struct endpoint *endpoint) {
    node->endpoint = *endpoint;
    node->where.host = node->endpoint.host;
    node->where.port = node->endpoint.port;
    node->settings = client->connection_settings;
    node->settings.uri = &node->where;
    node->settings.master_only = false;
    node->settings.asks_sharding = client->cluster->sharded_messages != SHARDED_MESSAGES_OFF;
    server_init(&node->server);
    node_init(node, client, &node->settings);
}

/* Returns a zeroed node for reuse: one that has left the cluster and is unused. Returns NULL if there is none. So the
 * number of nodes does not grow where nodes come back at other addresses. A node that had slots before the routes
 * changed still has names. */
static struct node *take_unused_node(struct client *client) {
    struct node *node = client->node.next;
    while (node && (node->serves || node->served || !node_is_unused(node))) {
        node = node->next;
    }
    if (node) {
        struct node *next = node->next;
        if (client->cluster->opened_by && client->cluster->opened_by->node == node) {
            client->cluster->opened_by = NULL;
        }
        node_free(node);
        memset(node, 0, sizeof *node);
        node->next = next;
    }
    return node;
}

/* Returns NULL if there was no memory. */
static struct node *make_node(struct client *client, const struct endpoint *endpoint) {
    struct node *node = take_unused_node(client);
    if (!node) {
        node = calloc(1, sizeof *node);
        if (!node) {
            return NULL;
        }
        node->next = client->node.next;
        client->node.next = node;
    }
    set_up_node(node, client, endpoint);
    return node;
}

static struct node *node_at(struct client *client, const struct endpoint *endpoint) {
    struct node *node = find_node(client, endpoint);
    return node ? node : make_node(client, endpoint);
}

/* Returns the node that serves a slot by the topology; client->node if none is known. */
static struct node *master_of(struct client *client, int slot) {
    const struct topology *topology = &client->cluster->topology;
    uint16_t master = topology->master_of[slot];
    struct node *node = master == NO_MASTER ? NULL : node_at(client, &topology->masters[master]);
    return node ? node : &client->node;
}

void cluster_leave_channel(struct node *node, const char *channel, size_t size) {
    struct subscriber *subscriber = &node->subscriber;
    const char *const arguments[] = {"UNSUBSCRIBE", channel};
    const size_t sizes[] = {11, size};
    if (subscriber->connection.state == CONNECTION_READY && !subscriber->moves &&
        output_arguments(&subscriber->connection.output, 2, arguments, sizes) &&
        !list_is_linked(&subscriber->farewell)) {
        list_append(&subscriber->unanswered, &subscriber->farewell);
    }
}

/* Lets names follow the routes. PUBLISH reaches all nodes, so the old node is still subscribed to channels of
 * SUBSCRIBE: these are left there. */
static void follow_routes(struct client *client, int64_t now) {
    client->cluster->changed = true;
    engine_routes_changed(&client->engine, now);
    for (struct node *node = &client->node; node; node = node->next) {
        struct list_link *link;
        while ((link = list_pop(&node->server.stale_channels)) != NULL) {
            char channel[CHANNEL_SIZE_MAX];
            const struct subscription *subscription = container_of(link, struct subscription, stale);
            cluster_leave_channel(node, channel, channel_text(&client->engine, subscription, channel));
        }
    }
}

void cluster_found(struct client *client, int64_t now) {
    struct cluster *cluster = client->cluster;
    const struct topology *topology = &cluster->topology;
    for (struct node *node = &client->node; node; node = node->next) {
        node->serves = false;
    }
    bool outdated = false;
    bool changed = false;
    struct node *master = NULL;
    for (int slot = 0; slot < SLOT_COUNT; slot++) {
        if (slot == 0 || topology->master_of[slot] != topology->master_of[slot - 1]) {
            master = master_of(client, slot);
        }
        if (topology_is_outdated(topology, (uint16_t)slot)) {
            outdated = true;
        } else {
            changed = changed || cluster->routes[slot] != &master->server;
            cluster->routes[slot] = &master->server;
        }
        container_of(cluster->routes[slot], struct node, server)->serves = true;
    }
    cluster->changed = true;
    if (changed) {
        follow_routes(client, now);
    }
    if (outdated) {
        cluster_doubted(client, now);
    }
}

struct server *cluster_next_server(struct client *client, struct server *first, struct server *server) {
    struct node *node = container_of(server, struct node, server);
    do {
        node = node->next ? node->next : &client->node;
    } while (&node->server != first && (!node->serves || node == &client->node));
    return &node->server;
}

void cluster_doubted(struct client *client, int64_t now) {
    if (client->cluster) {
        current_server_request_search(client, now);
    }
}

/* Returns the node that a redirection names. Returns NULL if its text cannot be read, or there was no memory. */
static struct node *redirected_to(struct node *from, const struct reply *reply, uint16_t *slot_out) {
    struct endpoint endpoint;
    struct client *client = from->client;
    bool known = redirect_read(reply->text, reply->size, &from->endpoint, &client->uri.address_map, slot_out,
                               &endpoint);
    return known ? node_at(client, &endpoint) : NULL;
}

static void learn_route(struct client *client, uint16_t slot, struct node *node, int64_t now) {
    topology_redirected(&client->cluster->topology, slot);
    if (client->cluster->routes[slot] != &node->server) {
        client->cluster->routes[slot] = &node->server;
        node->serves = true;
        follow_routes(client, now);
        cluster_doubted(client, now);
    }
}

bool cluster_redirects(struct pipeline_io *io, const struct reply *reply, int64_t now) {
    struct client *client = io->client;
    if (!client->cluster || reply->kind != REPLY_ERROR || !is_redirection(reply->text, reply->size)) {
        return false;
    }
    bool moved = reply->text[0] == 'M'; /* else ASK */
    uint16_t slot;
    struct node *node = redirected_to(io->node, reply, &slot);
    if (!node) { /* the node is not known; the topology may show it */
        cluster_doubted(client, now);
        return false;
    }
    if (!moved) {
        return engine_redirected_to_importer(&client->engine, io->pipeline, &node->server, now);
    }
    learn_route(client, slot, node, now);
    return engine_redirected(&client->engine, io->pipeline, now);
}

/* Called when another node was connected to. The connection by which the client was opened has shown that the URL is
 * good. If it was not used since, it is closed. */
static void close_opening(struct client *client, const struct node *used) {
    struct pipeline_io *io = client->cluster->opened_by;
    if (!io || io->node == used) {
        return;
    }
    client->cluster->opened_by = NULL;
    if (io->connection.state == CONNECTION_READY && !io->connection.served && node_io_is_unused(io)) {
        io->connection.generation = 0;     /* the next one counts as the first */
        connection_close(&io->connection); /* the background thread polls it until the caller kicks that thread */
    }
}

bool cluster_greeted(struct node *node, struct connection *connection, int64_t now) {
    const struct cluster *cluster = node->client->cluster;
    if (!cluster) {
        return true;
    }
    close_opening(node->client, node);
    if (!node->settings.asks_sharding) {
        return true;
    }
    if (cluster->sharded_messages == SHARDED_MESSAGES_ON && !connection->has_sharding) {
        connection_reject(connection, "sharded_messages \"on\": expected a node with SPUBLISH, of Redis 7 or newer",
                          now);
        return false;
    }
    server_set_sharding(&node->server, connection->has_sharding);
    return true;
}

bool cluster_subscription_moved(struct node *node, const struct reply *reply, uint16_t *slot_out, int64_t now) {
    struct node *target = is_redirection(reply->text, reply->size) ? redirected_to(node, reply, slot_out) : NULL;
    if (target) {
        learn_route(node->client, *slot_out, target, now);
    }
    return target;
}
