/* The holds that each server has, as they were after its last script or the last copy from its master.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "failover.h"
#include "wire.h"

static void call(struct world *world, uint32_t server, const char *command, const char *key, const char *more[3],
                 struct redis_reply *reply) {
    struct redis_text words[5] = {redis_text(command), redis_text(key)};
    size_t count = 2;
    for (int i = 0; i < 3 && more && more[i]; i++) {
        words[count++] = redis_text(more[i]);
    }
    *reply = (struct redis_reply){0};
    keyspace_call(world->servers[server].keyspace, words, count, reply);
}

/* Parses "<client>0000000-0000-8000-8000-000000000000:<number>" and ignores what follows. */
static bool parse_owner(struct redis_text text, struct server_hold *hold) {
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

static void add(struct world *world, struct server_holds *all, struct server_hold hold) {
    if (all->count == HOLDERS_MAX) {
        world_violation(world, "a table of the simulation is full", "HOLDERS_MAX: %d", HOLDERS_MAX);
        return;
    }
    all->holds[all->count++] = hold;
}

/* Returns the server's time at which a key expires. */
static int64_t key_end(struct world *world, uint32_t server, const char *key) {
    struct keyspace *keyspace = world->servers[server].keyspace;
    return (keyspace_time(keyspace) + keyspace_pttl(keyspace, redis_text(key)) + 1) * MILLISECOND;
}

/* Returns when a reader's lease ends: with the last of its timeout keys. */
static int64_t reader_end(struct world *world, uint32_t server, uint32_t name, struct redis_text owner, int64_t count) {
    int64_t end = 0;
    for (int64_t nth = 1; nth <= count; nth++) {
        char key[128];
        snprintf(key, sizeof key, "{%s}:%.*s:rwlock_timeout:%d", name_text(world, name), (int)owner.size, owner.bytes,
                 (int)nth);
        int64_t of_level = key_end(world, server, key);
        end = of_level > end ? of_level : end;
    }
    return end;
}

static void read_hash(struct world *world, uint32_t server, uint32_t name, struct server_holds *all) {
    struct redis_reply reply;
    call(world, server, "hgetall", name_text(world, name), NULL, &reply);
    for (size_t i = 0; reply.kind == REDIS_ARRAY && i + 1 < reply.size; i += 2) {
        struct server_hold hold = {.expires = key_end(world, server, name_text(world, name))};
        int64_t count = 0;
        if (parse_owner(redis_reply_view(&reply.elements[i]), &hold)) {
            integer_parse(redis_reply_view(&reply.elements[i + 1]), &count);
            hold.count = (uint32_t)count;
            struct redis_text owner = redis_reply_view(&reply.elements[i]);
            if (world->kind == REDLATCH_READ && owner.bytes[owner.size - 1] != 'e') { /* no writer's */
                int64_t end = reader_end(world, server, name, owner, count);
                hold.expires = end < hold.expires ? end : hold.expires;
            }
            add(world, all, hold);
        }
    }
    redis_reply_free(&reply);
}

static void read_string(struct world *world, uint32_t server, uint32_t name, struct server_holds *all) {
    struct redis_text text;
    struct server_hold hold = {.count = 1};
    if (keyspace_get(world->servers[server].keyspace, redis_text(name_text(world, name)), &text) &&
        parse_owner(text, &hold)) {
        hold.expires = key_end(world, server, name_text(world, name));
        add(world, all, hold);
    }
}

/* Reads the leases of permits. Their members are made of the client's uuid and a number. */
static void read_permits(struct world *world, uint32_t server, uint32_t name, struct server_holds *all) {
    static const char *const leases[NAMES_MAX] = {"{a}:timeout", "{b}:timeout"};
    const char *more[3] = {"0", "-1", "withscores"};
    struct redis_reply reply;
    call(world, server, "zrange", leases[name], more, &reply);
    for (size_t i = 0; reply.kind == REDIS_ARRAY && i + 1 < reply.size; i += 2) {
        struct redis_text member = redis_reply_view(&reply.elements[i]);
        double end = 0;
        double_parse(redis_reply_view(&reply.elements[i + 1]), &end);
        struct server_hold hold = {.client = (unsigned char)member.bytes[0] >> 4, .count = 1};
        hold.expires = (int64_t)end * MILLISECOND;
        hold.id = permit_number(&world->clients[hold.client].engine, (const unsigned char *)member.bytes);
        if (hold.expires > world->now) {
            add(world, all, hold);
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
        !parse_owner(owner, hold)) {
        return false;
    }
    int64_t end = key_end(world, server, key.bytes);
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
            add(world, &world->held[server][name], hold);
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
    keyspace_set_time(world->servers[server].keyspace, world->now / MILLISECOND);
    for (uint32_t name = 0; name < world->name_count; name++) {
        struct server_holds *all = &world->held[server][name];
        all->count = 0;
        if (world->kind == REDLATCH_PERMIT_SEMAPHORE) {
            read_permits(world, server, name, all);
        } else if (world->kind == REDLATCH_PLAIN) {
            read_string(world, server, name, all);
        } else if (!names_share_values(world)) {
            read_hash(world, server, name, all);
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
