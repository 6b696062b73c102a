/* Runs seeds: counts_sim [--kind semaphore|permit_semaphore|latch] [--seeds N] [--first N] [--faults].
 * --faults plants mistakes into engine and scripts, one at a time, and wants each found.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "counts.h"
#include "kinds.h"
#include "planted.h"
#include "step_meter.h"

static const int64_t PLAY = 30 * SECOND;
static const int64_t RESOLVE = 7 * SECOND; /* what is under way arrives */
static const int64_t DRAIN = 45 * SECOND;

struct memory {
    struct memory *next;
    max_align_t room[];
};

void *world_allocate(struct world *world, size_t size) {
    struct memory *memory = allocate(1, sizeof *memory + size);
    memset(memory->room, 0, size);
    memory->next = world->memory;
    world->memory = memory;
    return memory->room;
}

void world_free(struct world *world) {
    while (world->memory) {
        struct memory *memory = world->memory;
        world->memory = memory->next;
        free(memory);
    }
    packets_free(&world->packets);
    keyspace_free(world->keyspace);
}

static void make_client(struct world *world, uint32_t number) {
    static const struct engine_settings settings = {
        .watchdog_lease_ms = 2000, .unreachable_timeout_ms = 5000, .claim_timeout_ms = 1000, .linger_ms = 500};
    struct client *client = &world->clients[number];
    char uuid[40];
    snprintf(uuid, sizeof uuid, "%u0000000-0000-8000-8000-000000000000", number);
    engine_init(&client->engine, &settings, uuid, random_next(&world->random));
    struct resource **buckets = world_allocate(world, 16 * sizeof *buckets);
    resource_table_rehash(&client->engine.resources, buckets, 16);
    client->resource = world_allocate(world, sizeof *client->resource + 1);
    client->resource->kind = world->kind;
    client->resource->name[0] = 'n';
    client->resource->name_size = 1;
    client->resource->hash = resource_hash("n", 1);
    resource_add(&client->engine.resources, client->resource);
    for (uint32_t pipeline = 0; pipeline < PIPELINE_COUNT; pipeline++) {
        client->pipelines.up[pipeline] = true;
    }
}

static void misfortune(struct world *world) {
    struct client *client = &world->clients[random_below(&world->random, CLIENTS)];
    uint32_t dice = random_below(&world->random, 100);
    if (dice < 60) {
        network_cut(world, client,
                    dice < 30   ? PIPELINE_CALLERS
                    : dice < 50 ? PIPELINE_CALLERS_SECOND
                                : PIPELINE_BACKGROUND);
    } else if (dice < 85) {
        network_cut_messages(world, client);
    } else {
        world->refuse_until = world->now + random_between(&world->random, 1000, 300000);
    }
    if (random_chance(&world->random, 250)) { /* what is sent again after a cut is refused then */
        world->busy_until = world->now + random_between(&world->random, 1000, 600000);
    }
}

/* Taken when the engine is busy without end: its driver would hold the client's mutex meanwhile. */
static jmp_buf busy_without_end;

/* One event after the other until `end`. */
static void play(struct world *world, int64_t end, bool draining) {
    int64_t outage = world->calm || draining ? NEVER : world->now;
    while (world->now < end && !world->failure[0] && !(draining && actors_are_done(world))) {
        step_meter_arm(&busy_without_end);
        int64_t next = actors_next(world);
        next = outage < next ? outage : next;
        for (uint32_t i = 0; i < CLIENTS; i++) {
            int64_t at = engine_next_timer(&world->clients[i].engine);
            next = at < next ? at : next;
        }
        next = next < end ? next : end;
        if (!network_step(world, next)) {
            world->now = next > world->now ? next : world->now;
            if (world->now >= outage) {
                misfortune(world);
                outage = world->now + random_between(&world->random, 1000, world->denied ? SECOND / 4 : SECOND);
            }
            for (uint32_t i = 0; i < CLIENTS; i++) {
                engine_run_timers(&world->clients[i].engine, world->now);
            }
            actors_act(world, draining);
        }
        actors_collect(world);
        network_flush(world);
        judge_wakes(world);
        judge_beliefs(world);
    }
}

