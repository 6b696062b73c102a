/* One seed of the simulation of locks, from the first event to the end of the last lease.
 * SPDX-License-Identifier: Apache-2.0 */
#include "world.h"

#include "kinds.h"
#include "nemesis.h"
#include "planted_edits.h"

enum { STEPS_MAX = 400000, HOT_WORLDS = 10 };
static const int64_t TIME_MAX = 240 * SECOND; /* after the last fault; far more than any program takes */

static const char *const lock_names[MAX_NAMES] = {"orders:0", "orders:1", "orders:2", "orders:3"};

void world_at(struct world *world, int64_t at, event_handler *handler, void *actor, uint64_t number) {
    struct event event = {at > world->now ? at : world->now, random_next(&world->random), handler, actor, number};
    event_queue_push(&world->events, event);
}

bool world_has_room(struct world *world, const char *table, size_t count, size_t room) {
    if (count >= room) {
        world_violation(world, "a table of the simulation is full", "%s: %d", table, (int)room);
    }
    return count < room;
}

uint32_t world_name(const struct world *world, struct redis_text name) {
    uint32_t number = (uint32_t)(name.bytes[name.size - 1] - '0');
    return number < world->plan.names ? number : 0;
}

bool world_is_healed(const struct world *world) {
    return world->now > world->plan.faults_end && world->now > world->troubled_until;
}

static bool all_owners_finished(const struct world *world) {
    for (uint32_t i = 0; i < world->plan.clients; i++) {
        for (uint32_t k = 0; k < world->plan.owners; k++) {
            const struct owner *owner = &world->clients[i]->owners[k];
            if (!owner->finished || owner->pending > 0) {
                return false;
            }
        }
    }
    return !world->foreign.held && world->foreign.turns_left == 0;
}

/* Returns how long the slowest remaining activity takes: a lease, prolonged by setting the clock; a claim; a lingering
 * subscription. */
static int64_t aftermath(const struct world *world) {
    const struct engine_settings *settings = &world->plan.settings;
    int64_t lease_ms = world->checker.longest_lease_ms + world->checker.longest_lease_ms / 50;
    return 2 * lease_ms * MILLISECOND + world->clock_set_back +
           (settings->fair_timeout_ms + settings->claim_timeout_ms * 2 + settings->linger_ms * 2) * MILLISECOND +
           4 * SECOND;
}

uint8_t world_kind(const struct world *world, uint32_t name) {
    static const uint8_t kinds[2][MAX_NAMES] = {{REDLATCH_PLAIN, REDLATCH_FENCED, REDLATCH_MUTEX, REDLATCH_PLAIN},
                                                {REDLATCH_SPIN, REDLATCH_FENCED, REDLATCH_MUTEX, REDLATCH_FENCED}};
    return world->plan.mixed ? kinds[world->seed % 2][name] : world->plan.lock_kind;
}

