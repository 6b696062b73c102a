/* Threads that take permits and give them back, or set a latch, count it down and wait for it, at random.
 * SPDX-License-Identifier: Apache-2.0 */
#include "failover_counts.h"

void count_actors_start(struct world *world) {
    uint32_t plays = 1 + (uint32_t)(world->seed / 3 % OWNERS);
    world->counted = failover_allocate(world, sizeof *world->counted);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        for (uint32_t j = 0; j < OWNERS; j++) {
            struct actor *actor = &world->counted->actors[i][j];
            actor->phase.phase = PHASE_DONE;
            actor->act_at = j < plays ? world->now + random_between(&world->random, 0, 100000) : NEVER;
        }
    }
}

static void begin(struct world *world, uint32_t number, struct actor *actor, uint8_t kind) {
    struct client *client = &world->clients[number];
    struct operation *operation = &actor->operation;
    bool long_wait = random_chance(&world->random, 200);
    operation->kind = kind;
    operation->lock_kind = world->kind;
    operation->resource = client->names[0];
    operation->answer = &actor->answer;
    operation->max_hold_ms = REDLATCH_FOREVER;
    operation->wait_until = NEVER;
    operation->pipeline = failover_draw_pipeline(world, client, operation);
    actor->timeout = world->now + random_between(&world->random, 200, long_wait ? 9000 : 2000) * MILLISECOND;
    actor->timed_out = false;
    actor->busy = true;
    failover_supply(world, &client->engine, kind, 0);
    TRACE(world, "client %u: actor %d begins %d (change %d) of %d", number,
          (int)(actor - world->counted->actors[number]), kind, operation->change, (int)operation->amount);
    engine_start(&client->engine, operation, world->now);
}

static void change(struct world *world, uint32_t number, struct actor *actor, uint8_t what, int64_t amount) {
    actor->operation.change = what;
    actor->operation.amount = amount;
    begin(world, number, actor, OPERATION_CHANGE);
}

static void act_on_semaphore(struct world *world, uint32_t number, struct actor *actor) {
    uint32_t dice = random_below(&world->random, 100);
    if (actor->has > 0 && (world->draining || dice < 60)) {
        change(world, number, actor, SEMAPHORE_RELEASE, actor->has);
    } else if (world->draining) {
        actor->act_at = NEVER;
    } else if (dice < 92) {
        actor->operation.amount = random_between(&world->random, 1, 3);
        actor->operation.non_blocking = random_chance(&world->random, 200);
        begin(world, number, actor, OPERATION_ACQUIRE);
    } else {
        change(world, number, actor, SEMAPHORE_ADD, random_between(&world->random, -1, 2));
    }
}

static void act_on_latch(struct world *world, uint32_t number, struct actor *actor) {
    uint32_t dice = random_below(&world->random, 100);
    if (world->draining) {
        actor->act_at = NEVER;
    } else if (dice < 50) {
        change(world, number, actor, LATCH_COUNT_DOWN, 0);
    } else if (dice < 75) {
        change(world, number, actor, LATCH_TRY_SET, random_between(&world->random, 1, 5));
    } else {
        begin(world, number, actor, OPERATION_WATCH);
    }
}

static void act(struct world *world, uint32_t number, struct actor *actor) {
    if (actor->busy && world->now >= actor->timeout) {
        actor->timeout = NEVER;
        actor->timed_out = true;
        engine_abort(&world->clients[number].engine, &actor->operation, REDLATCH_TIMEOUT, world->now);
    } else if (!actor->busy && world->now >= actor->act_at) {
        memset(&actor->operation, 0, sizeof actor->operation);
        (world->kind == REDLATCH_SEMAPHORE ? act_on_semaphore : act_on_latch)(world, number, actor);
    }
}

void count_actors_act(struct world *world) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        for (uint32_t j = 0; j < OWNERS; j++) {
            act(world, i, &world->counted->actors[i][j]);
        }
    }
}

int64_t count_actors_next(const struct world *world) {
    int64_t next = NEVER;
    for (uint32_t i = 0; i < CLIENTS; i++) {
        for (uint32_t j = 0; j < OWNERS; j++) {
            const struct actor *actor = &world->counted->actors[i][j];
            int64_t at = actor->busy ? actor->timeout : actor->act_at;
            next = at < next ? at : next;
        }
    }
    return next;
}

bool count_actors_are_done(const struct world *world) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        for (uint32_t j = 0; j < OWNERS; j++) {
            const struct actor *actor = &world->counted->actors[i][j];
            if (actor->busy || actor->act_at != NEVER) {
                return false;
            }
        }
        if (!client_is_idle(&world->clients[i])) { /* abandoned operations are still undone */
            return false;
        }
    }
    return true;
}

/* Notes what the caller was told. A release that ends without a reply goes on in the background. */
static void ended(struct world *world, uint32_t number, struct actor *actor) {
    const struct operation *operation = &actor->operation;
    struct account *account = account_of(world, number, operation->id);
    bool good = operation->status == REDLATCH_OK;
    bool unknown = operation->status == REDLATCH_NO_REPLY;
    bool changes = operation->kind == OPERATION_CHANGE;
    TRACE(world, "client %u: actor %d ends: %s (id %d)", number, (int)(actor - world->counted->actors[number]),
          redlatch_status_name(operation->status), (int)operation->id);
    judge_status(world, &world->clients[number], operation->status, actor->timed_out);
    bool sets = changes && operation->change == LATCH_TRY_SET && operation->result == 1;
    world->coverage.counts[COVER_COUNT_GRANTED] += good && (operation->kind == OPERATION_ACQUIRE || sets);
    if (operation->kind == OPERATION_ACQUIRE && good) {
        account->amount = -operation->amount;
        account->effect = EFFECT_EXACT;
        account->is_safe = needs_all_replicas(world);
        actor->has += operation->amount;
    } else if (changes && operation->change == SEMAPHORE_RELEASE && (good || unknown)) {
        account->amount = operation->amount;
        account->effect = EFFECT_EXACT;
        actor->has = 0;
    } else if (changes && operation->change != SEMAPHORE_RELEASE && (unknown || (good && operation->result == 1))) {
        account->amount = operation->change == LATCH_COUNT_DOWN ? -1 : operation->amount;
        account->effect = unknown ? EFFECT_EXACT_OR_NONE : EFFECT_EXACT;
    }
    actor->busy = false;
    actor->act_at = world->now + random_between(&world->random, 100, 200000);
}

void count_actors_collect(struct world *world) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct engine *engine = &world->clients[i].engine;
        struct list_link *link;
        engine_refuse_late(engine, engine->server, world->now);
        while ((link = list_pop(&engine->finished)) != NULL) {
            struct operation *operation = container_of(link, struct operation, link);
            ended(world, i, container_of(operation, struct actor, operation));
        }
    }
}
