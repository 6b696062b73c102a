/* Threads that acquire, extend and release at random.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cluster_world.h"
#include "kinds.h"

static void supply(struct world *world, struct engine *engine, uint8_t kind) {
    struct engine_preallocation needed = engine_preallocation_needed(engine, kind);
    for (; needed.commands > 0; needed.commands--) {
        engine_add_command(engine, cluster_allocate(world, sizeof(struct command)));
    }
    for (; needed.wait_queues > 0; needed.wait_queues--) {
        engine_add_wait_queue(engine, cluster_allocate(world, sizeof(struct wait_queue)));
    }
    for (; needed.holds > 0; needed.holds--) {
        engine_add_hold(engine, cluster_allocate(world, sizeof(struct hold)));
    }
    for (; needed.batches > 0; needed.batches--) {
        engine_add_batch(engine, cluster_allocate(world, sizeof(struct command)),
                         cluster_allocate(world, RENEWAL_BATCH_SIZE * sizeof(struct renewal)));
    }
}

void callers_start(struct world *world) {
    uint64_t number = 0;
    uint32_t plays = 1 + (uint32_t)(world->seed / 3 % CALLERS);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        for (uint32_t j = 0; j < CALLERS; j++) {
            struct caller *caller = &world->clients[i].callers[j];
            caller->client = i;
            caller->number = ++number;
            caller->phase = PHASE_DONE;
            caller->act_at = j < plays ? world->now + random_between(&world->random, 0, 100000) : NEVER;
        }
    }
}

static struct hold *hold_of(struct world *world, const struct caller *caller) {
    struct hold *hold = world->clients[caller->client].names[caller->name]->holds;
    while (hold && hold->owner != caller->number) {
        hold = hold->next;
    }
    return hold;
}

bool caller_is_granted(const struct client *client, const struct hold *hold) {
    for (uint32_t i = 0; i < CALLERS; i++) {
        const struct caller *caller = &client->callers[i];
        if (hold->owner == caller->number && (!caller->busy || caller->held_before)) {
            return true;
        }
    }
    return false;
}

static void begin(struct world *world, struct caller *caller, uint8_t kind) {
    struct client *client = &world->clients[caller->client];
    struct operation *operation = &caller->operation;
    operation->kind = kind;
    operation->resource = client->names[caller->name];
    operation->owner = caller->number;
    operation->answer = &caller->answer;
    operation->max_hold_ms = REDLATCH_FOREVER;
    operation->wait_until = NEVER;
    operation->back_off = (struct back_off){.next_ms = 1, .max_ms = 128, .multiplier = 2};
    operation->pipeline = random_chance(&world->random, 700) ? PIPELINE_CALLERS : PIPELINE_CALLERS_SECOND;
    caller->timeout = world->now + random_between(&world->random, 200, 2000) * MILLISECOND;
    caller->began_at = world->now;
    caller->timed_out = false;
    caller->busy = true;
    supply(world, &client->engine, kind);
    TRACE(world, "client %u: caller %d begins %d of name %u", caller->client, (int)caller->number, kind, caller->name);
    engine_start(&client->engine, operation, world->now);
}

static void acquire(struct world *world, struct caller *caller, uint8_t lock_kind) {
    struct operation *operation = &caller->operation;
    operation->lock_kind = lock_kind;
    bool renewed = random_chance(&world->random, 500);
    operation->lease_ms = renewed ? REDLATCH_RENEWED : random_between(&world->random, 300, 4000);
    operation->non_blocking = random_chance(&world->random, 150);
    begin(world, caller, OPERATION_ACQUIRE);
    bool endless = !operation->non_blocking && random_chance(&world->random, 300);
    caller->timeout = endless ? NEVER : caller->timeout;
}

static void use(struct world *world, struct caller *caller, const struct hold *hold) {
    uint32_t dice = world->draining ? 1000 : random_below(&world->random, 1000);
    caller->operation.lock_kind = hold->lock_kind;
    if (dice < 150 && !kind_of_number(world->kind)->not_reentrant && hold->count < 3) {
        acquire(world, caller, hold->lock_kind);
    } else if (dice < 250) {
        caller->operation.lease_ms = random_between(&world->random, 100, 4000);
        cluster_note(world, caller->client, hold->id)->may_end_sooner = true;
        begin(world, caller, OPERATION_EXTEND);
    } else if (dice < 450) {
        caller->act_at = world->now + random_between(&world->random, 0, 2 * SECOND);
    } else {
        caller->operation.unconfirmed = random_chance(&world->random, world->unconfirmed);
        begin(world, caller, OPERATION_RELEASE);
    }
}

static void act(struct world *world, struct caller *caller) {
    struct client *client = &world->clients[caller->client];
    if (caller->busy && world->now >= caller->timeout) {
        caller->timeout = NEVER;
        caller->timed_out = true;
        engine_abort(&client->engine, &caller->operation, REDLATCH_TIMEOUT, world->now);
        return;
    }
    if (caller->busy || world->now < caller->act_at) {
        return;
    }
    memset(&caller->operation, 0, sizeof caller->operation);
    const struct hold *hold = hold_of(world, caller);
    caller->held_before = hold != NULL;
    bool goes_on = hold && hold->unconfirmed && !world->draining && random_chance(&world->random, 500);
    if (goes_on) {
        acquire(world, caller, hold->lock_kind); /* as a thread does that need not wait for the reply */
    } else if (hold && (hold->stage == HOLD_RELEASING || hold->deferred_releases > 0)) {
        caller->act_at = world->now + 5 * MILLISECOND; /* a release that was given up goes on in the background */
    } else if (hold) {
        use(world, caller, hold);
    } else if (world->draining) {
        caller->act_at = NEVER;
    } else {
        caller->name = random_below(&world->random, world->name_count);
        bool writes = world->kind == REDLATCH_READ && random_chance(&world->random, 400);
        acquire(world, caller, writes ? REDLATCH_WRITE : world->kind);
    }
}