static void run(struct world *world, uint64_t seed, uint8_t kind, struct script_set *scripts) {
    memset(world, 0, sizeof *world);
    if (setjmp(busy_without_end)) {
        fail(world, "the engine is busy without end");
        step_meter_disarm();
        return; /* what it was doing cannot be freed */
    }
    world->random.state = seed * 7919 + kind;
    world->seed = seed;
    world->kind = kind;
    world->scripts = scripts;
    world->calm = seed % 4 == 0;
    world->denied = seed % 4 == 3;
    world->total = TOTAL;
    world->keyspace = keyspace_new();
    world->now = 1000 * SECOND;
    world->packets.random = &world->random;
    world->packets.slow = seed % 3 ? 50 : 500; /* much happens on the way to those who seldom act */
    keyspace_on_publish(world->keyspace, network_publish, world);
    keyspace_set(world->keyspace, redis_text("n"), redis_text("4"));
    for (uint32_t i = 0; i < CLIENTS; i++) {
        make_client(world, i);
    }
    actors_start(world);
    play(world, world->now + PLAY, false);
    world->refuse_until = 0;
    world->busy_until = 0;
    play(world, world->now + RESOLVE, true);
    if (kind == REDLATCH_LATCH) { /* now whoever waits gets what it waits for */
        network_call(world, "del", "n", NULL);
        network_call(world, "publish", "redisson_countdownlatch__channel__{n}", "0");
    } else {
        network_call(world, "incrby", "n", "100");
        world->total += 100;
        network_call(world, "publish", "redisson_sc:{n}", "100");
    }
    int64_t end = world->now + DRAIN;
    play(world, end, true);
    if (!world->failure[0] && !actors_are_done(world)) {
        fail(world, "somebody still waits in the end");
    }
    while (!world->failure[0] && world->now < end) { /* what goes on in the background */
        step_meter_arm(&busy_without_end);
        int64_t next = end;
        for (uint32_t i = 0; i < CLIENTS; i++) {
            int64_t at = engine_next_timer(&world->clients[i].engine);
            next = at < next ? at : next;
        }
        if (!network_step(world, next)) {
            world->now = next > world->now ? next : world->now + 1;
            for (uint32_t i = 0; i < CLIENTS; i++) {
                engine_run_timers(&world->clients[i].engine, world->now);
            }
        }
        network_flush(world);
    }
    if (!world->failure[0]) {
        judge_end(world);
    }
    step_meter_disarm();
    world_free(world);
}

