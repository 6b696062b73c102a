/* A foreign client like Redisson. It makes the changes that Redisson's scripts make: HINCRBY and PEXPIRE on a free key,
 * DEL and PUBLISH; in a group lock three fields for each value.
 * SPDX-License-Identifier: Apache-2.0 */
#include "foreign.h"

#include <stdio.h>

#include "world.h"

static const char foreign_field[] = "f0000000-1111-4222-8333-444444444444:7:write"; /* a mutex's lacks ":write" */

/* Returns its field. Of a read-write lock it takes the write lock. */
static struct redis_text own_field(const struct world *world) {
    return (struct redis_text){foreign_field, sizeof foreign_field - (world_has_read_write(world) ? 1 : 7)};
}

static void take_turn(struct world *world, void *actor, uint64_t number);

/* Foreign clients of plain locks write a string, and publish no message when they release. */
static bool is_plain(const struct world *world, uint32_t name) {
    return world_kind(world, name) == REDLATCH_PLAIN;
}

/* The fields of one value of a group lock. */
struct value_fields {
    char text[3][160];
};

static struct value_fields fields_of(const struct world *world, uint32_t value) {
    static const char *const ends[] = {"expire_time", "lock_count"};
    struct value_fields fields;
    struct redis_text owner = own_field(world);
    const char *name = world->values + (size_t)value * GROUP_VALUE_SIZE;
    snprintf(fields.text[0], sizeof fields.text[0], "%.*s", (int)GROUP_VALUE_SIZE, name);
    for (int i = 1; i < 3; i++) {
        snprintf(fields.text[i], sizeof fields.text[i], "%.*s:%.*s:%s", (int)GROUP_VALUE_SIZE, name, (int)owner.size,
                 owner.bytes, ends[i - 1]);
    }
    return fields;
}

static void write_values(struct world *world, uint32_t name, int64_t expires_ms) {
    struct keyspace *keyspace = world->server.keyspace;
    struct redis_text group = world->names[name];
    char ends[24];
    snprintf(ends, sizeof ends, "%lld", (long long)expires_ms);
    uint32_t first = world_first_value(world, name);
    for (uint32_t value = first; value <= first + 1; value++) {
        struct value_fields fields = fields_of(world, value);
        keyspace_hset(keyspace, group, redis_text(fields.text[0]), own_field(world));
        keyspace_hset(keyspace, group, redis_text(fields.text[1]), redis_text(ends));
        keyspace_hset(keyspace, group, redis_text(fields.text[2]), redis_text("1"));
    }
    int64_t ttl = keyspace_pttl(keyspace, group);
    if (ttl < 0 || keyspace_time(keyspace) + ttl < expires_ms) {
        keyspace_pexpireat(keyspace, group, expires_ms);
    }
}

static void delete_values(struct world *world, uint32_t name) {
    uint32_t first = world_first_value(world, name);
    for (uint32_t value = first; value <= first + 1; value++) {
        struct value_fields fields = fields_of(world, value);
        struct redis_reply reply = {0};
        struct redis_text words[] = {redis_text("HDEL"), world->names[name], redis_text(fields.text[0]),
                                     redis_text(fields.text[1]), redis_text(fields.text[2])};
        keyspace_call(world->server.keyspace, words, 5, &reply);
        redis_reply_free(&reply);
    }
}

static bool is_ours(struct world *world, uint32_t name) {
    struct redis_text text;
    if (world_has_values(world)) {
        return wire_find(&world->checker.wire[name], FOREIGN, 0) != NULL;
    }
    if (is_plain(world, name)) {
        return keyspace_get(world->server.keyspace, world->names[name], &text) && text_equal(text, own_field(world));
    }
    return keyspace_hget(world->server.keyspace, world->names[name], own_field(world), &text);
}

/* Returns whether the foreign client finds the lock free. */
static bool is_free(struct world *world, uint32_t name) {
    return world_has_values(world) ? !world->checker.wire[name].present
                                   : !keyspace_exists(world->server.keyspace, world->names[name]);
}

static void write_hold(struct world *world, uint32_t name, int64_t expires_ms) {
    struct keyspace *keyspace = world->server.keyspace;
    if (world_has_values(world)) {
        write_values(world, name, expires_ms);
        return;
    }
    if (is_plain(world, name)) {
        keyspace_set(keyspace, world->names[name], own_field(world));
    } else {
        keyspace_hset(keyspace, world->names[name], own_field(world), redis_text("1"));
    }
    if (world_has_read_write(world)) {
        keyspace_hset(keyspace, world->names[name], redis_text("mode"), redis_text("write"));
    }
    keyspace_pexpireat(keyspace, world->names[name], expires_ms);
}

static void release(struct world *world, void *actor, uint64_t number) {
    struct foreign *foreign = actor;
    if (!world->server.up || world->server.paused_until > world->now) {
        world_at(world, world->now + 20 * MILLISECOND, release, foreign, number);
        return;
    }
    foreign->held = false;
    server_touch(world);
    watch_name(world, foreign->name);
    if (is_ours(world, foreign->name)) {
        if (world_has_values(world)) {
            delete_values(world, foreign->name);
        } else {
            keyspace_delete(world->server.keyspace, world->names[foreign->name]);
        }
        if (!is_plain(world, foreign->name)) {
            server_publish(world, foreign->name, world_has_read_write(world));
        }
        watch_external(world, foreign->name, !is_plain(world, foreign->name));
        TRACE(world, "foreign client: releases lock %u", foreign->name);
        cover(world, COVER_FOREIGN_RELEASED);
    }
    world_at(world, world->now + random_between(&world->random, 0, 50 * MILLISECOND), take_turn, foreign, 0);
}

static void take_turn(struct world *world, void *actor, uint64_t number) {
    struct foreign *foreign = actor;
    struct sim_random *random = &world->random;
    (void)number;
    foreign->held = false;
    if (foreign->turns_left == 0) {
        return;
    }
    uint32_t name = random_below(random, world->plan.names) & (world_has_read_write(world) ? ~1u : ~0u);
    bool usable = world->server.up && world->server.paused_until <= world->now;
    server_touch(world);
    watch_name(world, name);
    if (!usable || !is_free(world, name)) {
        world_at(world, world->now + random_between(random, 200, 30 * MILLISECOND), take_turn, foreign, 0);
        return;
    }
    int64_t lease_ms = random_between(random, 30, 1500);
    foreign->turns_left--;
    foreign->name = name;
    foreign->held = true;
    int64_t expires_ms = keyspace_time(world->server.keyspace) + lease_ms;
    foreign->until = world->now + (lease_ms - lease_ms / 100 - 2) * MILLISECOND;
    write_hold(world, name, expires_ms);
    watch_external(world, name, false);
    check_beliefs_about(world, name);
    TRACE(world, "foreign client: takes lock %u for %d ms", name, (int)lease_ms);
    if (random_chance(random, 200)) {
        cover(world, COVER_FOREIGN_DIED);
        foreign->until = world->now; /* the foreign client no longer believes to hold it */
        world_at(world, world->now + lease_ms * MILLISECOND, take_turn, foreign, 0);
    } else {
        int64_t held = random_between(random, 0, lease_ms / 2) * MILLISECOND;
        world_at(world, world->now + held, release, foreign, 0);
    }
}

void foreign_start(struct world *world) {
    world->foreign.turns_left = world->plan.foreign ? 3 + random_below(&world->random, 30) : 0;
    world_at(world, random_between(&world->random, 0, 50 * MILLISECOND), take_turn, &world->foreign, 0);
}
