/* The holds that each node has, as they were after its last script, the last copy from its master, or the last key that
 * moved.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cluster.h"

/* Parses "<client>0000000-0000-8000-8000-000000000000:<number>" and ignores what follows. */
static bool parse_owner(struct redis_text text, struct node_hold *hold) {
    if (text.size < 38 || text.bytes[36] != ':') {
        return false;
    }
    hold->client = (uint32_t)(text.bytes[0] - '0');
    hold->id = 0;
    for (size_t i = 37; i < text.size && text.bytes[i] >= '0' && text.bytes[i] <= '9'; i++) {
        hold->id = hold->id * 10 + (uint64_t)(text.bytes[i] - '0');
    }
    return hold->client < CLIENTS;
}

static void add(struct world *world, struct node_holds *all, struct node_hold hold) {
    if (all->count == HOLDERS_MAX) {
        world_violation(world, "a table of the simulation is full", "HOLDERS_MAX: %d", HOLDERS_MAX);
        return;
    }
    all->holds[all->count++] = hold;
    struct id_note *note = cluster_note(world, hold.client, hold.id);
    note->leased_until = hold.expires > note->leased_until ? hold.expires : note->leased_until;
}

static void read_hash(struct world *world, struct keyspace *keyspace, uint32_t name, int64_t end,
                      struct node_holds *all) {
    struct redis_text words[2] = {redis_text("hgetall"), redis_text(name_text(name))};
    struct redis_reply reply = {0};
    keyspace_call(keyspace, words, 2, &reply);
    for (size_t i = 0; reply.kind == REDIS_ARRAY && i + 1 < reply.size; i += 2) {
        struct node_hold hold = {.expires = end};
        if (parse_owner(redis_reply_view(&reply.elements[i]), &hold)) {
            add(world, all, hold);
        }
    }
    redis_reply_free(&reply);
}

void node_holds_read(struct world *world, uint32_t node, uint32_t name) {
    struct keyspace *keyspace = world->servers[node].keyspace;
    struct node_holds *all = &world->held[node][name];
    struct redis_text key = redis_text(name_text(name));
    struct redis_text text;
    struct node_hold hold = {0};
    all->count = 0;
    keyspace_set_time(keyspace, world->now / MILLISECOND);
    hold.expires = (keyspace_time(keyspace) + keyspace_pttl(keyspace, key) + 1) * MILLISECOND;
    if (world->kind != REDLATCH_PLAIN) {
        read_hash(world, keyspace, name, hold.expires, all);
    } else if (keyspace_get(keyspace, key, &text) && parse_owner(text, &hold)) {
        add(world, all, hold);
    }
}

const struct node_hold *node_hold_find(const struct world *world, uint32_t node, uint32_t name, uint32_t client,
                                       uint64_t id) {
    const struct node_holds *all = &world->held[node][name];
    for (uint32_t i = 0; i < all->count; i++) {
        const struct node_hold *hold = &all->holds[i];
        if (hold->client == client && hold->id == id && hold->expires > world->now) {
            return hold;
        }
    }
    return NULL;
}

struct id_note *cluster_note(struct world *world, uint32_t client, uint64_t id) {
    if (id >= IDS_MAX) {
        world_violation(world, "a table of the simulation is full", "IDS_MAX: client %u", client);
        id = 0;
    }
    return &world->clients[client].notes[id];
}