/* Mistakes in scripts: a part of one, and what stands there instead. */
static const struct {
    const char *what;
    uint8_t kind;
    enum script_id script;
    const char *part, *instead;
} plants[] = {
    {"acquire forgets what it recorded", REDLATCH_SEMAPHORE, SCRIPT_ACQUIRE_SEMAPHORE, "if recorded then",
     "if false then"},
    {"acquire records no refusal", REDLATCH_SEMAPHORE, SCRIPT_ACQUIRE_SEMAPHORE, "record(KEYS[2], taken)",
     "if taken ~= 0 then record(KEYS[2], taken) end"},
    {"acquire takes one more than there is", REDLATCH_SEMAPHORE, SCRIPT_ACQUIRE_SEMAPHORE, ">= tonumber(ARGV[3])",
     "> tonumber(ARGV[3]) - 2"},
    {"undo leaves no mark", REDLATCH_SEMAPHORE, SCRIPT_UNDO_TAKEN, "record(KEYS[2], 'undone')", ""},
    {"release forgets what it recorded", REDLATCH_SEMAPHORE, SCRIPT_RELEASE_SEMAPHORE, "if recorded then",
     "if false then"},
    {"release tells nobody", REDLATCH_SEMAPHORE, SCRIPT_RELEASE_SEMAPHORE,
     "redis.call('publish', ARGV[4], string.format('%.0f', value))", ""},
    {"drain forgets what it recorded", REDLATCH_SEMAPHORE, SCRIPT_DRAIN_SEMAPHORE, "if recorded then", "if false then"},
    {"the record of another operation is taken for one's own", REDLATCH_SEMAPHORE, SCRIPT_RELEASE_SEMAPHORE,
     "if number ~= ARGV[2] then", "if not number then"},
    {"add forgets what it recorded", REDLATCH_SEMAPHORE, SCRIPT_ADD_SEMAPHORE, "if recorded then", "if false then"},
    {"count-down forgets what it recorded", REDLATCH_LATCH, SCRIPT_COUNT_DOWN, "if recorded then", "if false then"},
    {"count-down tells nobody", REDLATCH_LATCH, SCRIPT_COUNT_DOWN, "if left == 0 then", "if left == -5 then"},
    {"a set latch is set again", REDLATCH_LATCH, SCRIPT_TRY_SET_COUNT, "if recorded then", "if false then"},
    {"a deleted latch tells nobody", REDLATCH_LATCH, SCRIPT_DELETE_COUNT, "redis.call('publish', ARGV[1], ARGV[2])",
     ""},
    {"a deleted semaphore tells nobody", REDLATCH_SEMAPHORE, SCRIPT_DELETE_COUNT,
     "redis.call('publish', ARGV[1], ARGV[2])", ""},
    {"a closed latch is open", REDLATCH_LATCH, SCRIPT_WATCH_LATCH, "tonumber(value) <= 0", "tonumber(value) <= 1"},
    {"a semaphore without permits is free", REDLATCH_SEMAPHORE, SCRIPT_WATCH, "tonumber(token) > 0",
     "tonumber(token) >= 0"},
    {"acquire does not look for its ids", REDLATCH_PERMIT_SEMAPHORE, SCRIPT_ACQUIRE_PERMITS, "if repeated then",
     "if false then"},
    {"expired ones are not counted", REDLATCH_PERMIT_SEMAPHORE, SCRIPT_ACQUIRE_PERMITS,
     "value = redis.call('incrby', KEYS[1], #expired)", ""},
    {"release counts what is not there", REDLATCH_PERMIT_SEMAPHORE, SCRIPT_RELEASE_PERMITS, "if #found > 0 then",
     "if true then found[1] = found[1] or 'x'"},
    {"set forgets what it recorded", REDLATCH_PERMIT_SEMAPHORE, SCRIPT_SET_PERMITS, "if recorded then",
     "if false then"},
    {"those that are taken are set again", REDLATCH_PERMIT_SEMAPHORE, SCRIPT_SET_PERMITS, "(value + taken)", "value"},
    {"add forgets what it recorded", REDLATCH_PERMIT_SEMAPHORE, SCRIPT_ADD_SEMAPHORE, "if recorded then",
     "if false then"},
    {"deleted without their leases", REDLATCH_PERMIT_SEMAPHORE, SCRIPT_DELETE_PERMITS,
     "redis.call('del', KEYS[1], KEYS[2])", "redis.call('del', KEYS[1])"},
    {"expired ones count as taken", REDLATCH_PERMIT_SEMAPHORE, SCRIPT_COUNT_PERMITS, "'(' .. now, '+inf'", "0, '+inf'"},
    {"a lease is told as a time of day", REDLATCH_PERMIT_SEMAPHORE, SCRIPT_LEASE_OF_PERMIT, "score - now", "score"},
    {"renewal of what is over", REDLATCH_PERMIT_SEMAPHORE, SCRIPT_RENEW_PERMITS, "score = type(score)",
     "redis.call('zadd', leases, string.format('%.0f', now + ARGV[2 * i]), ARGV[2 * i - 1]) score = type(score)"},
};

