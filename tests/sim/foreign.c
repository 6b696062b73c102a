/* The Redisson-like peer. Its scripts' effects are written out here: HINCRBY and PEXPIRE on a free key, DEL and
 * PUBLISH. SPDX-License-Identifier: Apache-2.0 */
#include "foreign.h"

#include "world.h"

static const char foreign_field[] = "f0000000-1111-4222-8333-444444444444:7:write"; /* of a mutex without the end */

/* Of a read-write lock it takes the writers' side. */
static struct redis_text own_field(const struct world *world) {
    return (struct redis_text){foreign_field, sizeof foreign_field - (world_has_sides(world) ? 1 : 7)};
}

static void take_turn(struct world *world, void *actor, uint64_t number);

/* The peers of plain locks write their word as a string, and tell nobody of a release. */
static bool is_plain(const struct world *world) {
    return world->plan.lock_kind == REDLATCH_PLAIN;
}

static bool is_ours(struct world *world, uint32_t name) {
    struct redis_text text;
    if (is_plain(world)) {
        return keyspace_get(world->server.keyspace, world->names[name], &text) && text_equal(text, own_field(world));
    }
    return keyspace_hget(world->server.keyspace, world->names[name], own_field(world), &text);
}

static void write_hold(struct world *world, uint32_t name) {
    if (is_plain(world)) {
        keyspace_set(world->server.keyspace, world->names[name], own_field(world));
        return;
    }
    keyspace_hset(world->server.keyspace, world->names[name], own_field(world), redis_text("1"));
    if (world_has_sides(world)) {
        keyspace_hset(world->server.keyspace, world->names[name], redis_text("mode"), redis_text("write"));
    }
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
        keyspace_delete(world->server.keyspace, world->names[foreign->name]);
        if (!is_plain(world)) {
            server_publish(world, foreign->name, world_has_sides(world));
        }
        watch_external(world, foreign->name, !is_plain(world));
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
    uint32_t name = random_below(random, world->plan.names) & (world_has_sides(world) ? ~1u : ~0u);
    bool usable = world->server.up && world->server.paused_until <= world->now;
    server_touch(world);
    watch_name(world, name);
    if (!usable || keyspace_exists(world->server.keyspace, world->names[name])) {
        world_at(world, world->now + random_between(random, 200, 30 * MILLISECOND), take_turn, foreign, 0);
        return;
    }
    int64_t lease_ms = random_between(random, 30, 1500);
    foreign->turns_left--;
    foreign->name = name;
    foreign->held = true;
    int64_t expires_ms = keyspace_time(world->server.keyspace) + lease_ms;
    foreign->until = world->now + (lease_ms - lease_ms / 100 - 2) * MILLISECOND;
    write_hold(world, name);
    keyspace_pexpireat(world->server.keyspace, world->names[name], expires_ms);
    watch_external(world, name, false);
    check_name(world, name);
    TRACE(world, "foreign client: takes lock %u for %d ms", name, (int)lease_ms);
    if (random_chance(random, 200)) {
        cover(world, COVER_FOREIGN_DIED);
        foreign->until = world->now; /* nobody believes in it any more */
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
