/* Runs seeds: composite_sim [--kind multi|redlock] [--seeds N] [--first N] [--faults].
 * --faults plants mistakes into client layer, engine and scripts, one at a time, and wants each found.
 * SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "planted.h"
#include "several.h"
#include "step_meter.h"

static const int64_t PLAY = 20 * SECOND;
static const int64_t DRAIN = 60 * SECOND;   /* everybody who waits gets it, and gives it back */
static const int64_t RESOLVE = 10 * SECOND; /* what was given up is given back; half a long lease */

enum { SAME_TIME_MAX = 100000, FAULT_SEEDS = 1000 };

/* -------------------------------------------------------------------------------- what the client layer asks for -- */

static int64_t clock_now;
static struct sim_random system_randomness;

int64_t __wrap_system_now(void);
bool __wrap_background_start(struct client *client);
void __wrap_system_wait(_Atomic uint32_t *futex, uint32_t expected, int64_t until);
bool __wrap_system_random(void *bytes, size_t size);

int64_t __wrap_system_now(void) {
    return clock_now;
}

/* Its work is players_work's. */
bool __wrap_background_start(struct client *client) {
    (void)client;
    return true;
}

/* Of a client that is being closed. */
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

/* What waits for the end of a stop keeps its order, so none ends sooner than it was to. */
static void stop_for(struct world *world, int64_t *until) {
    int64_t end = world->now + random_between(&world->random, 1000, 3 * SECOND);
    *until = end > *until ? end : *until;
}

static void misfortune(struct world *world) {
    struct process *process = &world->processes[random_below(&world->random, PROCESSES)];
    struct server *server = &world->servers[random_below(&world->random, world->server_count)];
    struct peer *peer = &process->peers[server - world->servers];
    uint32_t dice = random_below(&world->random, 100);
    if (dice < 35) {
        network_cut(peer, dice < 25 ? PIPELINE_HOST : PIPELINE_BACKGROUND);
    } else if (dice < 50) {
        network_cut_messages(peer);
    } else if (dice < 75) {
        stop_for(world, &server->paused_until);
    } else if (dice < 88) {
        stop_for(world, &process->paused_until);
    } else {
        network_fail(world, server, world->now + random_between(&world->random, SECOND / 10, 5 * SECOND));
    }
}

static void advance(struct world *world, int64_t to) {
    world->now = to > world->now ? to : world->now;
    clock_now = world->now;
}

/* Taken when a client is busy without end: it would hold its mutex meanwhile. */
static jmp_buf busy_without_end;

/* One event after the other until `end`. */
static void play(struct world *world, int64_t end, bool draining) {
    int64_t outage = draining ? NEVER : world->now;
    uint32_t same_time = 0;
    while (world->now < end && !world->failure[0] && !(draining && players_are_done(world))) {
        step_meter_arm(&busy_without_end);
        int64_t next = players_next(world);
        int64_t packet = network_next(world);
        next = packet < next ? packet : next;
        next = outage < next ? outage : next;
        next = end < next ? end : next;
        same_time = next > world->now ? 0 : same_time + 1;
        advance(world, next);
        if (world->now >= outage) {
            misfortune(world);
            outage = world->now + random_between(&world->random, 1000, SECOND);
        }
        network_step(world);
        players_work(world);
        players_act(world, draining);
        players_work(world);
        players_rest(world);
        network_flush(world);
        judge_beliefs(world);
        if (same_time > SAME_TIME_MAX) {
            fail(world, "time stands still");
        }
    }
}

static void run(struct world *world, uint64_t seed, bool majority, struct script_set *scripts) {
    memset(world, 0, sizeof *world);
    if (setjmp(busy_without_end)) { /* it holds its mutex: there is no going on */
        fprintf(stderr, "%s: seed %llu: a client is busy without end\n", world->majority ? "redlock" : "multi",
                (unsigned long long)world->seed);
        _exit(1);
    }
    world->random.state = seed * 7919 + majority;
    system_randomness.state = seed;
    world->seed = seed;
    world->majority = majority;
    world->denied = seed % 5 == 4;
    world->long_lease = seed % 2 == 0;
    world->server_count = majority ? (seed % 3 == 0 ? 5 : 3) : 2 + seed % 2;
    world->name_count = majority ? 1 : NAMES_MAX;
    world->quorum = majority ? world->server_count / 2 + 1 : world->server_count;
    world->scripts = scripts;
    advance(world, 1000 * SECOND);
    network_start(world);
    players_start(world);
    play(world, world->now + PLAY, false);
    play(world, world->now + DRAIN, true);
    if (!world->failure[0] && !players_are_done(world)) {
        fail(world, "somebody still waits in the end");
    }
    int64_t lease = world->long_lease ? 20 * SECOND : 3 * SECOND;
    int64_t end = world->now + RESOLVE + (world->denied ? 2 * lease : 0);
    while (!world->failure[0] && world->now < end) { /* what goes on in the background */
        step_meter_arm(&busy_without_end);
        int64_t next = players_next(world);
        int64_t packet = network_next(world);
        next = packet < next ? packet : next;
        advance(world, next < end ? next : end);
        network_step(world);
        players_work(world);
        players_rest(world);
        network_flush(world);
    }
    if (!world->failure[0]) {
        judge_end(world);
    }
    step_meter_disarm();
    players_free(world);
    network_free(world);
}

/* The first seed of so many that fails; 0 if none does. */
static uint64_t first_failure(struct world *world, bool majority, struct script_set *scripts, uint64_t first,
                              uint64_t seeds) {
    uint64_t grants = 0;
    uint64_t losses = 0;
    uint64_t troubled = 0;
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        run(world, seed, majority, scripts);
        if (world->failure[0]) {
            return seed;
        }
        grants += world->grants;
        losses += world->losses;
        troubled += world->troubled;
    }
    printf("%s: %d seeds, %d grants, %d losses, %d calls that met no server\n", majority ? "redlock" : "multi",
           (int)seeds, (int)grants, (int)losses, (int)troubled);
    return 0;
}

