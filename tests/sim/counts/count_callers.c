/* Threads that acquire, release and wait at random, and the results of their calls.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "count_world.h"
#include "wire.h"

static void supply(struct world *world, struct engine *engine, uint8_t kind, uint32_t holds) {
    struct engine_preallocation needed = engine_preallocation_needed(engine, kind);
    for (; needed.commands > 0; needed.commands--) {
        engine_add_command(engine, world_allocate(world, sizeof(struct command)));
    }
    for (; needed.wait_queues > 0; needed.wait_queues--) {
        engine_add_wait_queue(engine, world_allocate(world, sizeof(struct wait_queue)));
    }
    for (needed.holds += holds; needed.holds > 0; needed.holds--) {
        engine_add_hold(engine, world_allocate(world, sizeof(struct hold)));
    }
    for (; needed.batches > 0; needed.batches--) {
        engine_add_batch(engine, world_allocate(world, sizeof(struct command)),
                         world_allocate(world, RENEWAL_BATCH_SIZE * sizeof(struct renewal)));
    }
}

void actors_start(struct world *world) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        for (uint32_t j = 0; j < ACTORS; j++) {
            bool plays = j <= world->seed / 4 % ACTORS; /* with few actors nobody takes what another waits for */
            world->clients[i].actors[j].act_at = plays ? random_between(&world->random, 0, 100000) : NEVER;
        }
    }
}

static void begin(struct world *world, struct client *client, struct actor *actor, uint8_t kind, uint32_t holds) {
    struct operation *operation = &actor->operation;
    uint8_t pipeline = random_chance(&world->random, 700) ? PIPELINE_CALLERS : PIPELINE_CALLERS_SECOND;
    operation->kind = kind;
    operation->lock_kind = world->kind;
    operation->resource = client->resource;
    operation->answer = &actor->answer;
    operation->pipeline = pipeline;
    operation->max_hold_ms = REDLATCH_FOREVER;
    operation->wait_until = NEVER;
    bool endless = kind == OPERATION_ACQUIRE || kind == OPERATION_WATCH ? random_chance(&world->random, 300) : false;
    operation->non_blocking = !endless && kind == OPERATION_ACQUIRE && random_chance(&world->random, 200);
    actor->timeout = endless ? NEVER : world->now + random_between(&world->random, 1000, 600000);
    actor->busy = true;
    if (client->engine.last_id + PERMITS_HELD > IDS_MAX) {
        world_violation(world, "a table of the simulation is full", "IDS_MAX: client %u", client->peer.number);
    }
    supply(world, &client->engine, kind, holds);
    engine_start(&client->engine, operation, world->now);
}

static void change(struct world *world, struct client *client, struct actor *actor, uint8_t what, int64_t amount) {
    actor->operation.change = what;
    actor->operation.amount = amount;
    begin(world, client, actor, OPERATION_CHANGE, 0);
}

/* The changes that concern the whole semaphore or latch, by kind. They are made rarely. */
static const struct whole {
    uint8_t kind;
    uint8_t questions[4]; /* enum change */
    uint8_t sets, tries_to_set, adds, deletes;
} wholes[] = {
    {REDLATCH_SEMAPHORE, {SEMAPHORE_COUNT}, 0, SEMAPHORE_TRY_SET, 0, SEMAPHORE_DELETE},
    {REDLATCH_PERMIT_SEMAPHORE,
     {PERMITS_AVAILABLE, PERMITS_TAKEN, PERMITS_ALL, PERMITS_LEASE},
     PERMITS_SET,
     PERMITS_TRY_SET,
     PERMITS_ADD,
     PERMITS_DELETE},
    {REDLATCH_LATCH, {LATCH_COUNT}, 0, 0, 0, LATCH_DELETE},
};