void callers_act(struct world *world) {
    for (uint32_t i = 0; i < CLIENTS * CALLERS; i++) {
        act(world, &world->clients[i / CALLERS].callers[i % CALLERS]);
    }
}

int64_t callers_next(const struct world *world) {
    int64_t next = NEVER;
    for (uint32_t i = 0; i < CLIENTS * CALLERS; i++) {
        const struct caller *caller = &world->clients[i / CALLERS].callers[i % CALLERS];
        int64_t at = caller->busy ? caller->timeout : caller->act_at;
        next = at < next ? at : next;
    }
    return next;
}

bool callers_are_done(const struct world *world) {
    for (uint32_t i = 0; i < CLIENTS * CALLERS; i++) {
        const struct caller *caller = &world->clients[i / CALLERS].callers[i % CALLERS];
        if (caller->busy || caller->act_at != NEVER) {
            return false;
        }
    }
    return true;
}

static void ended(struct world *world, struct client *client, struct caller *caller) {
    const struct operation *operation = &caller->operation;
    TRACE(world, "client %u: operation %d of caller %d ends: %s (id %d)", caller->client, operation->kind,
          (int)caller->number, redlatch_status_name(operation->status), (int)operation->id);
    bool granted = operation->kind == OPERATION_ACQUIRE && operation->status == REDLATCH_OK;
    cluster_judge_ended(world, client, caller);
    caller->busy = false;
    caller->act_at = world->now + random_between(&world->random, 100, granted ? 400000 : 200000);
}

void callers_collect(struct world *world) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct client *client = &world->clients[i];
        struct list_link *link;
        while ((link = list_pop(&client->engine.finished)) != NULL) {
            struct operation *operation = container_of(link, struct operation, link);
            ended(world, client, container_of(operation, struct caller, operation));
        }
        cluster_judge_losses(world, client);
    }
}