static const struct {
    const char *what;
    uint8_t kind;
    enum planted_fault fault;
} engine_faults[] = {
    {"an acquire that was given up is not undone", REDLATCH_SEMAPHORE, FAULT_NO_COMPENSATION},
    {"a message while asking is missed", REDLATCH_SEMAPHORE, FAULT_MESSAGE_MISSED_WHILE_REQUESTING},
    {"the next waiter sleeps", REDLATCH_SEMAPHORE, FAULT_NEXT_WAITER_SLEEPS},
    {"no look after a subscription", REDLATCH_LATCH, FAULT_NO_RECHECK_AFTER_SUBSCRIBE},
    {"the safe time is longer than the lease", REDLATCH_PERMIT_SEMAPHORE, FAULT_NO_MARGIN},
    {"a late copy finds another's record", REDLATCH_SEMAPHORE, FAULT_RECORD_OF_LATE_COPY_REUSED},
    {"a command without an answer finds another's record", REDLATCH_SEMAPHORE, FAULT_RECORD_WITHOUT_ANSWER_REUSED},
};

/* The first seed of so many that fails; 0 if none does. */
static uint64_t first_failure(struct world *world, uint8_t kind, struct script_set *scripts, uint64_t first,
                              uint64_t seeds) {
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        run(world, seed, kind, scripts);
        if (world->failure[0]) {
            return seed;
        }
    }
    return 0;
}

enum { FAULT_SEEDS = 2000 };

static bool found(struct world *world, const char *what, uint8_t kind, struct script_set *scripts) {
    uint64_t seed = first_failure(world, kind, scripts, 1, FAULT_SEEDS);
    const char *name = kind_of_number(kind)->name;
    if (seed) {
        printf("%s: %-45s  seed %-6d %s\n", name, what, (int)seed, world->failure);
    } else {
        printf("%s: %-45s  NOT FOUND in %d seeds\n", name, what, FAULT_SEEDS);
    }
    fflush(stdout);
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
        missed += !found(world, plants[i].what, plants[i].kind, &scripts);
        script_set_close(&scripts);
    }
    for (size_t i = 0; i < sizeof engine_faults / sizeof engine_faults[0]; i++) {
        struct script_set scripts;
        script_set_open(&scripts, NULL);
        planted_fault = engine_faults[i].fault;
        missed += !found(world, engine_faults[i].what, engine_faults[i].kind, &scripts);
        planted_fault = FAULT_NONE;
        script_set_close(&scripts);
    }
    size_t all = sizeof plants / sizeof plants[0] + sizeof engine_faults / sizeof engine_faults[0];
    printf("%zu passed, %d failed\n", all - (size_t)missed, missed);
    return missed > 0;
}

int main(int count, char **words) {
    static const uint8_t kinds[] = {REDLATCH_SEMAPHORE, REDLATCH_PERMIT_SEMAPHORE, REDLATCH_LATCH};
    static struct world world;
    uint64_t seeds = 300;
    uint64_t first = 1;
    const char *only = NULL;
    if (count == 2 && strcmp(words[1], "--faults") == 0) {
        return find_faults(&world);
    }
    for (int i = 1; i < count; i += 2) {
        const char *value = i + 1 < count ? words[i + 1] : "";
        if (strcmp(words[i], "--seeds") == 0) {
            seeds = strtoull(value, NULL, 10);
        } else if (strcmp(words[i], "--first") == 0) {
            first = strtoull(value, NULL, 10);
        } else if (strcmp(words[i], "--kind") == 0) {
            only = value;
        } else {
            fprintf(stderr, "counts_sim: %s: expected --kind, --seeds, --first or --faults\n", words[i]);
            return 2;
        }
    }
    int failed = 0;
    struct script_set scripts;
    if (!script_set_open(&scripts, NULL)) {
        return 2;
    }
    int passed = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const char *name = kind_of_number(kinds[i])->name;
        if (only && strcmp(only, name) != 0) {
            continue;
        }
        uint64_t seed = first_failure(&world, kinds[i], &scripts, first, seeds);
        if (seed) {
            printf("%s: seed %d: %s\n", name, (int)seed, world.failure);
        }
        failed += seed != 0;
        passed += seed == 0;
    }
    script_runs_print(scripts.runs);
    printf("%d passed, %d failed\n", passed, failed);
    script_set_close(&scripts);
    return failed > 0 || passed == 0;
}
