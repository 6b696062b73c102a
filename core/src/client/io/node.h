/* Setting up, closing and freeing a node: one server's connections.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef NODE_H
#define NODE_H

#include "client.h"

/* Sets a zeroed node up, without its server, which the engine does. `settings` outlive it. */
void node_init(struct node *node, struct client *client, const struct connection_settings *settings);

/* host:port, [host]:port or the path of a Unix socket; empty while nobody knows it. With the client's mutex. */
enum { NODE_ADDRESS_SIZE = sizeof((redlatch_facts *)0)->node };
void node_address(const struct node *node, char text[NODE_ADDRESS_SIZE]);

/* Closes all connections and ends look-ups. */
void node_close(struct node *node);

/* In a forked child: closes the child's copies of the descriptors, and nothing else. */
void node_forget(struct node *node);

/* Frees what a closed node has, but for the node itself. */
void node_free(struct node *node);

/* Whether nobody reads or writes a connection for commands, and nothing is under way there. */
bool node_io_is_unused(const struct pipeline_io *io);

/* Whether it has no connections, and nothing is under way or wanted there. */
bool node_is_unused(const struct node *node);

/* Connections that were refused are tried again at once. */
void node_connect_soon(struct node *node, int64_t now);

#endif
