/* Where the clients of a server run, by the names of their connections.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HOSTS_H
#define HOSTS_H

#include <stdbool.h>
#include <stddef.h>

#include "redlatch.h"

struct hosts {
    char **list; /* each node's reply to CLIENT LIST, in which the entries stand */
    size_t list_count;
    struct host {
        const char *uuid; /* of 36 characters */
        const char *name;
        size_t name_size;
        const char *label;
        size_t label_size;
        long long pid;
    } *host; /* in the order of uuids */
    size_t count;
    size_t capacity;
};

/* Asks each node: a holder need not be connected to the node of its lock. Where that is not allowed, or there is no
 * memory, nobody is found. */
void hosts_load(struct hosts *hosts, redlatch_client *client);
void hosts_free(struct hosts *hosts);

/* Enters host, process and label of a party, if it is of redlatch, connected and not known already. */
void hosts_fill(const struct hosts *hosts, redlatch_party *party);

/* Whether a party may be found. */
bool hosts_may_know(const redlatch_party *party);

#endif