static void start(struct world *world, uint8_t lock_kind, bool sets) {
    uint64_t seed = world->seed;
    world->random.state = seed * UINT64_C(0x5851F42D4C957F2D) + 1;
    list_init(&world->late_requests);
    plan_draw(&world->plan, &world->random);
    if (seed % HOT_WORLDS == 0) {
        plan_make_hot(&world->plan, seed % (2 * HOT_WORLDS) == 0);
    }
    world->plan.mixed = lock_kind == KINDS_MIXED;
    world->plan.lock_kind = world->plan.mixed ? REDLATCH_MUTEX : lock_kind;
    for (uint32_t name = 0; name < MAX_NAMES; name++) {
        if (kind_of_number(world_kind(world, name))->not_reentrant) {
            world->plan.reenters = 0;
        }
    }
    world->plan.sets = sets;
    if (world_has_values(world)) {
        world->plan.names_of_group = !sets ? MAX_NAMES : seed % 3 == 0 ? 1 : 2;
    }
    if (world_has_read_write(world) || world->plan.names_of_group == 2) {
        world->plan.names = world->plan.names > 1 ? 4 : 2;
    }
    world->plan.writers_only = world_has_read_write(world) && seed % 5 == 0; /* so in all hot worlds: readers share */
    if (lock_kind == REDLATCH_FAIR) { /* no foreign client: it would acquire a free lock past the queue */
        static const int64_t timeouts[] = {900, 2500, 30000};
        world->plan.settings.fair_timeout_ms = timeouts[seed % 3];
        world->plan.foreign = false;
    }
    for (uint32_t i = 0; i < MAX_NAMES; i++) {
        uint32_t key = world_has_read_write(world) ? i & ~1u : world_has_values(world) ? world_group(world, i) : i;
        world->names[i] = redis_text(lock_names[key]);
    }
    for (size_t i = 0; i < MAX_VALUES; i++) {
        group_value(lock_names[0], i, world->values + i * GROUP_VALUE_SIZE);
    }
    group_sort(world->values, MAX_VALUES);
    TRACE(world, "seed %llu: %u clients with %u owners, %u locks, delays %d-%d us, watchdog %d ms%s%s%s",
          (unsigned long long)seed, world->plan.clients, world->plan.owners, world->plan.names,
          (int)world->plan.delay_min, (int)world->plan.delay_max, (int)world->plan.settings.watchdog_lease_ms,
          world->plan.calm ? ", calm" : "", world->plan.kill_denied ? ", KILL denied" : "",
          world->plan.subscribe_denied ? ", subscriptions denied" : "");
    world->coverage.counts[COVER_CALM_WORLD] += world->plan.calm;
    world->coverage.counts[COVER_DRIFT_WORLD] += world->plan.drift;
    world->coverage.counts[COVER_KILL_DENIED_WORLD] += world->plan.kill_denied;
    world->coverage.counts[COVER_SUBSCRIBE_DENIED_WORLD] += world->plan.subscribe_denied;
    server_start(world);
    checker_start(world);
    for (uint32_t i = 0; i < world->plan.clients; i++) {
        client_start(world, i);
    }
    foreign_start(world);
    nemesis_start(world);
    check_waits_start(world);
    check_losses_start(world);
}

static void simulate(struct world *world, uint8_t lock_kind, bool sets) {
    struct event event;
    int64_t quiet_since = NEVER;
    start(world, lock_kind, sets);
    while (!world->failed && event_queue_pop(&world->events, &event)) {
        world->now = event.at;
        event_begins();
        event.handler(world, event.actor, event.number);
        world->steps++;
        if (quiet_since == NEVER && all_owners_finished(world) && world_is_healed(world)) {
            quiet_since = world->now;
        }
        if (quiet_since != NEVER && world->now - quiet_since > aftermath(world)) {
            break;
        }
        if (world->steps > STEPS_MAX || world->now > world->plan.faults_end + TIME_MAX) {
            world_violation(world, "the run does not come to an end", "%d steps, %d s", (int)world->steps,
                            (int)(world->now / SECOND));
        }
    }
    if (!world->failed) {
        check_end(world);
    }
}

static void simulate_locks(struct world_common *world, uint8_t kind) {
    simulate((struct world *)world, kind, false);
}

static void simulate_sets(struct world_common *world, uint8_t kind) {
    simulate((struct world *)world, kind, true);
}

static void free_world(struct world_common *common) {
    struct world *world = (struct world *)common;
    struct list_link *link;
    while ((link = list_pop(&world->late_requests)) != NULL) {
        sim_request_free(container_of(link, struct request, link));
    }
    for (uint32_t i = 0; i < world->plan.clients; i++) {
        if (world->clients[i]) {
            client_free(world->clients[i]);
        }
    }
    connections_free(world);
    checker_free(world);
    server_free(&world->server);
    event_queue_release(&world->events);
}

static const struct planted_edit *const planted_in_locks[] = {planted_scripts, planted_fair, planted_sides,
                                                              planted_groups, NULL};
static const struct planted_edit *const planted_in_sets[] = {planted_sets, planted_member_types, NULL};

const struct scenario locks_scenario = {
    .world_size = sizeof(struct world), .simulate = simulate_locks, .free = free_world, .planted = planted_in_locks};
const struct scenario sets_scenario = {
    .world_size = sizeof(struct world), .simulate = simulate_sets, .free = free_world, .planted = planted_in_sets};
