/* The nodes of a client: of a cluster its masters, else the one server.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef NODES_H
#define NODES_H

#include <stdbool.h>
#include <stddef.h>

#include "redlatch.h"

struct nodes {
    char *text;
    char **node; /* addresses, in their order, within `text` */
    size_t count;
};

/* Lists them: a status of the library. On failure there are none. */
int nodes_load(struct nodes *nodes, redlatch_client *client);
void nodes_free(struct nodes *nodes);

/* Whether they are nodes of a cluster. */
bool nodes_are_of_cluster(const redlatch_client *client);

#endif
