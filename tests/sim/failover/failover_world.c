/* One seed: all owners act at random while replicas take the place of the master, then release what they have.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>

#include "failover_counts.h"
#include "kind_limits.h"
#include "planted_edits.h"

static const int64_t PLAY = 10 * SECOND;
static const int64_t DRAIN = 60 * SECOND;

enum { REPLICA_TIMEOUT_MS = 100, SAME_TIME_MAX = 100000 };

void *failover_allocate(struct world *world, size_t size) {
    return memory_give(&world->memory, size);
}

static void free_world(struct world_common *common) {
    struct world *world = (struct world *)common;
    memory_free(&world->memory);
    network_free(&world->network, world->servers, SERVERS);
}

const char *name_text(const struct world *world, uint32_t name) {
    static const char *const names[NAMES_MAX] = {"a", "b"};
    return names_share_values(world) ? names[0] : names[name % NAMES_MAX];
}

static struct resource *make_resource(struct world *world, uint32_t name) {
    struct resource *resource = failover_allocate(world, sizeof *resource + 1 + (size_t)2 * GROUP_VALUE_SIZE);
    resource->kind = world->kind;
    resource->name[0] = name_text(world, name)[0];
    resource->name_size = 1;
    resource->hash = resource_hash(resource->name, 1);
    if (names_share_values(world)) {
        resource->value_count = 2;
        memcpy(resource->name + 1, name_values(world, name), (size_t)2 * GROUP_VALUE_SIZE);
    }
    return resource;
}

static void make_client(struct world *world, uint32_t number) {
    struct engine_settings settings = {.watchdog_lease_ms = 2000,
                                       .unreachable_timeout_ms = 5000,
                                       .claim_timeout_ms = 1000,
                                       .linger_ms = 500,
                                       .fair_timeout_ms = 3000,
                                       .replica_timeout_ms = REPLICA_TIMEOUT_MS,
                                       .min_replicas = world->min_replicas};
    struct client *client = &world->clients[number];
    char uuid[40];
    snprintf(uuid, sizeof uuid, "%u0000000-0000-8000-8000-000000000000", number);
    engine_init(&client->engine, &client->engine_server, &settings, uuid, random_next(&world->random));
    client->engine.losses_wanted[LOSS_EVENTS] = true;
    resource_table_rehash(&client->engine.resources, failover_allocate(world, 16 * sizeof(struct resource *)), 16);
    for (uint32_t name = 0; name < world->name_count; name++) {
        client->names[name] = make_resource(world, name);
        resource_add(&client->engine.resources, client->names[name]);
    }
    client->peer.engine = &client->engine;
    client->peer.server = &world->servers[0];
    network_add_peer(&world->network, &client->peer);
}

static void moved(struct world_common *common, struct peer *peer) {
    container_of(peer, struct client, peer)->moved_at = common->now;
}

static void replicated(struct world_common *common, struct sim_server *server) {
    struct world *world = (struct world *)common;
    server_holds_read(world, server_index(world, server));
}

/* Delivers the next packet if it is due by `until`, and returns true. Else advances the time to `until`. */
static bool advance(struct world *world, int64_t until) {
    int64_t packet = network_next(&world->network);
    int64_t to = packet <= until ? packet : until;
    world->steps++;
    world->now = to > world->now ? to : world->now;
    return packet <= until && network_step(&world->network);
}

static int64_t next_event(const struct world *world) {
    int64_t owners = world->counted ? count_actors_next(world) : owners_next(world);
    int64_t next = failovers_next(world);
    next = owners < next ? owners : next;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        int64_t at = engine_next_timer(&world->clients[i].engine);
        next = at < next ? at : next;
    }
    return next;
}

static bool are_done(const struct world *world) {
    return world->counted ? count_actors_are_done(world) : owners_are_done(world);
}

static void act(struct world *world) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        engine_run_timers(&world->clients[i].engine, world->now);
    }
    failovers_act(world);
    (world->counted ? count_actors_act : owners_act)(world);
}

/* Collects the operations that have ended, and runs the checks that follow each event. */
static void collect(struct world *world) {
    (world->counted ? count_actors_collect : owners_collect)(world);
    network_flush(&world->network);
    if (world->counted) {
        judge_sleepers(world);
    } else {
        judge_beliefs(world);
        judge_waiters(world);
        judge_left_behind(world);
    }
}

