/* The addresses of a server. Numeric addresses and Unix paths are known at once. Names are looked up by a thread of
 * their own: getaddrinfo may block for any time, and renewals and calls with a deadline must not wait for it.
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

/* Returns whether two addresses are the same, port included. */
bool address_equal(const struct address *one, const struct address *other);

/* Fills `out` if that needs no lookup, else returns false. Never blocks. */
bool resolve_at_once(const struct uri *uri, struct addresses *out);

/* Looks up the name in `uri`. All callers share a name's lookup, which has a thread: getaddrinfo may block for a minute
 * while DNS is silent. Waits until `until` (system_now's clock) at most, or until *stop is set. *lookup is NULL at
 * first. Returns AGAIN if the lookup goes on: *lookup is then for the next call or for lookup_drop. Else the lookup is
 * over and *lookup is NULL. Returns OK with `out` filled, UNREACHABLE if the name has no address, NO_MEMORY or
 * SYSTEM. */
struct lookup;
int resolve(const struct uri *uri, struct lookup **lookup, int64_t until, const _Atomic bool *stop,
            struct addresses *out);

/* Forgets a lookup that goes on. NULL is allowed. */
void lookup_drop(struct lookup *lookup);

/* Called around a fork, so that no lookup begins or ends meanwhile. In the child resolver_in_child comes first: no
 * lookup is under way there, because the child has none of the threads. */
void resolver_before_fork(void);
void resolver_in_child(void);
void resolver_after_fork(void);

#endif
