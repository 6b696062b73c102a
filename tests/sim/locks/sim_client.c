/* The driver of an engine: it passes calls to the engine and carries out the engine's output.
 * SPDX-License-Identifier: Apache-2.0 */
#include "sim_client.h"

#include <stdio.h>
#include <stdlib.h>

#include "world.h"

static void schedule_timer(struct client *client);

int64_t client_now(const struct client *client) {
    return clock_local(&client->clock, client->world->now);
}

static void timer_fires(struct world *world, void *actor, uint64_t generation) {
    struct client *client = actor;
    if (generation != client->timer_generation) {
        return;
    }
    if (client->paused_until > world->now) {
        world_at(world, client->paused_until, timer_fires, client, generation);
        return;
    }
    client->timer_at = NEVER;
    engine_run_timers(&client->engine, client_now(client));
    sim_client_finish_step(client);
}

static void schedule_timer(struct client *client) {
    int64_t next = engine_next_timer(&client->engine);
    int64_t at = next == NEVER ? NEVER : clock_true(&client->clock, next);
    if (at != NEVER && at <= client->world->now) {
        at = client->world->now;
    }
    if (at == client->timer_at) {
        return;
    }
    client->timer_at = at;
    client->timer_generation++;
    if (at != NEVER) {
        world_at(client->world, at, timer_fires, client, client->timer_generation);
    }
}

/* The host collects its events. */
static void collect(struct world *world, void *actor, uint64_t number) {
    struct client *client = actor;
    if (client->paused_until > world->now) {
        world_at(world, client->paused_until, collect, client, number);
        return;
    }
    client->collecting = false;
    struct list_link *link;
    while ((link = list_pop(&client->uncollected)) != NULL) {
        struct sim_operation *each = container_of(link, struct sim_operation, uncollected);
        if (each->operation.status == REDLATCH_UNCLAIMED) {
            cover(world, COVER_UNCLAIMED);
            owner_unclaimed(each->owner, each);
        } else if (each->operation.kind == OPERATION_ACQUIRE && each->operation.status == REDLATCH_OK) {
            cover(world, COVER_CLAIMED);
        }
        engine_claimed(&client->engine, &each->operation); /* also a grant taken back: a part of a set may be lost */
        each->in_use = false;
        each->owner->pending--;
        owner_continue(each->owner);
    }
    sim_client_finish_step(client);
}

static void take_finished(struct client *client) {
    struct world *world = client->world;
    struct list_link *link;
    while ((link = list_pop(&client->engine.finished)) != NULL) {
        struct operation *operation = container_of(link, struct operation, link);
        struct sim_operation *each = container_of(operation, struct sim_operation, operation);
        each->ended = true;
        check_ended(client, each);
        owner_ended(each->owner, each);
        if (!operation->asynchronous) {
            each->in_use = false;
            each->owner->pending--;
            owner_continue(each->owner);
            continue;
        }
        list_append(&client->uncollected, &each->uncollected);
        if (!client->collecting) {
            bool late = world->plan.lazy_host && random_chance(&world->random, 200);
            int64_t delay = late ? random_between(&world->random, 0, 2 * world->plan.settings.claim_timeout_ms) *
                                       MILLISECOND
                                 : random_between(&world->random, 0, MILLISECOND);
            client->collecting = true;
            world_at(world, world->now + delay, collect, client, 0);
        }
    }
}

static void take_losses(struct client *client) {
    for (int queue = 0; queue < LOSS_QUEUES; queue++) {
        struct hold *hold;
        while ((hold = engine_first_loss(&client->engine, (enum loss_queue)queue)) != NULL) {
            if (queue == LOSS_EVENTS || queue == LOSS_SETS) {
                check_loss(client, hold);
            }
            engine_loss_taken(&client->engine, (enum loss_queue)queue);
        }
    }
}

void sim_client_finish_step(struct client *client) {
    take_finished(client);
    for (int kind = 0; kind < PIPELINE_COUNT; kind++) {
        link_flush(&client->links[kind]);
    }
    link_subscribe(&client->links[LINK_MESSAGES]);
    take_losses(client);
    client_free_dead(client);
    schedule_timer(client);
    check_client(client);
}

