/* Checks what engines believe: each lock has one believer, the server has what engines believe, and no hold is left
 * behind.
 * SPDX-License-Identifier: Apache-2.0 */
#include "lease.h"
#include "sim_client.h"
#include "world.h"

static struct owner *owner_of(struct client *client, uint64_t number) {
    for (uint32_t i = 0; i < client->world->plan.owners; i++) {
        if (client->owners[i].number == number) {
            return &client->owners[i];
        }
    }
    return NULL;
}

/* Returns whether another party than our clients removed a hold, under its id or under the new id that it moves to. */
static bool is_taken_away(struct client *client, const struct hold *hold) {
    bool moves = hold->busy && hold->busy->kind == COMMAND_MOVE;
    return note_of(client->world, client->index, hold->id)->tainted ||
           (moves && note_of(client->world, client->index, hold->busy->successor)->tainted);
}

bool is_believed(struct client *client, const struct hold *hold, uint32_t name) {
    struct owner *owner = owner_of(client, hold->owner);
    return hold->stage == HOLD_ALIVE && client_now(client) < hold->deadline && owner &&
           (owner->levels[name] > 0 || owner->uncertain[name]) && !is_taken_away(client, hold);
}

static void check_hold(struct client *client, const struct hold *hold, uint32_t name) {
    struct world *world = client->world;
    const struct wire_name *wire = &world->checker.wire[name];
    const struct id_note *note = note_of(world, client->index, hold->id);
    if (hold->serial != serial_of(world, client->index, hold->id)) {
        world_violation(world, "a hold is called by another serial than that of its grant", "client %u id %d serial %d",
                        client->index, (int)hold->id, (int)hold->serial);
    }
    if (is_taken_away(client, hold) || hold->stage != HOLD_ALIVE || client_now(client) >= hold->deadline) {
        return;
    }
    const struct wire_field *field = wire_find(wire, client->index, hold->id);
    if (!field && hold->busy && hold->busy->kind == COMMAND_MOVE) {
        field = wire_find(wire, client->index, hold->busy->successor);
    }
    if (!field) {
        world_violation(world, "a holder believes in what the server does not have",
                        "client %u id %d of lock %u, removed %d", client->index, (int)hold->id, name, note->removed);
        return;
    }
    check_token_notified(world, hold, note, name);
    int64_t deadline = clock_true(&client->clock, hold->deadline);
    if (deadline > field->expires) {
        world_violation(world, "a holder believes longer than the lease", "client %u id %d of lock %u, by %d us",
                        client->index, (int)hold->id, name, (int)(deadline - field->expires));
    }
    if (!hold->busy && hold->deferred_releases == 0 && !world->plan.kill_denied && !note->count_in_doubt &&
        field->count != hold->count) {
        world_violation(world, "the count on the server is not the holder's",
                        "client %u id %d of lock %u: %d, expected %u", client->index, (int)hold->id, name,
                        (int)field->count, hold->count);
    }
}

void check_beliefs_about(struct world *world, uint32_t name) {
    uint32_t believers = world->foreign.held && world->foreign.name == name && world->now < world->foreign.until;
    uint32_t last[2] = {FOREIGN, FOREIGN};
    for (uint32_t i = 0; i < world->plan.clients; i++) {
        struct client *client = world->clients[i];
        for (struct hold *hold = client->names[name]->holds; hold; hold = hold->next) {
            if (hold->lock_kind != world_side(world, name)) {
                continue;
            }
            check_hold(client, hold, name);
            if (is_believed(client, hold, name)) {
                last[1] = last[0];
                last[0] = i;
                believers++;
            }
        }
    }
    if (world_has_read_write(world)) {
        check_exclusion_of_modes(world, name);
    } else if (world_has_values(world)) {
        check_exclusion_of_values(world, name);
    } else if (believers > 1) {
        world_violation(world, "two believe that they hold the lock", "lock %u: clients %u and %u", name, last[0],
                        last[1]);
    }
}

static bool names_id(const struct command *command, const struct resource *resource, uint64_t id) {
    if (command->entries) {
        return set_names_id(command, resource, id);
    }
    if (command->kind == COMMAND_RENEW || command->resource != resource) {
        return false;
    }
    return command->id == id || (command->successor == id && command->successor != 0);
}

static bool list_names_id(const struct list *list, const struct resource *resource, uint64_t id) {
    for (struct list_link *link = list_first(list); link; link = list_next(list, link)) {
        if (names_id(container_of(link, struct command, link), resource, id)) {
            return true;
        }
    }
    return false;
}

static bool timers_name_id(struct timer *timer, const struct resource *resource, uint64_t id) {
    for (; timer; timer = timer->sibling) {
        bool command = timer->kind == TIMER_COMMAND;
        if ((command && names_id(container_of(timer, struct command, timer), resource, id)) ||
            timers_name_id(timer->child, resource, id)) {
            return true;
        }
    }
    return false;
}