static bool act_on_whole(struct world *world, struct client *client, struct actor *actor) {
    const struct whole *whole = wholes;
    while (whole->kind != world->kind) {
        whole++;
    }
    uint32_t dice = random_below(&world->random, world->seed % 5 == 1 ? 110 : 1000);
    uint8_t question = whole->questions[random_below(&world->random, 4)];
    if (dice < 40 && question) {
        uint64_t permit = actor->permit_count > 0 ? actor->permits[actor->permit_count - 1] : 0;
        permit_bytes(&client->engine, permit, actor->operation.permit);
        change(world, client, actor, question, 0);
    } else if (dice >= 40 && dice < 50 && whole->tries_to_set) {
        change(world, client, actor, whole->tries_to_set, TOTAL);
    } else if (dice >= 50 && dice < 60 && whole->adds) {
        change(world, client, actor, whole->adds, random_between(&world->random, -1, 2));
    } else if (dice >= 60 && dice < 80 && whole->sets) {
        change(world, client, actor, whole->sets, random_between(&world->random, 2, 6));
    } else if (dice >= 80 && dice < 90 && (world->seed % 5 == 0 || world->seed % 25 == 1)) {
        change(world, client, actor, whole->deletes, 0);
    } else if (dice >= 90 && dice < 100 && world->kind == REDLATCH_SEMAPHORE) {
        begin(world, client, actor, OPERATION_WATCH, 0);
    } else {
        return false;
    }
    return true;
}

/* Draws what an acquire does if the semaphore does not exist. In every other seed acquires create none: only the
 * changes that create a semaphore do. */
static void draw_creation(struct world *world, struct operation *operation) {
    uint32_t dice = world->seed % 2 ? random_below(&world->random, 100) : 100;
    operation->limit = dice < 20 ? TOTAL : 0;
    operation->must_exist = dice >= 20 && dice < 35;
}

static void act_on_semaphore(struct world *world, struct client *client, struct actor *actor, bool draining) {
    uint32_t dice = random_below(&world->random, 100);
    if (actor->has > 0 && (draining || dice < 70)) {
        change(world, client, actor, SEMAPHORE_RELEASE, actor->has);
    } else if (draining) {
        actor->act_at = NEVER;
    } else if (dice < 85) {
        actor->operation.amount = random_between(&world->random, 1, 3);
        draw_creation(world, &actor->operation);
        begin(world, client, actor, OPERATION_ACQUIRE, 0);
    } else if (dice < 92) {
        change(world, client, actor, SEMAPHORE_DRAIN, 0);
    } else {
        change(world, client, actor, SEMAPHORE_ADD, random_between(&world->random, -1, 2));
    }
}

static void act_on_permits(struct world *world, struct client *client, struct actor *actor, bool draining) {
    uint32_t dice = random_below(&world->random, 100);
    if (actor->permit_count > 0 && (draining || dice < 60)) {
        bool extends = dice < 10 && !draining;
        actor->operation.owner = PERMIT_OWNER | actor->permits[actor->permit_count - 1];
        actor->operation.lease_ms = random_between(&world->random, 200, 3000);
        actor->permit_count -= !extends;
        begin(world, client, actor, extends ? OPERATION_EXTEND : OPERATION_RELEASE, 0);
    } else if (draining || actor->permit_count > PERMITS_HELD - 3) {
        actor->act_at = draining ? NEVER : world->now + SECOND;
    } else {
        actor->operation.amount = random_between(&world->random, 1, 3);
        actor->operation.lease_ms = random_chance(&world->random, 500) ? REDLATCH_RENEWED
                                                                       : random_between(&world->random, 200, 3000);
        draw_creation(world, &actor->operation);
        begin(world, client, actor, OPERATION_ACQUIRE, (uint32_t)actor->operation.amount);
    }
}

static void act_on_latch(struct world *world, struct client *client, struct actor *actor, bool draining) {
    uint32_t dice = random_below(&world->random, 100);
    if (draining) {
        actor->act_at = NEVER;
    } else if (dice < 50) {
        change(world, client, actor, LATCH_COUNT_DOWN, 0);
    } else if (dice < 70) {
        change(world, client, actor, LATCH_TRY_SET, random_between(&world->random, 1, 5));
    } else {
        begin(world, client, actor, OPERATION_WATCH, 0);
    }
}

static void act(struct world *world, struct client *client, struct actor *actor, bool draining) {
    if (actor->busy && world->now >= actor->timeout) {
        engine_abort(&client->engine, &actor->operation, REDLATCH_TIMEOUT, world->now);
        actor->timeout = NEVER;
    } else if (!actor->busy && world->now >= actor->act_at) {
        memset(&actor->operation, 0, sizeof actor->operation);
        if (!draining && act_on_whole(world, client, actor)) {
            return;
        }
        if (world->kind == REDLATCH_SEMAPHORE) {
            act_on_semaphore(world, client, actor, draining);
        } else if (world->kind == REDLATCH_LATCH) {
            act_on_latch(world, client, actor, draining);
        } else {
            act_on_permits(world, client, actor, draining);
        }
    }
}