/* Runs one event after the other until `end`, or, when draining, until all owners are done. */
static void play(struct world *world, int64_t end) {
    uint32_t same_time = 0;
    while (world->now < end && !world->failed && !(world->draining && are_done(world))) {
        int64_t before = world->now;
        int64_t next = next_event(world);
        event_begins();
        if (!advance(world, next < end ? next : end)) {
            act(world);
        }
        collect(world);
        same_time = world->now > before ? 0 : same_time + 1;
        if (same_time > SAME_TIME_MAX) {
            world_violation(world, "time stands still", "for %d events", SAME_TIME_MAX);
        }
    }
}

static void start(struct world *world, uint8_t kind) {
    static const uint32_t needed[] = {0, SERVERS - 1, 1};
    bool is_counted = kind_is_number(kind);
    uint64_t seed = world->seed;
    world->random.state = seed * 104729 + kind;
    world->kind = kind;
    world->calm = seed % 7 == 0;
    world->min_replicas = needed[seed % 3];
    world->unconfirmed = kind != REDLATCH_PERMIT_SEMAPHORE && seed % 5 < 3 ? 500 : 0;
    world->name_count = 1 + (uint32_t)(seed / 2 % NAMES_MAX);
    world->now = 1000 * SECOND;
    world->network.world = &world->common;
    world->network.slow = world->calm ? 0 : seed % 4 ? 20 : 200;
    world->network.moved = moved;
    if (is_counted) {
        world->name_count = 1;
        world->network.before_script = changes_before_script;
        world->network.after_script = changes_after_script;
    } else {
        world->network.after_script = judge_script;
        world->network.sent = judge_sent;
        world->network.replicated = replicated;
    }
    for (uint32_t i = 0; i < SERVERS; i++) {
        network_add_server(&world->network, &world->servers[i]);
    }
    for (uint32_t name = 0; name < world->name_count && kind == REDLATCH_PERMIT_SEMAPHORE; name++) {
        keyspace_set(world->servers[0].keyspace, redis_text(name_text(world, name)), redis_text("2"));
    }
    for (size_t i = 0; i <= NAMES_MAX; i++) {
        group_value("abc", i, world->values + i * GROUP_VALUE_SIZE);
    }
    group_sort(world->values, NAMES_MAX + 1);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        make_client(world, i);
    }
    TRACE(world, "seed %llu: %u names, %u replicas needed%s", (unsigned long long)seed, world->name_count,
          world->min_replicas, world->calm ? ", calm" : "");
    if (kind == REDLATCH_SEMAPHORE) {
        keyspace_set(world->servers[0].keyspace, redis_text(name_text(world, 0)), redis_text("4"));
    }
    failovers_start(world);
    (is_counted ? count_actors_start : owners_start)(world);
}

static void simulate(struct world_common *common, uint8_t kind) {
    struct world *world = (struct world *)common;
    start(world, kind);
    play(world, world->now + PLAY);
    world->draining = true;
    world->failover_at = NEVER;
    for (uint32_t i = 0; i < SERVERS; i++) {
        world->servers[i].replication.frozen_until = 0;
        world->servers[i].replication.lag_max = MILLISECOND;
    }
    play(world, world->now + DRAIN);
    if (!world->failed && !are_done(world)) {
        world_violation(world, "somebody still waits in the end", "after %d s", (int)(DRAIN / SECOND));
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        for (int id = 0; id < IDS_MAX; id++) {
            const struct id_note *note = &world->clients[i].notes[id];
            unconfirmed_end(common, i, id, &note->unconfirmed, note->released || note->release_repeated);
        }
    }
    if (!world->failed && world->counted) {
        judge_changes(world);
    }
}

static const struct planted_edit *const planted[] = {planted_failover, NULL};

const struct scenario failover_scenario = {.world_size = sizeof(struct world),
                                           .simulate = simulate,
                                           .free = free_world,
                                           .planted = planted,
                                           .first_point = COVER_NOT_REPLICATED,
                                           .end_point = COVER_SLOT_MOVED};

const struct scenario failover_counts_scenario = {.world_size = sizeof(struct world),
                                                  .simulate = simulate,
                                                  .free = free_world,
                                                  .planted = planted,
                                                  .first_point = COVER_COUNT_GRANTED,
                                                  .end_point = COVER_GRANT_LOST};
