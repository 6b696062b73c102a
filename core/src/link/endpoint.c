/* Hosts with ports.
 * SPDX-License-Identifier: Apache-2.0 */
#include "endpoint.h"

#include <stdio.h>
#include <string.h>

bool endpoint_set(struct endpoint *endpoint, const char *host, size_t size, long long port) {
    if (size == 0 || size >= sizeof endpoint->host || port < 1 || port > 65535) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)host[i] <= ' ' || host[i] == 0x7f) {
            return false;
        }
    }
    memcpy(endpoint->host, host, size);
    endpoint->host[size] = '\0';
    endpoint->port = (int)port;
    return true;
}

bool endpoint_equal(const struct endpoint *one, const struct endpoint *other) {
    return one->port == other->port && strcmp(one->host, other->host) == 0;
}

void endpoint_text(const struct endpoint *endpoint, char text[ENDPOINT_TEXT_SIZE]) {
    const char *format = strchr(endpoint->host, ':') ? "[%s]:%d" : "%s:%d";
    snprintf(text, ENDPOINT_TEXT_SIZE, format, endpoint->host, endpoint->port);
}

bool endpoints_add(struct endpoints *endpoints, const struct endpoint *endpoint) {
    for (int i = 0; i < endpoints->count; i++) {
        if (endpoint_equal(&endpoints->list[i], endpoint)) {
            return false;
        }
    }
    if (endpoints->count == ENDPOINTS_MAX) {
        return false;
    }
    endpoints->list[endpoints->count++] = *endpoint;
    return true;
}
