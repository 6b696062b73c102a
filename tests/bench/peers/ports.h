/* A list of TCP ports in an argument: whole numbers with commas between them.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BENCH_PORTS_H
#define BENCH_PORTS_H

#include "measure.h"

enum { PORTS_MAX = 16 };

/* How many there are. */
static inline int ports_read(const char *name, const char *text, int ports_out[PORTS_MAX]) {
    int count = 0;
    const char *rest = text;
    do {
        char *end = NULL;
        const long port = strtol(rest, &end, 10);
        if (count == PORTS_MAX || end == rest || (*end != '\0' && *end != ',') || port < 1 || port > 65535) {
            give_up("%s: \"%s\" is not a list of 1 to %d ports", name, text, PORTS_MAX);
        }
        ports_out[count++] = (int)port;
        rest = *end == ',' ? end + 1 : NULL;
    } while (rest != NULL);
    return count;
}

#endif
