/* Which server a command goes to: in a cluster each name is in one of 16 384 slots, and each slot is on one server.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ROUTES_H
#define ROUTES_H

#include "engine.h"

enum { SLOT_COUNT = 16384 };

/* Returns the slot of a key: CRC16 of its hash tag, which is what stands between the first { and the next }, if that is
 * not empty, else of the whole key. All keys of a name are in its slot; its channels are if channel_is_in_slot says
 * so. */
uint16_t key_slot(const char *key, size_t size);

/* Returns the server that commands about a name go to. In a cluster the resource follows engine->routes (reroute.h). */
static inline struct server *server_of(const struct engine *engine, const struct resource *resource) {
    return engine->routes ? resource->server : engine->server;
}

/* Returns whether messages of a name stay within the shard of a server: SPUBLISH reaches only those that sent
 * SSUBSCRIBE there. The server refuses both for a channel of another slot, so such channels use PUBLISH everywhere. */
static inline bool shards_messages_of(const struct server *server, const struct resource *resource) {
    return server->shards_messages && resource->channel_in_slot;
}

#endif
