/* Hosts with ports, and short lists of them: the sentinels that are known, the master that they announce.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ENDPOINT_H
#define ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>

enum { ENDPOINT_HOST_SIZE = 256, ENDPOINT_TEXT_SIZE = ENDPOINT_HOST_SIZE + 10, ENDPOINTS_MAX = 16 };

struct endpoint {
    char host[ENDPOINT_HOST_SIZE]; /* a name or a numeric address, without brackets; empty: none */
    int port;
};

struct endpoints {
    struct endpoint list[ENDPOINTS_MAX];
    int count;
};

/* Makes an endpoint of a host and a port. Returns false for a host that is empty, too long or has blanks or control
 * bytes, and for a port that is not 1 to 65535. */
bool endpoint_set(struct endpoint *endpoint, const char *host, size_t size, long long port);

bool endpoint_equal(const struct endpoint *one, const struct endpoint *other);

/* Writes host:port, or [host]:port for an IPv6 address. */
void endpoint_text(const struct endpoint *endpoint, char text[ENDPOINT_TEXT_SIZE]);

/* Adds an endpoint. Returns false if the list has it already, or is full. */
bool endpoints_add(struct endpoints *endpoints, const struct endpoint *endpoint);

#endif
