/* Setting up, closing and freeing a node: one server's connections.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_H
#define NODE_H

#include "client.h"

/* Sets up a zeroed node, except its server, which the engine sets up. `settings` must outlive the node. */
void node_init(struct node *node, struct client *client, const struct connection_settings *settings);

/* Writes host:port, [host]:port or the path of a Unix socket; an empty text while the address is unknown. The client's
 * mutex is held. */
enum { NODE_ADDRESS_SIZE = sizeof((redlatch_facts *)0)->node };
void node_address(const struct node *node, char text[NODE_ADDRESS_SIZE]);

/* Closes all connections and drops the lookups under way. */
void node_close(struct node *node);

/* In a forked child: closes the child's copies of the descriptors, and nothing else. */
void node_forget(struct node *node);

/* Frees what a closed node owns, except the node itself. */
void node_free(struct node *node);

/* Returns whether no thread reads or writes a command connection, and nothing is under way on it. */
bool node_io_is_unused(const struct pipeline_io *io);

/* Returns whether the node has no connections, commands or subscriptions. */
bool node_is_unused(const struct node *node);

/* Ends the pauses of closed connections: each may be opened at once. */
void node_connect_soon(struct node *node, int64_t now);

#endif