/* Returns whether the engine still has something to do with an id. */
static bool is_known(struct client *client, uint32_t name, uint64_t id) {
    struct engine *engine = &client->engine;
    struct resource *resource = client->names[name];
    for (struct hold *hold = resource->holds; hold; hold = hold->next) {
        if (hold->id == id) {
            return true;
        }
    }
    for (int pipeline = 0; pipeline < PIPELINE_COUNT; pipeline++) {
        if (list_names_id(&engine->server->pipelines[pipeline].sent, resource, id) ||
            list_names_id(&engine->server->pipelines[pipeline].unsent, resource, id) ||
            list_names_id(&engine->server->pipelines[pipeline].in_doubt, resource, id)) {
            return true;
        }
    }
    for (const struct sim_operation *each = client->operations; each; each = each->next) {
        bool open = each->in_use && each->operation.phase != PHASE_DONE;
        if (open && set_asks_with(&each->operation, resource, id)) {
            return true;
        }
        if (open && each->operation.resource == resource && each->operation.id == id) {
            return true;
        }
    }
    return timers_name_id(engine->timers.root, resource, id);
}

void check_left_behind(struct world *world, uint32_t name, struct client *client) {
    const struct wire_name *wire = &world->checker.wire[name];
    for (uint32_t i = 0; i < wire->count; i++) {
        uint64_t id = wire->fields[i].id;
        if (wire->fields[i].client != client->index || world->plan.kill_denied || wire->fields[i].dead) {
            continue;
        }
        struct id_note *note = note_of(world, client->index, id);
        if (!note->written_off && !note->restored && !note->tainted && !note->prolonged &&
            !is_known(client, name, id)) {
            world_violation(world, "a hold was left behind", "client %u id %d of lock %u", client->index, (int)id,
                            name);
        }
    }
}

static void check_owner(struct client *client, const struct owner *owner) {
    for (uint32_t name = 0; name < client->world->plan.names; name++) {
        const struct hold *hold = resource_hold_of(client->names[name], world_side(client->world, name), owner->number);
        if (owner->pending > 0 || owner->uncertain[name] || (hold && (hold->busy || hold->deferred_releases))) {
            continue;
        }
        int32_t count = hold ? (int32_t)hold->count : 0;
        if (count != owner->levels[name]) {
            world_violation(client->world, "an owner's levels are not what it was told",
                            "client %u owner %u: %d, expected %d", client->index, owner->index, count,
                            owner->levels[name]);
        }
    }
}

static bool is_armed_by(const struct timer *timer, int64_t at) {
    return at == NEVER || (timer_is_armed(timer) && timer->at <= at);
}

/* Every hold and operation that must do something at a given time has a timer that fires by then. */
static void check_timers(struct client *client) {
    for (uint32_t name = 0; name < client->world->plan.names; name++) {
        for (const struct hold *hold = client->names[name]->holds; hold; hold = hold->next) {
            if (hold->stage != HOLD_GONE && !is_armed_by(&hold->timer, hold_next_attention(hold))) {
                world_violation(client->world, "a hold's timer fires too late", "client %u id %d", client->index,
                                (int)hold->id);
            }
        }
    }
    for (const struct sim_operation *each = client->operations; each; each = each->next) {
        const struct operation *operation = &each->operation;
        bool rechecks = operation->phase == PHASE_PARKED || operation->phase == PHASE_PAUSED;
        if (each->in_use && ((rechecks && !is_armed_by(&operation->timer, operation->recheck_at)) ||
                             (operation->asynchronous && operation->phase != PHASE_DONE &&
                              !is_armed_by(&operation->timer, operation->wait_until)))) {
            world_violation(client->world, "an operation's timer fires too late", "client %u", client->index);
        }
    }
}

void check_client(struct client *client) {
    struct world *world = client->world;
    int64_t now = client_now(client);
    uint64_t held = 0;
    check_queues(client);
    check_timers(client);
    for (uint32_t name = 0; name < world->plan.names; name++) {
        watch_name(world, name);
        for (struct hold *hold = client->names[name]->holds; hold; hold = hold->next) {
            held += hold->stage == HOLD_ALIVE && hold->lock_kind == world_side(world, name);
            int64_t ends_by = note_of(world, client->index, hold->id)->ends_by;
            if (hold->stage == HOLD_ALIVE && ends_by != 0 && hold->deadline > ends_by) {
                world_violation(world, "a hold outlives its max_hold", "client %u id %d: by %d us", client->index,
                                (int)hold->id, (int)(hold->deadline - ends_by));
            }
            if (hold->stage == HOLD_ALIVE && note_of(world, client->index, hold->id)->reported_missing) {
                world_violation(world, "a loss that the server told is ignored", "client %u id %d", client->index,
                                (int)hold->id);
            }
            bool overdue = hold->stage == HOLD_ALIVE && hold->deadline <= now &&
                           engine_next_timer(&client->engine) > now;
            if (overdue) {
                world_violation(world, "a loss is withheld", "client %u id %d", client->index, (int)hold->id);
            }
        }
        bool held_now = resource_live_hold(client->names[name]) != NULL;
        client->let_go_at[name] = client->held[name] && !held_now ? world->now : client->let_go_at[name];
        client->held[name] = held_now;
        check_beliefs_about(world, name);
        check_left_behind(world, name, client);
    }
    for (uint32_t i = 0; i < world->plan.owners; i++) {
        check_owner(client, &client->owners[i]);
    }
    if (held != client->engine.stats.held) {
        world_violation(world, "the gauge of holds is wrong", "client %u: %d, expected %d", client->index,
                        (int)client->engine.stats.held, (int)held);
    }
}
