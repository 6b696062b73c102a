/* From CLUSTER SLOTS and redirections to slots and their masters.
 * SPDX-License-Identifier: Apache-2.0 */
#include "topology.h"

#include <hiredis.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"
#include "redlatch.h"

/* Where a node is that does not know its own host, or knows it by a name that it must not say. */
static bool is_unknown(const char *host, size_t size) {
    return size == 0 || (size == 1 && host[0] == '?');
}

static bool read_endpoint(const redisReply *node, const struct endpoint *source, struct endpoint *endpoint_out) {
    if (node->type != REDIS_REPLY_ARRAY || node->elements < 2 || node->element[1]->type != REDIS_REPLY_INTEGER) {
        return false;
    }
    const redisReply *host = node->element[0];
    bool none = host->type == REDIS_REPLY_NIL;
    if (!none && host->type != REDIS_REPLY_STRING) {
        return false;
    }
    none = none || is_unknown(host->str, host->len);
    return endpoint_set(endpoint_out, none ? source->host : host->str, none ? strlen(source->host) : host->len,
                        node->element[1]->integer);
}

/* The index of a master, which is added if it is new; -1 without memory, and for one too many. */
static int master_index(struct topology *topology, const struct endpoint *master) {
    for (int i = topology->count - 1; i >= 0; i--) { /* ranges of one master often follow each other */
        if (endpoint_equal(&topology->masters[i], master)) {
            return i;
        }
    }
    if (topology->count == topology->room) {
        int room = topology->room ? 2 * topology->room : 8;
        struct endpoint *masters = topology->count < TOPOLOGY_MASTERS_MAX
                                       ? realloc(topology->masters, (size_t)room * sizeof *masters)
                                       : NULL;
        if (!masters) {
            return -1;
        }
        topology->masters = masters;
        topology->room = room;
    }
    topology->masters[topology->count] = *master;
    return topology->count++;
}

/* [first slot, last slot, master, replica...], the nodes as [host, port, id, ...]. */
static int read_range(struct topology *topology, const redisReply *range, const struct endpoint *source,
                      const struct address_map *map) {
    struct endpoint master;
    if (range->type != REDIS_REPLY_ARRAY || range->elements < 3 || range->element[0]->type != REDIS_REPLY_INTEGER ||
        range->element[1]->type != REDIS_REPLY_INTEGER || !read_endpoint(range->element[2], source, &master)) {
        return REDLATCH_PROTOCOL;
    }
    long long first = range->element[0]->integer;
    long long last = range->element[1]->integer;
    if (first < 0 || last < first || last >= SLOT_COUNT) {
        return REDLATCH_PROTOCOL;
    }
    address_map_apply(map, &master);
    int index = master_index(topology, &master);
    for (long long slot = first; slot <= last && index >= 0; slot++) {
        topology->master_of[slot] = (uint16_t)index;
    }
    return index >= 0 ? REDLATCH_OK : REDLATCH_NO_MEMORY;
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
    if (status == REDLATCH_OK) {
        struct topology before = *topology;
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
    bool none = is_unknown(host + 1, host_size);
    *slot_out = (uint16_t)slot_number;
    if (!endpoint_set(endpoint_out, none ? source->host : host + 1, none ? strlen(source->host) : host_size,
                      port_number)) {
        return false;
    }
    address_map_apply(map, endpoint_out);
    return true;
}

void topology_free(struct topology *topology) {
    free(topology->masters);
    topology->masters = NULL;
    topology->count = 0;
    topology->room = 0;
}
