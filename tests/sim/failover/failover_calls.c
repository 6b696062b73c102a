/* Checks the results of calls and the reports of losses against what the servers did. Checks also that waiters recheck
 * after a move, and that nothing is left behind.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "failover_world.h"

/* After a move, a waiter whose connection is open must recheck within this time. */
static const int64_t REQUESTED_WITHIN = 100 * MILLISECOND;

/* Called after a script. A hold that the script removed counts as released, unless its lease had ended. The entry of a
 * reader stays after its lease has ended, until a script removes it, and counts as released then. */
void judge_script(struct world_common *common, const struct packet *packet) {
    struct world *world = (struct world *)common;
    uint32_t server = server_index(world, packet->server);
    struct server_holds before[NAMES_MAX];
    memcpy(before, world->held[server], sizeof before);
    server_holds_read(world, server);
    for (uint32_t name = 0; name < world->name_count; name++) {
        for (uint32_t i = 0; i < before[name].count; i++) {
            const struct server_hold *hold = &before[name].holds[i];
            bool lasted = hold->expires > world->now || world->kind == REDLATCH_READ;
            if (lasted && !server_hold_find(world, server, name, hold->client, hold->id)) {
                failover_note(world, hold->client, hold->id)->released = true;
            }
        }
    }
}

void judge_sent(struct world_common *common, struct peer *peer, const struct command *command) {
    struct world *world = (struct world *)common;
    TRACE(world, "client %u pipeline %d: id %d is sent%s", peer->number, command->pipeline, (int)command->id,
          command->repeated ? " again" : "");
    bool last = (command->kind == COMMAND_RELEASE && command->count == 0) || command->kind == COMMAND_HAND_OVER;
    if (last && command->repeated) {
        failover_note(world, peer->number, command->id)->release_repeated = true;
    }
}

/* The release of the last level may return OK only if a script removed the hold, or if the release was sent twice. */
static void judge_released(struct world *world, struct client *client, const struct operation *operation) {
    const struct id_note *note = failover_note(world, client->peer.number, operation->id);
    bool last = !resource_hold_of(operation->resource, operation->lock_kind, operation->owner);
    if (last && !note->released && !note->release_repeated) {
        world_violation(world, "a release says OK although the lock was lost", "client %u id %d", client->peer.number,
                        (int)operation->id);
    }
}

void judge_status(struct world *world, const struct client *client, int status, bool timed_out) {
    bool slow = status == REDLATCH_NO_REPLY || status == REDLATCH_UNREACHABLE; /* timeout below a round trip */
    slow = slow || (status == REDLATCH_NOT_REPLICATED && timed_out);           /* its command was held back */
    world->coverage.counts[COVER_NOT_REPLICATED] += status == REDLATCH_NOT_REPLICATED;
    if (world->calm && status <= REDLATCH_UNREACHABLE && !slow) {
        world_violation(world, "trouble without a fault", "client %u: %s", client->peer.number,
                        redlatch_status_name(status));
    }
}

void judge_ended(struct world *world, struct client *client, const struct owner *owner) {
    const struct operation *operation = &owner->operation;
    int status = operation->status;
    if (status == REDLATCH_OK && operation->kind == OPERATION_RELEASE && operation->unconfirmed) {
        if (operation->id != 0) { /* else it released a nested acquire, and sent nothing */
            unconfirmed_begun(&world->common, &failover_note(world, client->peer.number, operation->id)->unconfirmed);
        }
    } else if (status == REDLATCH_OK && operation->kind == OPERATION_RELEASE) {
        judge_released(world, client, operation);
    }
    if (status == REDLATCH_LOST && operation->kind == OPERATION_RELEASE) { /* the next master may have a longer lease */
        failover_note(world, client->peer.number, operation->id)->lost = true;
    }
    judge_status(world, client, status, owner->timed_out);
}

static uint32_t name_of(const struct client *client, const struct resource *resource) {
    uint32_t name = 0;
    while (client->names[name] != resource) {
        name++;
    }
    return name;
}

