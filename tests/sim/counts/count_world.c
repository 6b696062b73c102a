/* One seed of the simulation of counts: all actors act at random during faults, then release what they have.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>

#include "count_world.h"
#include "planted_edits.h"
#include "wire.h"

static const int64_t PLAY = 30 * SECOND;
static const int64_t RESOLVE = 7 * SECOND; /* for operations in progress */
static const int64_t DRAIN = 45 * SECOND;

void *world_allocate(struct world *world, size_t size) {
    return memory_give(&world->memory, size);
}

static void free_world(struct world_common *common) {
    struct world *world = (struct world *)common;
    memory_free(&world->memory);
    network_free(&world->network, &world->server, 1);
}

int64_t count_command(struct world *world, const char *command, const char *key, const char *argument) {
    struct redis_text words[] = {redis_text(command), redis_text(key), redis_text(argument ? argument : "")};
    struct redis_reply reply = {0};
    int64_t number = 0;
    keyspace_set_time(world->server.keyspace, world->now / MILLISECOND);
    keyspace_call(world->server.keyspace, words, argument ? 3 : 2, &reply);
    if (reply.kind == REDIS_INTEGER) {
        number = reply.integer;
    } else if (reply.kind == REDIS_BULK) {
        integer_parse(redis_reply_view(&reply), &number);
    }
    redis_reply_free(&reply);
    return number;
}

static void make_client(struct world *world, uint32_t number) {
    static const struct engine_settings settings = {
        .watchdog_lease_ms = 2000, .unreachable_timeout_ms = 5000, .claim_timeout_ms = 1000, .linger_ms = 500};
    struct client *client = &world->clients[number];
    char uuid[40];
    snprintf(uuid, sizeof uuid, "%u0000000-0000-8000-8000-000000000000", number);
    engine_init(&client->engine, &client->engine_server, &settings, uuid, random_next(&world->random));
    struct resource **buckets = world_allocate(world, 16 * sizeof *buckets);
    resource_table_rehash(&client->engine.resources, buckets, 16);
    client->resource = world_allocate(world, sizeof *client->resource + 1);
    client->resource->kind = world->kind;
    client->resource->name[0] = 'n';
    client->resource->name_size = 1;
    client->resource->hash = resource_hash("n", 1);
    resource_add(&client->engine.resources, client->resource);
    client->peer.engine = &client->engine;
    client->peer.server = &world->server;
    network_add_peer(&world->network, &client->peer);
}

static void misfortune(struct world *world) {
    struct client *client = &world->clients[random_below(&world->random, CLIENTS)];
    uint32_t dice = random_below(&world->random, 100);
    if (dice < 60) {
        network_cut(&world->network, &client->peer,
                    dice < 30   ? PIPELINE_CALLERS
                    : dice < 50 ? PIPELINE_CALLERS_SECOND
                                : PIPELINE_BACKGROUND);
    } else if (dice < 85) {
        network_cut_messages(&world->network, &client->peer);
    } else {
        world->server.refuse_until = world->now + random_between(&world->random, 1000, 300000);
    }
    if (random_chance(&world->random, 250)) { /* repeats after a cut are then refused, too */
        world->server.busy_until = world->now + random_between(&world->random, 1000, 600000);
    }
}

/* Returns when the next timer of an engine is due. */
static int64_t next_timer(const struct world *world) {
    int64_t next = NEVER;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        int64_t at = engine_next_timer(&world->clients[i].engine);
        next = at < next ? at : next;
    }
    return next;
}

/* Delivers the next packet if it is due by `until`, and returns true. Else advances the time to `until`. */
static bool advance(struct world *world, int64_t until) {
    int64_t packet = network_next(&world->network);
    int64_t to = packet <= until ? packet : until;
    world->steps++;
    world->now = to > world->now ? to : world->now;
    return packet <= until && network_step(&world->network);
}

/* Runs one event after the other until `end`. */
static void play(struct world *world, int64_t end, bool draining) {
    int64_t outage = world->calm || draining ? NEVER : world->now;
    while (world->now < end && !world->failed && !(draining && actors_are_done(world))) {
        event_begins();
        int64_t next = actors_next(world);
        next = outage < next ? outage : next;
        int64_t timer = next_timer(world);
        next = timer < next ? timer : next;
        if (!advance(world, next < end ? next : end)) {
            if (world->now >= outage) {
                misfortune(world);
                outage = world->now + random_between(&world->random, 1000, world->network.denied ? SECOND / 4 : SECOND);
            }
            for (uint32_t i = 0; i < CLIENTS; i++) {
                engine_run_timers(&world->clients[i].engine, world->now);
            }
            actors_act(world, draining);
        }
        actors_collect(world);
        network_flush(&world->network);
        judge_wakes(world);
        judge_permits(world);
    }
}

static void start(struct world *world, uint8_t kind) {
    uint64_t seed = world->seed;
    world->random.state = seed * 7919 + kind;
    world->kind = kind;
    world->calm = seed % 4 == 0;
    world->total = TOTAL;
    world->now = 1000 * SECOND;
    world->network.world = &world->common;
    world->network.denied = seed % 4 == 3;
    world->network.slow = seed % 3 ? 50 : 500; /* with slow packets in the seeds whose actors act seldom */
    world->network.before_script = judge_before;
    world->network.after_script = judge_after;
    network_add_server(&world->network, &world->server);
    keyspace_set(world->server.keyspace, redis_text("n"), redis_text("4"));
    for (uint32_t i = 0; i < CLIENTS; i++) {
        make_client(world, i);
    }
    actors_start(world);
}

static void simulate(struct world_common *common, uint8_t kind) {
    struct world *world = (struct world *)common;
    start(world, kind);
    play(world, world->now + PLAY, false);
    world->server.refuse_until = 0;
    world->server.busy_until = 0;
    play(world, world->now + RESOLVE, true);
    if (kind == REDLATCH_LATCH) { /* from now on every waiter gets what it waits for */
        count_command(world, "del", "n", NULL);
        count_command(world, "publish", "redisson_countdownlatch__channel__{n}", "0");
    } else {
        count_command(world, "incrby", "n", "100");
        world->total += 100;
        count_command(world, "publish", "redisson_sc:{n}", "100");
    }
    int64_t end = world->now + DRAIN;
    play(world, end, true);
    if (!world->failed && !actors_are_done(world)) {
        world_violation(world, "somebody still waits in the end", "after %d s", (int)(DRAIN / SECOND));
    }
    while (!world->failed && world->now < end) { /* the engines' work in the background */
        event_begins();
        int64_t timer = next_timer(world);
        int64_t before = world->now;
        if (!advance(world, timer < end ? timer : end)) {
            world->now += world->now == before;
            for (uint32_t i = 0; i < CLIENTS; i++) {
                engine_run_timers(&world->clients[i].engine, world->now);
            }
        }
        network_flush(&world->network);
    }
    if (!world->failed) {
        judge_counts(world);
    }
}

static const struct planted_edit *const planted[] = {planted_counts, NULL};

const struct scenario counts_scenario = {
    .world_size = sizeof(struct world), .simulate = simulate, .free = free_world, .planted = planted};
