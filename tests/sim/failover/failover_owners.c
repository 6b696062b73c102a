/* Threads that acquire, extend and release at random.
 * SPDX-License-Identifier: Apache-2.0 */
#include "failover_world.h"
#include "hold_command.h"
#include "kinds.h"

void failover_supply(struct world *world, struct engine *engine, uint8_t kind, uint32_t further_holds) {
    struct engine_preallocation needed = engine_preallocation_needed(engine, kind);
    for (; needed.commands > 0; needed.commands--) {
        engine_add_command(engine, failover_allocate(world, sizeof(struct command)));
    }
    for (; needed.wait_queues > 0; needed.wait_queues--) {
        engine_add_wait_queue(engine, failover_allocate(world, sizeof(struct wait_queue)));
    }
    for (needed.holds += further_holds; needed.holds > 0; needed.holds--) {
        engine_add_hold(engine, failover_allocate(world, sizeof(struct hold)));
    }
    for (; needed.batches > 0; needed.batches--) {
        engine_add_batch(engine, failover_allocate(world, sizeof(struct command)),
                         failover_allocate(world, RENEWAL_BATCH_SIZE * sizeof(struct renewal)));
    }
}

void owners_start(struct world *world) {
    uint64_t number = 0;
    uint32_t plays = 1 + (uint32_t)(world->seed / 3 % OWNERS);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        for (uint32_t j = 0; j < OWNERS; j++) {
            struct owner *owner = &world->clients[i].owners[j];
            owner->client = i;
            owner->number = ++number;
            owner->phase.phase = PHASE_DONE;
            owner->act_at = j < plays ? world->now + random_between(&world->random, 0, 100000) : NEVER;
        }
    }
}

/* Returns the owner number under which the engine has the hold of an owner. */
static uint64_t number_of(const struct world *world, const struct owner *owner) {
    bool permits = world->kind == REDLATCH_PERMIT_SEMAPHORE;
    return !permits ? owner->number : owner->permit ? PERMIT_OWNER | owner->permit : 0;
}

static struct hold *hold_of(struct world *world, const struct owner *owner) {
    struct client *client = &world->clients[owner->client];
    struct hold *hold = client->names[owner->name]->holds;
    while (hold && hold->owner != number_of(world, owner)) {
        hold = hold->next;
    }
    return hold;
}

bool owner_is_granted(const struct client *client, const struct hold *hold) {
    for (uint32_t i = 0; i < OWNERS; i++) {
        const struct owner *owner = &client->owners[i];
        bool is_permit = hold->id >= owner->permit && hold->id < owner->permit + owner->permits;
        bool is_own = hold->owner == owner->number || (is_permit && hold->owner == (PERMIT_OWNER | hold->id));
        if (is_own && (!owner->busy || owner->held_before)) {
            return true;
        }
    }
    return false;
}

/* Commands that wait for replicas use other connections than the other commands, as in the client layer. */
uint8_t failover_draw_pipeline(struct world *world, const struct client *client, const struct operation *operation) {
    if (operation_needs_acknowledgement(&client->engine, operation)) {
        return (uint8_t)(PIPELINE_CALLERS_SECOND + random_below(&world->random, 3));
    }
    return random_chance(&world->random, 700) ? PIPELINE_CALLERS : PIPELINE_CALLERS_SECOND;
}

static void begin(struct world *world, struct owner *owner, uint8_t kind) {
    struct client *client = &world->clients[owner->client];
    struct operation *operation = &owner->operation;
    operation->kind = kind;
    operation->resource = client->names[owner->name];
    operation->owner = kind == OPERATION_ACQUIRE ? owner->number : number_of(world, owner);
    operation->answer = &owner->answer;
    operation->max_hold_ms = REDLATCH_FOREVER;
    operation->wait_until = NEVER;
    operation->back_off = (struct back_off){.next_ms = 1, .max_ms = 128, .multiplier = 2};
    operation->pipeline = failover_draw_pipeline(world, client, operation);
    owner->timeout = world->now + random_between(&world->random, 200, 2000) * MILLISECOND;
    owner->timed_out = false;
    owner->busy = true;
    failover_supply(world, &client->engine, kind, operation->amount > 1 ? (uint32_t)operation->amount - 1 : 0);
    TRACE(world, "client %u: owner %d begins %d of name %u", owner->client, (int)owner->number, kind, owner->name);
    engine_start(&client->engine, operation, world->now);
}

static void acquire(struct world *world, struct owner *owner, uint8_t lock_kind) {
    struct operation *operation = &owner->operation;
    bool renewed = random_chance(&world->random, 500);
    operation->lock_kind = lock_kind;
    operation->lease_ms = renewed ? REDLATCH_RENEWED : random_between(&world->random, 300, 4000);
    operation->non_blocking = random_chance(&world->random, 200);
    operation->amount = world->kind == REDLATCH_PERMIT_SEMAPHORE ? random_between(&world->random, 1, PERMITS) : 0;
    begin(world, owner, OPERATION_ACQUIRE);
    bool endless = !operation->non_blocking && random_chance(&world->random, 300);
    owner->timeout = endless ? NEVER : owner->timeout;
}

