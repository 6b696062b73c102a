/* The holds that each node has, as they were after its last script, the last copy from its master, or the last key that
 * moved.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cluster_world.h"

/* The context of held_handler: where the holds of a name on a node go. */
struct reading {
    struct world *world;
    struct node_holds *all;
};

static void add(void *context, const struct server_hold *hold) {
    const struct reading *reading = context;
    struct world *world = reading->world;
    struct node_holds *all = reading->all;
    if (all->count == HOLDERS_MAX) {
        world_violation(world, "a table of the simulation is full", "HOLDERS_MAX: %d", HOLDERS_MAX);
        return;
    }
    all->holds[all->count++] = *hold;
    struct id_note *note = cluster_note(world, hold->client, hold->id);
    note->leased_until = hold->expires > note->leased_until ? hold->expires : note->leased_until;
}

void node_holds_read(struct world *world, uint32_t node, uint32_t name) {
    struct keyspace *keyspace = world->servers[node].keyspace;
    struct reading reading = {world, &world->held[node][name]};
    reading.all->count = 0;
    keyspace_set_time(keyspace, world->now / MILLISECOND);
    if (world->kind == REDLATCH_PLAIN) {
        held_in_string(keyspace, name_text(name), CLIENTS, add, &reading);
    } else {
        held_in_hash(keyspace, name_text(name), world->kind == REDLATCH_READ, CLIENTS, add, &reading);
    }
}
const struct server_hold *node_hold_find(const struct world *world, uint32_t node, uint32_t name, uint32_t client,
                                         uint64_t id) {
    const struct node_holds *all = &world->held[node][name];
    for (uint32_t i = 0; i < all->count; i++) {
        const struct server_hold *hold = &all->holds[i];
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