/* -------------------------------------------------------------------------------------------------------- faults -- */

/* Mistakes in scripts: a part of one, and what stands there instead. */
static const struct {
    const char *what;
    bool majority;
    enum script_id script;
    const char *part, *instead;
} plants[] = {
    {"acquire looks at nobody else", false, SCRIPT_ACQUIRE_MANY, "call('exists', unpack(KEYS)) == 0", "true"},
    {"acquire looks at nobody else", true, SCRIPT_ACQUIRE_MANY, "call('exists', unpack(KEYS)) == 0", "true"},
    {"release forgets a name", false, SCRIPT_RELEASE_MANY, "checked(try('hdel', KEYS[i], ARGV[2 * i]))",
     "KEYS[i] == 'b' and 1 or checked(try('hdel', KEYS[i], ARGV[2 * i]))"},
};

static const struct {
    const char *what;
    bool majority;
    enum planted_fault fault;
} faults[] = {
    {"one server too few is enough", true, FAULT_MINORITY_IS_ENOUGH},
    {"one server too few is enough", false, FAULT_MINORITY_IS_ENOUGH},
    {"what a failed round was granted is kept", true, FAULT_ROUND_KEPT_IN_PART},
    {"what a failed round was granted is kept", false, FAULT_ROUND_KEPT_IN_PART},
    {"what did not answer is not given back", true, FAULT_NO_COMPENSATION},
    {"a round that took longer than the lease is believed", true, FAULT_LATE_ROUND_IS_BELIEVED},
    {"a round that took longer than the lease is believed", false, FAULT_LATE_ROUND_IS_BELIEVED},
    {"who waits for a member is not told of its release", false, FAULT_WATCH_IS_FORGOTTEN},
    {"the loss of a minority is told as one of the whole", true, FAULT_MINORITY_LOSES_ALL},
    {"the safe time is longer than the lease", true, FAULT_NO_MARGIN},
    {"the safe time counts from the reply", true, FAULT_DEADLINE_FROM_REPLY},
};

static bool found(struct world *world, const char *what, bool majority, struct script_set *scripts) {
    uint64_t seed = 0;
    for (uint64_t i = 1; i <= FAULT_SEEDS && seed == 0; i++) {
        run(world, i, majority, scripts);
        seed = world->failure[0] ? i : 0;
    }
    printf("%s: %s: seed %d: %s\n", majority ? "redlock" : "multi", what, (int)seed,
           seed ? world->failure : "NOT FOUND");
    return seed != 0;
}

static int find_faults(struct world *world) {
    int missed = 0;
    for (size_t i = 0; i < sizeof plants / sizeof plants[0]; i++) {
        struct script_set scripts;
        if (!script_set_open(&scripts, NULL) ||
            !script_set_edit(&scripts, plants[i].script, plants[i].part, plants[i].instead)) {
            printf("%s: can not be planted\n", plants[i].what);
            return 1;
        }
        missed += !found(world, plants[i].what, plants[i].majority, &scripts);
        script_set_close(&scripts);
    }
    struct script_set scripts;
    if (!script_set_open(&scripts, NULL)) {
        return 1;
    }
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        char number[12];
        snprintf(number, sizeof number, "%d", faults[i].fault);
        setenv("REDLATCH_PLANTED_FAULT", number, 1); /* read when a client is opened */
        missed += !found(world, faults[i].what, faults[i].majority, &scripts);
    }
    unsetenv("REDLATCH_PLANTED_FAULT");
    script_set_close(&scripts);
    size_t all = sizeof plants / sizeof plants[0] + sizeof faults / sizeof faults[0];
    printf("%zu passed, %d failed\n", all - (size_t)missed, missed);
    return missed > 0;
}

uint64_t owners[CALLERS + 1];

int main(int count, char **words) {
    static struct world world;
    for (int i = 0; i <= CALLERS; i++) {
        redlatch_owner_new(&owners[i]);
    }
    uint64_t seeds = 200;
    uint64_t first = 1;
    const char *only = "";
    if (count == 2 && strcmp(words[1], "--faults") == 0) {
        return find_faults(&world);
    }
    for (int i = 1; i < count; i += 2) {
        const char *value = i + 1 < count ? words[i + 1] : "";
        if (strcmp(words[i], "--seeds") == 0) {
            seeds = strtoull(value, NULL, 10);
        } else if (strcmp(words[i], "--first") == 0) {
            first = strtoull(value, NULL, 10);
        } else if (strcmp(words[i], "--kind") == 0 && (strcmp(value, "multi") == 0 || strcmp(value, "redlock") == 0)) {
            only = value;
        } else {
            fprintf(stderr,
                    "composite_sim: %s %s: expected --kind multi, --kind redlock, --seeds N, --first N, --faults\n",
                    words[i], value);
            return 2;
        }
    }
    struct script_set scripts;
    if (!script_set_open(&scripts, NULL)) {
        return 2;
    }
    int failed = 0;
    for (int majority = 0; majority <= 1; majority++) {
        const char *kind = majority ? "redlock" : "multi";
        uint64_t seed = *only && strcmp(only, kind) != 0 ? 0 : first_failure(&world, majority, &scripts, first, seeds);
        if (seed) {
            printf("%s: seed %d: %s\n", kind, (int)seed, world.failure);
            failed++;
        }
    }
    script_runs_print(scripts.runs);
    printf("%d passed, %d failed\n", 2 - failed, failed);
    script_set_close(&scripts);
    return failed > 0;
}
