/* The nodes of a cluster: made when the topology or a redirection names them, and the routes of slots to them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * client->node stands for whoever serves a slot that no known node does: its connections are never made, what is to be
 * sent there waits for the topology. The search for that is client->node's. */
#ifndef CLUSTER_H
#define CLUSTER_H

#include "client.h"
#include "topology.h"

struct cluster {
    struct topology topology; /* as it was found last */
    struct server *routes[SLOT_COUNT];
    bool changed; /* the routes: connections and commands are to follow (pipeline_io.h) */
    enum sharded_messages sharded_messages;
    struct pipeline_io *opened_by; /* the connection by which the client was opened; NULL: it is one like others */
};

/* Sets it up if the URL is of a cluster; false without memory. */
bool cluster_init(struct client *client, enum sharded_messages sharded_messages);
void cluster_free(struct client *client);

/* Takes over the topology that a search has found. */
void cluster_found(struct client *client, int64_t now);

/* The next master after one, in a round that ends with the first one, whether that serves slots by now or not. */
struct server *cluster_next_server(struct client *client, struct server *first, struct server *server);

/* A node may have been replaced: the topology is searched for by the background thread. */
void cluster_doubted(struct client *client, int64_t now);

/* Takes an error reply that says that a name is at another node; false if it is none, or has come too often. */
bool cluster_redirects(struct pipeline_io *io, const struct reply *reply, int64_t now);

/* A connection to a node stands, on which the node said whether it has messages within a shard. If it must and has not,
 * the connection is given up: false. */
bool cluster_greeted(struct node *node, struct connection *connection, int64_t now);

/* UNSUBSCRIBE from a channel that nobody wants to hear from a node any more. */
void cluster_leave_channel(struct node *node, const char *channel, size_t size);

/* Takes an error reply to a subscription that says that a slot is at another node; false if it is none. */
bool cluster_subscription_moved(struct node *node, const struct reply *reply, uint16_t *slot_out, int64_t now);

#endif
