/* Reading the reply to CLUSTER SLOTS, and redirections.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology.h"

#include <hiredis.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"
#include "planted.h"
#include "redlatch.h"

void topology_requested(struct topology *topology) {
    memset(topology->redirected, 0, sizeof topology->redirected);
}

void topology_redirected(struct topology *topology, uint16_t slot) {
    topology->redirected[slot / 8] |= (uint8_t)(1 << slot % 8);
}

bool topology_is_outdated(const struct topology *topology, uint16_t slot) {
    return (topology->redirected[slot / 8] >> slot % 8 & 1) && !PLANTED(FAULT_OLD_TOPOLOGY_BELIEVED);
}

/* Returns whether the host is "?", which stands for a node that is to be announced by a host name and has none. */
static bool is_nameless(const char *host, size_t size) {
    return size == 1 && host[0] == '?';
}

/* Returns a text of the metadata, which are names and values in turn, or NULL if it is not there. */
static const redisReply *find_text(const redisReply *metadata, const char *name) {
    for (size_t i = 0; metadata->type == REDIS_REPLY_ARRAY && i + 1 < metadata->elements; i += 2) {
        const redisReply *key = metadata->element[i];
        const redisReply *value = metadata->element[i + 1];
        if (key->type == REDIS_REPLY_STRING && strcmp(key->str, name) == 0 && value->type == REDIS_REPLY_STRING) {
            return value;
        }
    }
    return NULL;
}

/* Reads where a node is, from [host, port, id, metadata]. Returns OK, PROTOCOL, or UNREACHABLE if the reply does not
 * say. */
static int read_endpoint(const redisReply *node, const struct endpoint *source, struct endpoint *endpoint_out) {
    if (node->type != REDIS_REPLY_ARRAY || node->elements < 2 || node->element[1]->type != REDIS_REPLY_INTEGER) {
        return REDLATCH_PROTOCOL;
    }
    const redisReply *host = node->element[0];
    if (host->type != REDIS_REPLY_NIL && host->type != REDIS_REPLY_STRING) {
        return REDLATCH_PROTOCOL;
    }
    if (host->type == REDIS_REPLY_STRING && is_nameless(host->str, host->len)) {
        host = node->elements > 3 ? find_text(node->element[3], "ip") : NULL;
        if (!host) {
            return REDLATCH_UNREACHABLE;
        }
    }
    bool none = host->type == REDIS_REPLY_NIL || host->len == 0;
    bool good = endpoint_set(endpoint_out, none ? source->host : host->str, none ? strlen(source->host) : host->len,
                             node->element[1]->integer);
    return good ? REDLATCH_OK : REDLATCH_PROTOCOL;
}

/* Finds the index of a master, which is added if it is new. Returns OK, NO_MEMORY, or PROTOCOL if there are too
 * many. */
static int find_master(struct topology *topology, const struct endpoint *master, int *index_out) {
    for (int i = topology->count - 1; i >= 0; i--) { /* ranges of one master often follow each other */
        if (endpoint_equal(&topology->masters[i], master)) {
            *index_out = i;
            return REDLATCH_OK;
        }
    }
    if (topology->count == TOPOLOGY_MASTERS_MAX) {
        return REDLATCH_PROTOCOL;
    }
    if (topology->count == topology->room) {
        int room = topology->room ? 2 * topology->room : 8;
        struct endpoint *masters = realloc(topology->masters, (size_t)room * sizeof *masters);
        if (!masters) {
            return REDLATCH_NO_MEMORY;
        }
        topology->masters = masters;
        topology->room = room;
    }
    topology->masters[topology->count] = *master;
    *index_out = topology->count++;
    return REDLATCH_OK;
}

/* [first slot, last slot, master, replica...] */
static int read_range(struct topology *topology, const redisReply *range, const struct endpoint *source,
                      const struct address_map *map) {
    if (range->type != REDIS_REPLY_ARRAY || range->elements < 3 || range->element[0]->type != REDIS_REPLY_INTEGER ||
        range->element[1]->type != REDIS_REPLY_INTEGER) {
        return REDLATCH_PROTOCOL;
    }
    long long first = range->element[0]->integer;
    long long last = range->element[1]->integer;
    struct endpoint master;
    int index;
    int status = first < 0 || last < first || last >= SLOT_COUNT ? REDLATCH_PROTOCOL
                                                                 : read_endpoint(range->element[2], source, &master);
    if (status != REDLATCH_OK) {
        return status == REDLATCH_UNREACHABLE ? REDLATCH_OK : status;
    }
    address_map_apply(map, &master);
    status = find_master(topology, &master, &index);
    for (long long slot = first; slot <= last && status == REDLATCH_OK; slot++) {
        topology->master_of[slot] = (uint16_t)index;
    }
    return status;
}

int topology_read(struct topology *topology, const void *parsed, const struct endpoint *source,
                  const struct address_map *map) {
    const redisReply *reply = parsed;
    struct topology *read = reply->type == REDIS_REPLY_ARRAY ? calloc(1, sizeof *read) : NULL;
    if (!read) {
        return reply->type == REDIS_REPLY_ARRAY ? REDLATCH_NO_MEMORY : REDLATCH_PROTOCOL;
    }
    for (int slot = 0; slot < SLOT_COUNT; slot++) {
        read->master_of[slot] = NO_MASTER;
    }
    int status = REDLATCH_OK;
    for (size_t i = 0; i < reply->elements && status == REDLATCH_OK; i++) {
        status = read_range(read, reply->element[i], source, map);
    }
    if (status == REDLATCH_OK && read->count == 0) {
        status = REDLATCH_PROTOCOL; /* the node has joined no cluster */
    }
    if (status == REDLATCH_OK) {
        struct topology before = *topology;
        memcpy(read->redirected, topology->redirected, sizeof read->redirected);
        *topology = *read;
        *read = before;
    }
    topology_free(read);
    free(read);
    return status;
}

bool redirect_read(const char *text, size_t size, const struct endpoint *source, const struct address_map *map,
                   uint16_t *slot_out, struct endpoint *endpoint_out) {
    const char *end = text + size;
    const char *slot = memchr(text, ' ', size);
    bool known = (size > 6 && memcmp(text, "MOVED ", 6) == 0) || (size > 4 && memcmp(text, "ASK ", 4) == 0);
    const char *host = known && slot ? memchr(slot + 1, ' ', (size_t)(end - slot - 1)) : NULL;
    const char *port = host ? end : NULL;
    while (port && port > host && port[-1] != ':') {
        port--;
    }
    int64_t slot_number;
    int64_t port_number;
    if (!host || port == host || !server_number(slot + 1, (size_t)(host - slot - 1), &slot_number) || slot_number < 0 ||
        slot_number >= SLOT_COUNT || !server_number(port, (size_t)(end - port), &port_number)) {
        return false;
    }
    size_t host_size = (size_t)(port - 1 - (host + 1));
    bool none = host_size == 0;
    if (is_nameless(host + 1, host_size) || !endpoint_set(endpoint_out, none ? source->host : host + 1,
                                                          none ? strlen(source->host) : host_size, port_number)) {
        return false;
    }
    *slot_out = (uint16_t)slot_number;
    address_map_apply(map, endpoint_out);
    return true;
}

void topology_free(struct topology *topology) {
    free(topology->masters);
    topology->masters = NULL;
    topology->count = 0;
    topology->room = 0;
}