static void judge_loss(struct world *world, struct client *client, const struct hold *hold) {
    uint32_t number = client->peer.number;
    uint32_t server = server_index(world, client->peer.server);
    uint32_t name = name_of(client, hold->resource);
    TRACE(world, "client %u: lost id %d, reason %d", number, (int)hold->id, hold->reason);
    client->losses_reported++;
    failover_note(world, number, hold->id)->lost = true;
    bool missing = hold->reason == REDLATCH_REASON_MISSING;
    world->coverage.counts[COVER_LOSS_FOUND] += missing;
    if (missing && server_hold_find(world, server, name, number, hold->id)) {
        world_violation(world, "a hold is called missing that the server has", "client %u id %d", number,
                        (int)hold->id);
    }
    if (world->calm && missing) {
        world_violation(world, "a hold was lost without a fault", "client %u id %d", number, (int)hold->id);
    }
}

void judge_losses(struct world *world, struct client *client) {
    struct hold *hold;
    while ((hold = engine_first_loss(&client->engine, LOSS_EVENTS)) != NULL) {
        if (hold->release_status != REDLATCH_OK) {
            struct id_note *note = failover_note(world, client->peer.number, hold->id);
            unconfirmed_failed(&world->common, client->peer.number, hold, &note->unconfirmed, false);
            note->lost = true;
        } else {
            judge_loss(world, client, hold);
        }
        engine_loss_taken(&client->engine, LOSS_EVENTS);
    }
    if (client->engine.stats.lost != client->losses_reported) {
        world_violation(world, "a loss is not told", "client %u: %d of %d", client->peer.number,
                        (int)client->losses_reported, (int)client->engine.stats.lost);
    }
}

/* A waiter that was parked when its client moved must recheck at the new server, whether or not it is subscribed
 * there. `operation` is NULL while the thread has none. */
void judge_waiter(struct world *world, const struct client *client, const struct operation *operation,
                  struct phase_note *note) {
    uint8_t phase = operation ? operation->phase : PHASE_DONE;
    if (phase != note->phase) {
        note->phase = phase;
        note->since = world->now;
    }
    bool waits = phase == PHASE_PARKED && note->since < client->moved_at;
    if (!waits || !client->peer.up[operation->pipeline] || resource_live_hold(operation->resource)) {
        return;
    }
    int64_t since = client->peer.ready_at[operation->pipeline];
    since = since > client->moved_at ? since : client->moved_at;
    if (world->now - since > REQUESTED_WITHIN) {
        world_violation(world, "a waiter does not ask the new server", "client %u: operation %d of name %.*s",
                        client->peer.number, operation->kind, (int)operation->resource->name_size,
                        operation->resource->name);
    }
}

void judge_waiters(struct world *world) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        for (uint32_t j = 0; j < OWNERS; j++) {
            struct owner *owner = &world->clients[i].owners[j];
            judge_waiter(world, &world->clients[i], owner->busy ? &owner->operation : NULL, &owner->phase);
        }
    }
}

static bool has_command_timer(const struct timer *timer) {
    for (; timer; timer = timer->sibling) {
        if (timer->kind == TIMER_COMMAND || has_command_timer(timer->child)) {
            return true;
        }
    }
    return false;
}

bool client_is_idle(const struct client *client) {
    const struct engine *engine = &client->engine;
    for (uint32_t i = 0; i < PIPELINE_COUNT; i++) {
        const struct pipeline *pipeline = &engine->server->pipelines[i];
        if (!list_is_empty(&pipeline->unsent) || !list_is_empty(&pipeline->sent) ||
            !list_is_empty(&pipeline->in_doubt)) {
            return false;
        }
    }
    return !has_command_timer(engine->timers.root);
}

static bool is_held(const struct client *client, uint32_t name, uint64_t id) {
    const struct hold *hold = client->names[name]->holds;
    while (hold && hold->id != id) {
        hold = hold->next;
    }
    return hold != NULL;
}

/* Of a client without a command in progress the server has exactly what the client holds. */
void judge_left_behind(struct world *world) {
    for (uint32_t i = 0; i < CLIENTS; i++) {
        const struct client *client = &world->clients[i];
        uint32_t server = server_index(world, client->peer.server);
        for (uint32_t name = 0; name < world->name_count && client_is_idle(client); name++) {
            const struct server_holds *all = &world->held[server][name];
            for (uint32_t j = 0; j < all->count; j++) {
                const struct server_hold *hold = &all->holds[j];
                const struct id_note *note = failover_note(world, hold->client, hold->id);
                bool excused = note->released || note->lost || hold->expires <= world->now;
                if (hold->client == i && !excused && !is_held(client, name, hold->id)) {
                    world_violation(world, "what was not granted is left behind", "client %u id %d of name %u", i,
                                    (int)hold->id, name);
                }
            }
        }
    }
}
