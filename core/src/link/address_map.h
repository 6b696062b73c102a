/* Addresses that servers announce, and the ones under which this client reaches them: for servers behind a network
 * address translation.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ADDRESS_MAP_H
#define ADDRESS_MAP_H

#include "endpoint.h"

enum { MAPPINGS_MAX = 32 };

/* Ports that are 0: any port, and the same port. */
struct address_map {
    struct mapping {
        struct endpoint from;
        struct endpoint to;
    } *list;
    int count;
};

/* Parses "host[:port]=host[:port]", several with commas between; an IPv6 address with a port stands in brackets. True;
 * false for another text, and for more than MAPPINGS_MAX. */
bool address_map_parse(struct address_map *map, const char *text, bool *no_memory);

/* Translates an address; one that the map does not name stays. The first mapping that fits counts. */
void address_map_apply(const struct address_map *map, struct endpoint *endpoint);

void address_map_free(struct address_map *map);

#endif
