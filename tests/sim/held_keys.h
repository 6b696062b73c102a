/* Who holds a name, as the keys of one server say.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HELD_KEYS_H
#define HELD_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "keyspace.h"

/* A hold as a server has it. */
struct server_hold {
    uint32_t client; /* the first digit of the client's uuid */
    uint64_t id;
    uint32_t count;
    int64_t expires; /* microseconds */
};

/* Called with each hold that is found. */
typedef void held_handler(void *context, const struct server_hold *hold);

/* Reads "<client>0000000-0000-8000-8000-000000000000:<number>" and ignores what follows the number. Returns false for
 * any other text, and if there is no such client. */
bool held_parse(struct redis_text text, uint32_t clients, struct server_hold *hold);

/* The server's time at which a key ends, in microseconds. */
int64_t held_until(struct keyspace *keyspace, const char *key);

/* Calls `handler` with each holder in a hash. `has_readers`: the hash is a read-write lock. A reader's hold ends with
 * the last timeout key of its levels, or with the hash if that is sooner. */
void held_in_hash(struct keyspace *keyspace, const char *name, bool has_readers, uint32_t clients,
                  held_handler *handler, void *context);

/* Calls `handler` with the owner in a string, if there is one. */
void held_in_string(struct keyspace *keyspace, const char *name, uint32_t clients, held_handler *handler,
                    void *context);

#endif
