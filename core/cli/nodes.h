/* The nodes of a client: the masters of a cluster, or else the one server.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef NODES_H
#define NODES_H

#include <stdbool.h>
#include <stddef.h>

#include "redlatch.h"

struct nodes {
    char *text;
    char **node; /* addresses in `text`, sorted */
    size_t count;
};

/* Lists the nodes. Returns a status of the library. After a failure the list is empty. */
int nodes_load(struct nodes *nodes, redlatch_client *client);
void nodes_free(struct nodes *nodes);

/* Returns whether the client is one of a cluster. */
bool nodes_are_of_cluster(const redlatch_client *client);

#endif