void actors_act(struct world *world, bool draining) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        for (uint32_t j = 0; j < ACTORS; j++) {
            act(world, &world->clients[i], &world->clients[i].actors[j], draining);
        }
    }
}

int64_t actors_next(const struct world *world) {
    int64_t next = NEVER;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        for (uint32_t j = 0; j < ACTORS; j++) {
            const struct actor *actor = &world->clients[i].actors[j];
            int64_t at = actor->busy ? actor->timeout : actor->act_at;
            next = at < next ? at : next;
        }
    }
    return next;
}

bool actors_are_done(const struct world *world) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        for (uint32_t j = 0; j < ACTORS; j++) {
            const struct actor *actor = &world->clients[i].actors[j];
            if (actor->busy || actor->act_at != NEVER) {
                return false;
            }
        }
    }
    return true;
}

/* Notes what the caller of an operation believes to have changed. */
static void note(struct client *client, const struct operation *operation, enum outcome believed, int64_t amount) {
    struct account *account = &client->accounts[operation->id];
    account->believed = (uint8_t)believed;
    account->amount = amount;
}

static void ended_change(struct client *client, struct actor *actor) {
    const struct operation *operation = &actor->operation;
    bool good = operation->status == REDLATCH_OK;
    bool unknown = operation->status == REDLATCH_NO_REPLY;
    switch (operation->change) {
    case SEMAPHORE_RELEASE:
        if (good || unknown) { /* without a reply the release goes on in the background */
            note(client, operation, CHANGES_EXACTLY, operation->amount);
            actor->has = 0;
        }
        break;
    case SEMAPHORE_DRAIN:
        if (good && operation->result != 0) {
            note(client, operation, CHANGES_EXACTLY, -operation->result);
            actor->has += operation->result > 0 ? operation->result : 0;
        }
        break;
    case LATCH_COUNT_DOWN:
        if (unknown || (good && operation->result == 1)) {
            note(client, operation, unknown ? CHANGES_OR_NOT : CHANGES_EXACTLY, -1);
        }
        break;
    case SEMAPHORE_ADD:
    case SEMAPHORE_TRY_SET:
    case LATCH_TRY_SET:
    case PERMITS_ADD:
    case PERMITS_TRY_SET:
        if (unknown || (good && operation->result == 1)) {
            note(client, operation, unknown ? CHANGES_OR_NOT : CHANGES_EXACTLY, operation->amount);
        }
        break;
    default: /* questions, deletions and PERMITS_SET */
        break;
    }
}

static void ended(struct world *world, struct client *client, struct actor *actor) {
    const struct operation *operation = &actor->operation;
    actor->busy = false;
    world->coverage.counts[COVER_COUNT_ENDED] += operation->status == REDLATCH_OK;
    world->coverage.counts[COVER_COUNT_TIMED_OUT] += operation->status == REDLATCH_TIMEOUT;
    world->coverage.counts[COVER_COUNT_UNKNOWN] += operation->status == REDLATCH_NO_REPLY;
    TRACE(world, "client %u: operation %d (change %d) of actor %d ends: %s", client->peer.number, operation->kind,
          operation->change, (int)(actor - client->actors), redlatch_status_name(operation->status));
    actor->act_at = world->now + random_between(&world->random, 100, world->seed % 3 ? 200000 : 2000000);
    if (operation->status == REDLATCH_NOT_FOUND && !operation->must_exist) {
        world_violation(world, "an acquire that waits for its semaphore did not", "client %u", client->peer.number);
    }
    if (operation->kind == OPERATION_CHANGE) {
        ended_change(client, actor);
    } else if (operation->kind == OPERATION_ACQUIRE && operation->status == REDLATCH_OK) {
        if (world->kind == REDLATCH_SEMAPHORE) {
            note(client, operation, CHANGES_EXACTLY, -operation->amount);
            actor->has += operation->amount;
        }
        for (int64_t i = 0; i < operation->amount && world->kind == REDLATCH_PERMIT_SEMAPHORE; i++) {
            actor->permits[actor->permit_count++] = operation->id + (uint64_t)i;
        }
    }
}

void actors_collect(struct world *world) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct client *client = &world->clients[i];
        struct list_link *link;
        while ((link = list_pop(&client->engine.finished)) != NULL) {
            struct operation *operation = container_of(link, struct operation, link);
            ended(world, client, container_of(operation, struct actor, operation));
        }
    }
}
