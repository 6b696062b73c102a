/* Translating the addresses that servers announce into those by which this client reaches them, for servers behind a
 * network address translation.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ADDRESS_MAP_H
#define ADDRESS_MAP_H

#include "endpoint.h"

enum { MAPPINGS_MAX = 32 };

/* A port of 0 means: in `from` any port, in `to` the same port. */
struct address_map {
    struct mapping {
        struct endpoint from;
        struct endpoint to;
    } *list;
    int count;
};

/* Parses "host[:port]=host[:port]", several with commas between. An IPv6 address with a port is in brackets. Returns
 * false for another text, for more than MAPPINGS_MAX, and, with *no_memory set, if there was no memory. */
bool address_map_parse(struct address_map *map, const char *text, bool *no_memory);

/* Translates an address by the first mapping that fits. An address without one stays as it is. */
void address_map_apply(const struct address_map *map, struct endpoint *endpoint);

void address_map_free(struct address_map *map);

#endif