static void use(struct world *world, struct owner *owner, const struct hold *hold) {
    uint32_t dice = world->draining ? 1000 : random_below(&world->random, 1000);
    bool reenters = !kind_of_number(world->kind)->not_reentrant && !kind_of_number(world->kind)->has_permits;
    owner->operation.lock_kind = hold->lock_kind;
    uint32_t deeper = world->min_replicas > 0 ? 350 : 150;
    if (dice < deeper && reenters && hold->count < 3) {
        acquire(world, owner, hold->lock_kind);
    } else if (dice < deeper + 100) {
        owner->operation.lease_ms = random_between(&world->random, 100, 4000);
        begin(world, owner, OPERATION_EXTEND);
    } else if (dice < deeper + 300) {
        owner->act_at = world->now + random_between(&world->random, 0, 2 * SECOND);
    } else {
        owner->operation.unconfirmed = random_chance(&world->random, world->unconfirmed);
        begin(world, owner, OPERATION_RELEASE);
    }
}

static void act(struct world *world, struct owner *owner) {
    struct client *client = &world->clients[owner->client];
    if (owner->busy && world->now >= owner->timeout) {
        owner->timeout = NEVER;
        owner->timed_out = true;
        engine_abort(&client->engine, &owner->operation, REDLATCH_TIMEOUT, world->now);
        return;
    }
    if (owner->busy || world->now < owner->act_at) {
        return;
    }
    memset(&owner->operation, 0, sizeof owner->operation);
    const struct hold *hold = hold_of(world, owner);
    while (!hold && owner->permits > 1) {
        owner->permit++;
        owner->permits--;
        hold = hold_of(world, owner);
    }
    owner->held_before = hold != NULL;
    bool goes_on = hold && hold->unconfirmed && !world->draining && random_chance(&world->random, 500);
    if (goes_on) {
        acquire(world, owner, hold->lock_kind); /* as a thread does that need not wait for the reply */
    } else if (hold && (hold->stage == HOLD_RELEASING || hold->deferred_releases > 0)) {
        owner->act_at = world->now + 5 * MILLISECOND; /* a release that was given up goes on in the background */
    } else if (hold) {
        use(world, owner, hold);
    } else if (world->draining) {
        owner->act_at = NEVER;
    } else {
        owner->name = random_below(&world->random, world->name_count);
        owner->permit = 0;
        owner->permits = 0;
        bool writes = world->kind == REDLATCH_READ && random_chance(&world->random, 400);
        acquire(world, owner, writes ? REDLATCH_WRITE : world->kind);
    }
}

void owners_act(struct world *world) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        for (uint32_t j = 0; j < OWNERS; j++) {
            act(world, &world->clients[i].owners[j]);
        }
    }
}

int64_t owners_next(const struct world *world) {
    int64_t next = NEVER;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        for (uint32_t j = 0; j < OWNERS; j++) {
            const struct owner *owner = &world->clients[i].owners[j];
            int64_t at = owner->busy ? owner->timeout : owner->act_at;
            next = at < next ? at : next;
        }
    }
    return next;
}

bool owners_are_done(const struct world *world) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        for (uint32_t j = 0; j < OWNERS; j++) {
            const struct owner *owner = &world->clients[i].owners[j];
            if (owner->busy || owner->act_at != NEVER) {
                return false;
            }
        }
    }
    return true;
}

static void ended(struct world *world, struct client *client, struct owner *owner) {
    const struct operation *operation = &owner->operation;
    TRACE(world, "client %u: operation %d of owner %d ends: %s (id %d)", owner->client, operation->kind,
          (int)owner->number, redlatch_status_name(operation->status), (int)operation->id);
    bool granted = operation->kind == OPERATION_ACQUIRE && operation->status == REDLATCH_OK;
    if (granted && world->kind == REDLATCH_PERMIT_SEMAPHORE) {
        owner->permit = operation->id;
        owner->permits = (uint32_t)operation->amount;
    }
    judge_ended(world, client, owner);
    owner->busy = false;
    owner->act_at = world->now + random_between(&world->random, 100, granted ? 400000 : 200000);
}

void owners_collect(struct world *world) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct client *client = &world->clients[i];
        struct list_link *link;
        engine_refuse_late(&client->engine, client->engine.server, world->now);
        while ((link = list_pop(&client->engine.finished)) != NULL) {
            struct operation *operation = container_of(link, struct operation, link);
            ended(world, client, container_of(operation, struct owner, operation));
        }
        judge_losses(world, client);
    }
}
