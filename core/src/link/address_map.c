/* Translating announced addresses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "address_map.h"

#include <stdlib.h>
#include <string.h>

/* host[:port] */
static bool parse_address(struct endpoint *out, const char *text, size_t size) {
    const char *host = text;
    size_t host_size = size;
    const char *port = NULL;
    const char *colon = memchr(text, ':', size);
    const char *end = text + size;
    if (size > 0 && text[0] == '[') {
        const char *close = memchr(text, ']', size);
        if (!close || (close + 1 < end && close[1] != ':')) {
            return false;
        }
        host = text + 1;
        host_size = (size_t)(close - host);
        port = close + 1 < end ? close + 2 : NULL;
    } else if (colon && !memchr(colon + 1, ':', (size_t)(end - colon - 1))) { /* else an IPv6 address */
        host_size = (size_t)(colon - text);
        port = colon + 1;
    }
    long number = 0;
    bool good = !port || (port < end && end - port <= 5);
    for (const char *at = port; good && at && at < end; at++) {
        good = *at >= '0' && *at <= '9';
        number = number * 10 + (*at - '0');
    }
    good = good && (!port || number > 0) && endpoint_set(out, host, host_size, port ? number : 1);
    out->port = port ? (int)number : 0;
    return good;
}

static bool parse_mapping(struct mapping *mapping, const char *text, size_t size) {
    const char *equals = memchr(text, '=', size);
    if (!equals) {
        return false;
    }
    size_t left = (size_t)(equals - text);
    return parse_address(&mapping->from, text, left) && parse_address(&mapping->to, equals + 1, size - left - 1);
}

bool address_map_parse(struct address_map *map, const char *text, bool *no_memory) {
    *no_memory = false;
    address_map_free(map);
    map->list = calloc(MAPPINGS_MAX, sizeof *map->list);
    if (!map->list) {
        *no_memory = true;
        return false;
    }
    bool good = true;
    for (bool more = true; good && more;) {
        size_t size = strcspn(text, ",");
        good = map->count < MAPPINGS_MAX && parse_mapping(&map->list[map->count], text, size);
        map->count += good;
        more = text[size] == ',';
        text += size + more;
    }
    return good;
}

void address_map_apply(const struct address_map *map, struct endpoint *endpoint) {
    for (int i = 0; i < map->count; i++) {
        const struct mapping *mapping = &map->list[i];
        bool same_port = mapping->from.port == 0 || mapping->from.port == endpoint->port;
        if (same_port && strcmp(mapping->from.host, endpoint->host) == 0) {
            int port = mapping->to.port ? mapping->to.port : endpoint->port;
            *endpoint = mapping->to;
            endpoint->port = port;
            return;
        }
    }
}

void address_map_free(struct address_map *map) {
    free(map->list);
    *map = (struct address_map){0};
}
