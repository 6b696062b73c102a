/* The holds that each server has, as they were after its last script or the last copy from its master.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "failover_world.h"
#include "wire.h"

/* The context of held_handler: where the holds of a name on a server go. */
struct reading {
    struct world *world;
    struct server_holds *all;
};

static void add(void *context, const struct server_hold *hold) {
    const struct reading *reading = context;
    if (reading->all->count == HOLDERS_MAX) {
        world_violation(reading->world, "a table of the simulation is full", "HOLDERS_MAX: %d", HOLDERS_MAX);
        return;
    }
    reading->all->holds[reading->all->count++] = *hold;
}

/* The leases of permits: members that are made of the client's uuid and a number. */
static void read_permits(struct world *world, uint32_t server, uint32_t name, struct reading *reading) {
    static const char *const leases[NAMES_MAX] = {"{a}:timeout", "{b}:timeout"};
    struct redis_text words[] = {redis_text("zrange"), redis_text(leases[name]), redis_text("0"), redis_text("-1"),
                                 redis_text("withscores")};
    struct redis_reply reply = {0};
    keyspace_call(world->servers[server].keyspace, words, sizeof words / sizeof words[0], &reply);
    for (size_t i = 0; reply.kind == REDIS_ARRAY && i + 1 < reply.size; i += 2) {
        struct redis_text member = redis_reply_view(&reply.elements[i]);
        double end = 0;
        double_parse(redis_reply_view(&reply.elements[i + 1]), &end);
        struct server_hold hold = {.client = (unsigned char)member.bytes[0] >> 4, .count = 1};
        hold.expires = (int64_t)end * MILLISECOND;
        hold.id = permit_number(&world->clients[hold.client].engine, (const unsigned char *)member.bytes);
        if (hold.expires > world->now) {
            add(reading, &hold);
        }
    }
    redis_reply_free(&reply);
}

/* Returns a number that a group lock has about the owner of a value, or 0. */
static int64_t owner_number(struct world *world, uint32_t server, const char *value, struct redis_text owner,
                            const char *what) {
    char field[160];
    struct redis_text text;
    int64_t number = 0;
    int size = snprintf(field, sizeof field, "%.*s:%.*s:%s", GROUP_VALUE_SIZE, value, (int)owner.size, owner.bytes,
                        what);
    struct redis_text key = redis_text(name_text(world, 0));
    if (keyspace_hget(world->servers[server].keyspace, key, (struct redis_text){field, (size_t)size}, &text)) {
        integer_parse(text, &number);
    }
    return number;
}

/* Reads which owner has a value of a group lock. Returns false if there is none or its lease has ended. */
static bool read_value(struct world *world, uint32_t server, const char *value, struct server_hold *hold) {
    struct redis_text key = redis_text(name_text(world, 0));
    struct redis_text owner;
    if (!keyspace_hget(world->servers[server].keyspace, key, (struct redis_text){value, GROUP_VALUE_SIZE}, &owner) ||
        !held_parse(owner, CLIENTS, hold)) {
        return false;
    }
    int64_t end = held_until(world->servers[server].keyspace, key.bytes);
    hold->count = (uint32_t)owner_number(world, server, value, owner, "lock_count");
    hold->expires = owner_number(world, server, value, owner, "expire_time") * MILLISECOND;
    hold->expires = end < hold->expires ? end : hold->expires;
    return hold->expires > world->now;
}

/* Reads a group lock. The holder of a name has both of its values. Nobody may have only one of them, on any server. */
static void read_group(struct world *world, uint32_t server) {
    struct server_hold owners[NAMES_MAX + 1];
    bool held[NAMES_MAX + 1] = {false};
    bool whole[NAMES_MAX + 1] = {false};
    for (uint32_t i = 0; i <= world->name_count; i++) {
        held[i] = read_value(world, server, name_values(world, i), &owners[i]);
    }
    for (uint32_t name = 0; name < world->name_count; name++) {
        struct server_hold hold = owners[name];
        const struct server_hold *other = &owners[name + 1];
        if (held[name] && held[name + 1] && hold.client == other->client && hold.id == other->id) {
            hold.count = other->count < hold.count ? other->count : hold.count;
            hold.expires = other->expires < hold.expires ? other->expires : hold.expires;
            whole[name] = whole[name + 1] = true;
            add(&(struct reading){world, &world->held[server][name]}, &hold);
        }
    }
    for (uint32_t i = 0; i <= world->name_count; i++) {
        if (held[i] && !whole[i]) {
            world_violation(world, "a group is held in part", "value %u on server %u, client %u id %d", i, server,
                            owners[i].client, (int)owners[i].id);
        }
    }
}

/* Notes the latest lease and the highest hold count that a server has had of a hold. */
static void note_known(struct world *world, uint32_t server, const struct server_hold *hold) {
    struct id_note *note = failover_note(world, hold->client, hold->id);
    note->leased_until[server] = hold->expires > note->leased_until[server] ? hold->expires
                                                                            : note->leased_until[server];
    note->counts[server] = hold->count > note->counts[server] ? hold->count : note->counts[server];
}

void server_holds_read(struct world *world, uint32_t server) {
    struct keyspace *keyspace = world->servers[server].keyspace;
    keyspace_set_time(keyspace, world->now / MILLISECOND);
    for (uint32_t name = 0; name < world->name_count; name++) {
        struct reading reading = {world, &world->held[server][name]};
        const char *key = name_text(world, name);
        reading.all->count = 0;
        if (world->kind == REDLATCH_PERMIT_SEMAPHORE) {
            read_permits(world, server, name, &reading);
        } else if (world->kind == REDLATCH_PLAIN) {
            held_in_string(keyspace, key, CLIENTS, add, &reading);
        } else if (!names_share_values(world)) {
            held_in_hash(keyspace, key, world->kind == REDLATCH_READ, CLIENTS, add, &reading);
        }
    }
    if (names_share_values(world)) {
        read_group(world, server);
    }
    for (uint32_t name = 0; name < world->name_count; name++) {
        const struct server_holds *all = &world->held[server][name];
        for (uint32_t i = 0; i < all->count; i++) {
            note_known(world, server, &all->holds[i]);
        }
    }
}

const struct server_hold *server_hold_find(const struct world *world, uint32_t server, uint32_t name, uint32_t client,
                                           uint64_t id) {
    const struct server_holds *all = &world->held[server][name];
    for (uint32_t i = 0; i < all->count; i++) {
        const struct server_hold *hold = &all->holds[i];
        if (hold->client == client && hold->id == id && hold->expires > world->now) {
            return hold;
        }
    }
    return NULL;
}

uint32_t server_index(const struct world *world, const struct sim_server *server) {
    return (uint32_t)(server - world->servers);
}

struct id_note *failover_note(struct world *world, uint32_t client, uint64_t id) {
    if (id >= IDS_MAX) {
        world_violation(world, "a table of the simulation is full", "IDS_MAX: client %u", client);
        id = 0;
    }
    return &world->clients[client].notes[id];
}
