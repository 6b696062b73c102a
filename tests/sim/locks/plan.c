/* Draws the plan of a world.
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan.h"

#include <string.h>

static uint32_t some(struct sim_random *random, uint32_t chance, uint32_t most) {
    return random_chance(random, chance) ? 1 + random_below(random, most) : 0;
}

static void draw_times(struct plan *plan, struct sim_random *random) {
    static const int64_t watchdog_leases[] = {300, 600, 1500, 4000};
    plan->settings.watchdog_lease_ms = watchdog_leases[random_below(random, 4)];
    plan->settings.unreachable_timeout_ms = random_between(random, 1500, 6000);
    plan->settings.claim_timeout_ms = random_between(random, 200, 1500);
    plan->settings.linger_ms = random_chance(random, 500) ? random_between(random, 5, 60) : 1000;
    plan->command_timeout_ms = random_between(random, 150, 1500);
    plan->dead_peer_ms = random_between(random, 300, 1500);
    plan->lease_max_ms = random_chance(random, 400) ? 150 : 2500;
    plan->wait_max_ms = random_chance(random, 400) ? 60 : 1500;
    static const int64_t holds[] = {100, 3000, 120000, 120000};
    plan->hold_max = holds[random_below(random, 4)];
    plan->think_max = random_chance(random, 500) ? 1 * MILLISECOND : 60 * MILLISECOND;
}

static void draw_network(struct plan *plan, struct sim_random *random) {
    uint32_t speed = random_below(random, 4);
    plan->delay_min = speed < 2 ? 50 : 200;
    plan->delay_max = speed == 0 ? 120 : speed == 1 ? 300 : speed == 2 ? 4000 : 30000;
    plan->spikes = speed >= 2 ? some(random, 400, 40) : 0;
    plan->quick = speed < 2;
}

static void draw_habits(struct plan *plan, struct sim_random *random) {
    plan->asynchronous = some(random, 500, 1000);
    plan->shared = some(random, 400, 600);
    plan->forever = 0;
    plan->tries = some(random, 500, 400);
    plan->fixed = some(random, 600, 700);
    plan->max_holds = some(random, 400, 300);
    plan->impatient = some(random, 500, 300);
    plan->extends = some(random, 500, 250);
    plan->reenters = some(random, 600, 400);
    plan->queries = some(random, 300, 60);
    plan->forces = some(random, 200, 60);
    plan->owner_ends = some(random, 400, 120);
    plan->strays = some(random, 300, 60);
    plan->lazy_host = random_chance(random, 300);
    plan->drift = random_chance(random, 600);
    plan->foreign = random_chance(random, 350);
    plan->subscribe_denied = random_chance(random, 60);
    plan->unconfirmed = some(random, 400, 1000);
}

static int64_t fault_duration(const struct plan *plan, struct sim_random *random, enum cover_point kind) {
    switch (kind) {
    case NEMESIS_PAUSE_CLIENT_LONG:
        return random_between(random, plan->settings.watchdog_lease_ms, plan->settings.watchdog_lease_ms * 2) *
               MILLISECOND;
    case NEMESIS_REFUSE_CONNECT:
    case NEMESIS_HANG_CONNECT:
    case NEMESIS_READ_ONLY:
    case NEMESIS_BUSY:
    case NEMESIS_MISCONF:
    case NEMESIS_LOADING:
    case NEMESIS_OUT_OF_MEMORY:
        return random_chance(random, 80) ? random_between(random, 1500, 8000) * MILLISECOND
                                         : random_between(random, 5, 900) * MILLISECOND;
    default:
        return random_between(random, 2, 700) * MILLISECOND;
    }
}

/* Adds a last fault after all others, so that the checks can judge what this fault alone causes. */
static void end_quietly(struct plan *plan, struct sim_random *random) {
    struct planned_fault *last = &plan->faults[plan->fault_count - 1];
    last->kind = NEMESIS_IDLE_END;
    last->at = plan->faults_end + random_between(random, 0, 500 * MILLISECOND);
    last->duration = random_between(random, 2, 100) * MILLISECOND;
    plan->faults_end = last->at + last->duration;
}

static void draw_faults(struct plan *plan, struct sim_random *random) {
    enum cover_point enabled[NEMESIS_COUNT + 3];
    uint32_t enabled_count = 0;
    uint32_t share = random_chance(random, 300) ? 80 : random_chance(random, 500) ? 250 : 600;
    for (int kind = 0; kind < NEMESIS_COUNT; kind++) {
        if (random_chance(random, share)) {
            enabled[enabled_count++] = (enum cover_point)kind;
        }
    }
    if (enabled_count == 0) {
        enabled[enabled_count++] = (enum cover_point)random_below(random, NEMESIS_COUNT);
    }
    plan->kill_denied = random_chance(random, 200);
    if (plan->kill_denied) { /* it matters only if connections break, mostly after extends */
        enabled_count = enabled_count > 2 ? 2 : enabled_count;
        plan->caller_pipelines = 1;
        enabled[enabled_count++] = NEMESIS_RESET;
        enabled[enabled_count++] = NEMESIS_SWALLOW;
        enabled[enabled_count++] = NEMESIS_GHOST;
        plan->extends = 100 + random_below(random, 300);
    }
    uint32_t least = plan->kill_denied ? MAX_FAULTS / 2 : 2;
    plan->fault_count = least + random_below(random, MAX_FAULTS - least);
    int64_t at = 0;
    int64_t spacing = random_chance(random, 500) ? 60 * MILLISECOND : 400 * MILLISECOND;
    for (uint32_t i = 0; i < plan->fault_count; i++) {
        at += random_between(random, MILLISECOND, spacing);
        struct planned_fault *fault = &plan->faults[i];
        fault->at = at;
        fault->kind = enabled[random_below(random, enabled_count)];
        fault->duration = fault_duration(plan, random, fault->kind);
        if (at + fault->duration > plan->faults_end) {
            plan->faults_end = at + fault->duration;
        }
    }
    if (random_chance(random, 300)) {
        end_quietly(plan, random);
    }
    plan->faults_end += 100 * MILLISECOND;
}

void plan_make_hot(struct plan *plan, bool brief) {
    plan->clients = plan->clients > 1 ? plan->clients : 2;
    plan->owners = brief ? 2 : MAX_OWNERS;
    plan->names = 1;
    plan->delay_min = 50;
    plan->delay_max = 120;
    plan->spikes = 0;
    plan->quick = true;
    plan->hold_max = brief ? 3 * MILLISECOND : 100;
    plan->think_max = MILLISECOND;
    plan->tries = 0;
    if (brief) {
        plan->forever = 0;
        plan->wait_max_ms = 5;
    } else {
        plan->impatient = 0;
    }
}

void plan_draw(struct plan *plan, struct sim_random *random) {
    memset(plan, 0, sizeof *plan);
    plan->clients = 1 + random_below(random, MAX_CLIENTS);
    plan->owners = 3;
    plan->names = 1 + random_below(random, 3);
    plan->caller_pipelines = random_chance(random, 500) ? 1 : 2 + random_below(random, 3);
    plan->actions = 15 + random_below(random, 60);
    draw_times(plan, random);
    draw_network(plan, random);
    draw_habits(plan, random);
    plan->calm = random_chance(random, 220);
    if (plan->calm) {
        plan->forces = 0;
        plan->spikes = 0;
    } else {
        draw_faults(plan, random);
    }
}
