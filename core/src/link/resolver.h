/* Addresses of a server: numeric ones and unix paths at once, names by a thread of their own, because getaddrinfo
 * blocks for as long as it likes and nobody who renews leases or has a deadline may wait for it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVER_H
#define RESOLVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "uri.h"

enum { ADDRESSES_MAX = 8 };

struct address {
    struct sockaddr_storage storage;
    socklen_t size;
};

struct addresses {
    struct address list[ADDRESSES_MAX];
    int count;
};

/* Whether they are the same, port included. */
bool address_equal(const struct address *one, const struct address *other);

/* Fills `out` if that needs no look-up; false if it does. Never blocks. */
bool resolve_at_once(const struct uri *uri, struct addresses *out);

/* Looks up the name in `uri`, waiting at most until `until` (system_now's clock) or until *stop is set. *lookup is
 * NULL at first. AGAIN: it goes on, and *lookup is for the next call or for lookup_drop. Else it is over and *lookup is
 * NULL: OK with `out` filled, UNREACHABLE if the name has no address, NO_MEMORY, SYSTEM. */
struct lookup;
int resolve(const struct uri *uri, struct lookup **lookup, int64_t until, const _Atomic bool *stop,
            struct addresses *out);

/* Forgets a look-up under way; NULL is allowed. */
void lookup_drop(struct lookup *lookup);

#endif
