/* One seed: all callers act at random while slots move and masters are replaced, then release what they have.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "channels.h"
#include "cluster_world.h"
#include "planted_edits.h"

static const int64_t PLAY = 10 * SECOND;
static const int64_t DRAIN = 60 * SECOND;
static const int64_t END = 6 * SECOND; /* longer than any lease */

enum { SAME_TIME_MAX = 100000 };

void *cluster_allocate(struct world *world, size_t size) {
    return memory_give(&world->memory, size);
}

static void free_world(struct world_common *common) {
    struct world *world = (struct world *)common;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        topology_free(&world->clients[i].topology);
    }
    memory_free(&world->memory);
    network_free(&world->network, world->servers, NODES);
}

/* Makes a resource as client_resource does. */
static struct resource *make_resource(struct world *world, struct client *client, uint32_t name) {
    struct resource *resource = cluster_allocate(world, sizeof *resource + 1);
    resource->kind = world->kind;
    resource->name[0] = name_text(name)[0];
    resource->name_size = 1;
    resource->hash = resource_hash(resource->name, 1);
    resource->slot = slot_of_name(name);
    resource->server = client->routes[resource->slot];
    resource->channel_in_slot = channel_is_in_slot(resource);
    return resource;
}

static void make_client(struct world *world, uint32_t number) {
    static const struct engine_settings settings = {.watchdog_lease_ms = 2000,
                                                    .unreachable_timeout_ms = 5000,
                                                    .claim_timeout_ms = 1000,
                                                    .linger_ms = 500,
                                                    .fair_timeout_ms = 3000};
    struct client *client = &world->clients[number];
    char uuid[40];
    snprintf(uuid, sizeof uuid, "%u0000000-0000-8000-8000-000000000000", number);
    engine_init(&client->engine, &client->nobody, &settings, uuid, random_next(&world->random));
    client->engine.losses_wanted[LOSS_EVENTS] = true;
    resource_table_rehash(&client->engine.resources, cluster_allocate(world, 16 * sizeof(struct resource *)), 16);
    routes_start(world, number);
    for (uint32_t node = 0; node < NODES; node++) {
        server_init(&client->nodes[node]);
        server_set_sharding(&client->nodes[node], !world->network.bus);
        client->peers[node].engine = &client->engine;
        client->peers[node].engine_server = &client->nodes[node];
        client->peers[node].server = &world->servers[node];
        network_add_peer(&world->network, &client->peers[node]);
    }
    for (uint32_t name = 0; name < world->name_count; name++) {
        client->names[name] = make_resource(world, client, name);
        resource_add(&client->engine.resources, client->names[name]);
    }
}

static void replicated(struct world_common *common, struct sim_server *server) {
    struct world *world = (struct world *)common;
    for (uint32_t name = 0; name < world->name_count; name++) {
        node_holds_read(world, node_of_server(world, server), name);
    }
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
    int64_t at[] = {callers_next(world), events_next(world), routes_next(world)};
    int64_t next = NEVER;
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        next = at[i] < next ? at[i] : next;
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        int64_t timer = engine_next_timer(&world->clients[i].engine);
        next = timer < next ? timer : next;
    }
    return next;
}

/* Runs one event after the other until `end`, or, when draining, until all callers are done. */
static void play(struct world *world, int64_t end) {
    uint32_t same_time = 0;
    while (world->now < end && !world->failed && !(world->draining && !world->ending && callers_are_done(world))) {
        int64_t before = world->now;
        int64_t next = next_event(world);
        event_begins();
        if (!advance(world, next < end ? next : end)) {
            for (uint32_t i = 0; i < CLIENTS; i++) {
                engine_run_timers(&world->clients[i].engine, world->now);
            }
            events_act(world);
            routes_act(world);
            callers_act(world);
        }
        callers_collect(world);
        network_flush(&world->network);
        cluster_judge_holds(world);
        cluster_judge_waiters(world);
        cluster_judge_left_behind(world);
        same_time = world->now > before ? 0 : same_time + 1;
        if (same_time > SAME_TIME_MAX) {
            world_violation(world, "time stands still", "for %d events", SAME_TIME_MAX);
        }
    }
}

static void start(struct world *world, uint8_t kind) {
    uint64_t seed = world->seed;
    world->random.state = seed * 15485863 + kind;
    world->kind = kind;
    world->calm = seed % 4 == 0;
    world->restless = seed % 5 < 2;
    world->full_coverage = seed % 3 == 0;
    world->name_count = 1 + (uint32_t)(seed / 2 % NAMES_MAX);
    world->unconfirmed = seed % 7 < 4 ? 500 : 0;
    world->now = 1000 * SECOND;
    struct network *network = &world->network;
    network->world = &world->common;
    network->slow = world->calm ? 0 : seed % 5 ? 20 : 200;
    network->connects_within = world->calm ? 5 * MILLISECOND : 0;
    network->bus = seed % 2 == 0;
    network->after_script = cluster_judge_script;
    network->sent = cluster_judge_sent;
    network->replicated = replicated;
    network->delivered = client_delivered;
    network->refuses = node_refuses;
    network->redirected = client_redirected;
    network->subscribes = node_subscribes;
    network->refused = client_refused;
    network->lost = client_lost;
    for (uint32_t node = 0; node < NODES; node++) {
        network_add_server(network, &world->servers[node]);
    }
    for (uint32_t i = 0; i < CLIENTS; i++) {
        make_client(world, i);
    }
    TRACE(world, "seed %llu: %u names, messages %s%s", (unsigned long long)seed, world->name_count,
          network->bus ? "on the bus" : "within shards", world->calm ? ", calm" : "");
    events_start(world);
    callers_start(world);
}

static void simulate(struct world_common *common, uint8_t kind) {
    struct world *world = (struct world *)common;
    start(world, kind);
    play(world, world->now + PLAY);
    world->draining = true;
    events_end(world);
    play(world, world->now + DRAIN);
    world->ending = true;
    play(world, world->now + END);
    if (!world->failed) {
        cluster_judge_end(world);
    }
}

static const struct planted_edit *const planted[] = {planted_cluster, NULL};

const struct scenario cluster_scenario = {.world_size = sizeof(struct world),
                                          .simulate = simulate,
                                          .free = free_world,
                                          .planted = planted,
                                          .first_point = COVER_SLOT_MOVED,
                                          .end_point = COVER_COUNT};
