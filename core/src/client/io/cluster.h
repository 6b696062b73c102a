/* The nodes of a cluster: made when the topology or a redirection names them, and the routes of slots to them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * client->node stands for the unknown node of each slot that no known node serves. It is never connected to; commands
 * to it wait for the topology. It also has the search for the topology. */
#ifndef CLUSTER_H
#define CLUSTER_H

#include "client.h"
#include "topology.h"

struct cluster {
    struct topology topology; /* as the last search found it */
    struct server *routes[SLOT_COUNT];
    bool changed; /* the routes changed: connections and commands are to follow (io_follow_routes) */
    enum sharded_messages sharded_messages;
    struct pipeline_io *opened_by; /* the connection by which the client was opened; NULL once it is used like others */
};

/* Sets up the cluster if the URL is of one. Returns false if there was no memory. */
bool cluster_init(struct client *client, enum sharded_messages sharded_messages);
void cluster_free(struct client *client);

/* Takes over the topology that a search has found. */
void cluster_found(struct client *client, int64_t now);

/* Returns the master after `server`, in a round over all masters that begins and ends with `first`. The round ends
 * there even if `first` no longer serves slots. */
struct server *cluster_next_server(struct client *client, struct server *first, struct server *server);

/* Called when a node may have been replaced. The background thread searches for the topology. */
void cluster_doubted(struct client *client, int64_t now);

/* Follows an error reply that is a redirection. Returns false if it is none, if it cannot be followed, or if its
 * command was redirected too often. */
bool cluster_redirects(struct pipeline_io *io, const struct reply *reply, int64_t now);

/* Called when a connection to a node stands. The greeting has shown whether the node has messages within a shard. If
 * they are required and it has none, rejects the connection and returns false. */
bool cluster_greeted(struct node *node, struct connection *connection, int64_t now);

/* Sends UNSUBSCRIBE for a channel that is not wanted from this node any more. */
void cluster_leave_channel(struct node *node, const char *channel, size_t size);

/* Follows an error reply to a subscription that is a redirection. Returns false if it is none or cannot be followed. */
bool cluster_subscription_moved(struct node *node, const struct reply *reply, uint16_t *slot_out, int64_t now);

#endif
