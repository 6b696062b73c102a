/* Where the clients of a server run, by the names of their connections.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HOSTS_H
#define HOSTS_H

#include <stdbool.h>
#include <stddef.h>

#include "redlatch.h"

struct hosts {
    char **list; /* each node's reply to CLIENT LIST; the entries point into them */
    size_t list_count;
    struct host {
        const char *uuid; /* 36 characters */
        const char *name;
        size_t name_size;
        const char *label;
        size_t label_size;
        long long pid;
    } *host; /* sorted by uuid */
    size_t count;
    size_t capacity;
};

/* Sends CLIENT LIST to each node: a holder need not be connected to the node of its lock. If a node refuses it, or
 * there is no memory, its connections are missing. */
void hosts_load(struct hosts *hosts, redlatch_client *client);
void hosts_free(struct hosts *hosts);

/* Fills in host, process and label of a party that has none, if it is a connected client of redlatch. */
void hosts_fill(const struct hosts *hosts, redlatch_party *party);

/* Returns whether hosts_fill may find a party: it has no process, and an owner id of redlatch. */
bool hosts_may_know(const redlatch_party *party);

#endif
