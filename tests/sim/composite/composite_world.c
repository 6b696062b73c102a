/* One seed: all callers acquire and release at random during faults, then release what they have.
 * SPDX-License-Identifier: Apache-2.0 */
#include "planted_edits.h"
#include "composite_world.h"

static const int64_t PLAY = 20 * SECOND;
static const int64_t DRAIN = 60 * SECOND;   /* every waiter is granted its lock and releases it */
static const int64_t RESOLVE = 10 * SECOND; /* what was given up is released; half a long lease */

enum { SAME_TIME_MAX = 100000 };

/* ------------------------------------------------------------------------------ system calls of the client layer -- */

static int64_t clock_now;
static struct sim_random system_randomness;

int64_t __wrap_system_now(void);
bool __wrap_background_start(struct client *client);
void __wrap_system_wait(_Atomic uint32_t *futex, uint32_t expected, int64_t until);
bool __wrap_system_random(void *bytes, size_t size);

int64_t __wrap_system_now(void) {
    return clock_now;
}

/* players_work does the work of the background thread. */
bool __wrap_background_start(struct client *client) {
    (void)client;
    return true;
}

/* Called for a client that is being closed. The whole wait passes. */
void __wrap_system_wait(_Atomic uint32_t *futex, uint32_t expected, int64_t until) {
    (void)futex;
    (void)expected;
    clock_now = until > clock_now ? until : clock_now;
}

bool __wrap_system_random(void *bytes, size_t size) {
    unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++) {
        at[i] = (unsigned char)random_next(&system_randomness);
    }
    return true;
}

/* ---------------------------------------------------------------------------------------------------------- runs -- */

/* Stops a process or a server for a while. A stop never becomes shorter, since packets that wait for its end must keep
 * their order. */
static void stop_for(struct world *world, int64_t *until) {
    int64_t end = world->now + random_between(&world->random, 1000, 3 * SECOND);
    *until = end > *until ? end : *until;
}

/* Stops a process with all its clients. */
static void stop_process(struct world *world, struct process *process) {
    stop_for(world, &process->paused_until);
    for (uint32_t i = 0; i < world->server_count; i++) {
        process->clients[i].peer.paused_until = process->paused_until;
    }
}

static void misfortune(struct world *world) {
    struct process *process = &world->processes[random_below(&world->random, PROCESSES)];
    struct sim_server *server = &world->servers[random_below(&world->random, world->server_count)];
    struct peer *peer = &process->clients[server - world->servers].peer;
    uint32_t dice = random_below(&world->random, 100);
    if (dice < 35) {
        network_cut(&world->network, peer, dice < 25 ? PIPELINE_HOST : PIPELINE_BACKGROUND);
    } else if (dice < 50) {
        network_cut_messages(&world->network, peer);
    } else if (dice < 75) {
        stop_for(world, &server->paused_until);
    } else if (dice < 88) {
        stop_process(world, process);
    } else {
        network_fail(&world->network, server, world->now + random_between(&world->random, SECOND / 10, 5 * SECOND));
    }
}

/* Advances the time to the next event, but not beyond `end`. */
static void advance(struct world *world, int64_t end) {
    int64_t players = players_next(world);
    int64_t packet = network_next(&world->network);
    int64_t to = packet < players ? packet : players;
    to = end < to ? end : to;
    world->steps++;
    world->now = to > world->now ? to : world->now;
    clock_now = world->now;
}

/* Runs one event after the other until `end`. */
static void play(struct world *world, int64_t end, bool draining) {
    int64_t outage = draining ? NEVER : world->now;
    uint32_t same_time = 0;
    while (world->now < end && !world->failed && !(draining && players_are_done(world))) {
        event_begins();
        int64_t before = world->now;
        advance(world, outage < end ? outage : end);
        same_time = world->now > before ? 0 : same_time + 1;
        if (world->now >= outage) {
            misfortune(world);
            outage = world->now + random_between(&world->random, 1000, SECOND);
        }
        network_step(&world->network);
        players_work(world);
        players_act(world, draining);
        players_work(world);
        players_rest(world);
        network_flush(&world->network);
        judge_holders(world);
        if (same_time > SAME_TIME_MAX) {
            world_violation(world, "time stands still", "for %d events", SAME_TIME_MAX);
        }
    }
}

static void start(struct world *world, bool majority) {
    uint64_t seed = world->seed;
    if (owners[0] == 0) {
        for (int i = 0; i <= CALLERS; i++) {
            redlatch_owner_new(&owners[i]);
        }
    }
    world->random.state = seed * 7919 + majority;
    system_randomness.state = seed;
    world->majority = majority;
    world->long_lease = seed % 2 == 0;
    world->server_count = majority ? (seed % 3 == 0 ? 5 : 3) : 2 + seed % 2;
    world->name_count = majority ? 1 : NAMES_MAX;
    world->quorum = majority ? world->server_count / 2 + 1 : world->server_count;
    world->network.world = &world->common;
    world->network.denied = seed % 5 == 4;
    world->network.slow = 30;
    world->network.delivered = players_delivered;
    world->now = 1000 * SECOND;
    clock_now = world->now;
    for (uint32_t i = 0; i < world->server_count; i++) {
        network_add_server(&world->network, &world->servers[i]);
    }
    players_start(world);
}

static void simulate(struct world_common *common, uint8_t kind) {
    struct world *world = (struct world *)common;
    start(world, kind == KIND_REDLOCK);
    play(world, world->now + PLAY, false);
    play(world, world->now + DRAIN, true);
    if (!world->failed && !players_are_done(world)) {
        world_violation(world, "somebody still waits in the end", "after %d s", (int)(DRAIN / SECOND));
    }
    int64_t lease = world->long_lease ? 20 * SECOND : 3 * SECOND;
    int64_t end = world->now + RESOLVE + (world->network.denied ? 2 * lease : 0);
    while (!world->failed && world->now < end) { /* the work in the background */
        event_begins();
        advance(world, end);
        network_step(&world->network);
        players_work(world);
        players_rest(world);
        network_flush(&world->network);
    }
    if (!world->failed) {
        judge_nothing_left(world);
    }
}

static void free_world(struct world_common *common) {
    struct world *world = (struct world *)common;
    players_free(world);
    network_free(&world->network, world->servers, world->server_count);
}

uint64_t owners[CALLERS + 1];

/* Mistakes in scripts: a part of a script, and what somebody might have written instead. */
const struct planted_edit planted_composites[] = {
    {"acquire looks at nobody else", SCRIPT_ACQUIRE_MANY, KIND_MULTI, "call('exists', unpack(KEYS)) == 0", "true"},
    {"acquire looks at nobody else", SCRIPT_ACQUIRE_MANY, KIND_REDLOCK, "call('exists', unpack(KEYS)) == 0", "true"},
    {"release forgets a name", SCRIPT_RELEASE_MANY, KIND_MULTI, "checked(try('hdel', KEYS[i], ARGV[2 * i]))",
     "KEYS[i] == 'b' and 1 or checked(try('hdel', KEYS[i], ARGV[2 * i]))"},
    {NULL, SCRIPT_COUNT, 0, NULL, NULL},
};

static const struct planted_edit *const planted[] = {planted_composites, NULL};

const struct scenario composite_scenario = {
    .world_size = sizeof(struct world), .simulate = simulate, .free = free_world, .planted = planted};