struct sim_operation *client_operation(struct client *client, struct owner *owner, uint8_t kind, uint32_t name) {
    struct sim_operation *each = client->operations;
    while (each && each->in_use) {
        each = each->next;
    }
    if (!each) {
        each = client_allocate(client, sizeof *each);
        each->next = client->operations;
        client->operations = each;
    }
    struct sim_operation *next = each->next;
    memset(each, 0, sizeof *each);
    each->next = next;
    each->in_use = true;
    each->owner = owner;
    each->name = name;
    each->serial = ++client->last_operation;
    each->certain = !owner->uncertain[name];
    each->levels_before = owner->levels[name];
    each->operation.kind = kind;
    each->operation.lock_kind = world_side(client->world, name);
    each->operation.not_reentrant = world_kind(client->world, name) == REDLATCH_PLAIN;
    each->operation.back_off = (struct back_off){.next_ms = 1, .max_ms = SPIN_PAUSE_MAX_MS, .multiplier = 2};
    each->operation.resource = client->names[name];
    each->operation.owner = owner->number;
    each->operation.answer = &each->answer;
    each->operation.wait_until = NEVER;
    each->operation.max_hold_ms = REDLATCH_FOREVER;
    owner->pending++;
    return each;
}

bool client_may_abort(struct world *world, struct sim_operation *operation, uint64_t serial, event_handler *handler) {
    if (!operation->in_use || operation->serial != serial || operation->operation.phase == PHASE_DONE) {
        return false;
    }
    const struct client *client = operation->owner->client;
    if (client->paused_until > world->now) {
        world_at(world, client->paused_until, handler, operation, serial);
        return false;
    }
    return true;
}

static void timeout_ends(struct world *world, void *actor, uint64_t serial) {
    struct sim_operation *operation = actor;
    if (client_may_abort(world, operation, serial, timeout_ends)) {
        client_abort(operation->owner->client, operation, REDLATCH_TIMEOUT);
    }
}

void client_begin(struct client *client, struct sim_operation *operation) {
    struct world *world = client->world;
    sim_client_preallocate(client, &operation->operation);
    operation->last_phase = PHASE_NEW;
    TRACE(world, "client %u: owner %u begins %d on lock %u (lease %d)", client->index, operation->owner->index,
          operation->operation.kind, operation->name, (int)operation->operation.lease_ms);
    check_begun(client, operation);
    engine_start(&client->engine, &operation->operation, client_now(client));
    if (!operation->operation.asynchronous && operation->operation.wait_until != NEVER) {
        world_at(world, clock_true(&client->clock, operation->operation.wait_until), timeout_ends, operation,
                 operation->serial);
    }
    sim_client_finish_step(client);
}

void client_abort(struct client *client, struct sim_operation *operation, int status) {
    TRACE(client->world, "client %u: owner %u has enough (%d)", client->index, operation->owner->index, status);
    check_aborting(client, operation);
    engine_abort(&client->engine, &operation->operation, status, client_now(client));
    check_aborted(client, operation);
    if (operation->operation.phase != PHASE_DONE) {
        world_violation(client->world, "an aborted operation goes on", "phase %d", operation->operation.phase);
    }
    sim_client_finish_step(client);
}

void client_start(struct world *world, uint32_t index) {
    struct client *client = allocate(1, sizeof *client);
    memset(client, 0, sizeof *client);
    world->clients[index] = client;
    client->world = world;
    client->index = index;
    snprintf(client->uuid, sizeof client->uuid, "c0000000-0000-8000-8000-00000000000%u", index);
    client->clock.local_base = random_between(&world->random, 1000, 1000000000);
    if (world->plan.drift) {
        client->clock.drift_ppm = random_between(&world->random, -5000, 5000);
    }
    client->timer_at = NEVER;
    list_init(&client->uncollected);
    engine_init(&client->engine, &client->engine_server, &world->plan.settings, client->uuid,
                random_next(&world->random));
    client->engine.losses_wanted[LOSS_EVENTS] = true;
    client->engine.losses_wanted[LOSS_THREADS] = random_chance(&world->random, 500);
    for (uint32_t name = 0; name < world->plan.names; name++) {
        client->names[name] = client_name(client, name);
    }
    client->engine.losses_wanted[LOSS_SETS] = world->plan.sets;
    client->set = client_allocate(client, sizeof *client->set + MAX_NAMES * sizeof client->set->members[0]);
    client->set->count = 0;
    bool of_two = world_has_read_write(world) || world->plan.names_of_group == 2; /* the set has one name of two */
    for (uint32_t first = 0; first < world->plan.names; first += of_two ? 2 : 1) {
        uint32_t name = first + (of_two && !world->plan.writers_only && random_chance(&world->random, 500));
        client->set_names[client->set->count] = name;
        client->set->members[client->set->count++] = (struct set_member){.resource = client->names[name],
                                                                         .lock_kind = world_side(world, name)};
    }
    links_start(client);
    for (uint32_t owner = 0; owner < world->plan.owners; owner++) {
        owner_start(client, owner);
    }
}
