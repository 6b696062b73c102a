/* The checks of the simulation of locks over several servers: what callers believe to hold against what the servers
 * have, and what callers were told.
 * SPDX-License-Identifier: Apache-2.0 */
#include "composite_world.h"
#include "wire.h"

/* A running process must report a loss within this time. */
static const int64_t NOTIFIED_WITHIN = 2 * SECOND;

/* How many parts of its lock a caller believes to hold, and how many of those the servers have. A part of a composite
 * lock is a group; a lock of one name has one part. */
struct parts {
    uint32_t believed;
    uint32_t known;
};

static bool has_field(struct sim_server *server, const struct client *client, const struct hold *hold, uint64_t id) {
    char owner[REDLATCH_OWNER_SIZE];
    struct redis_text text;
    struct redis_text name = {hold->resource->name, hold->resource->name_size};
    owner_text(&client->engine, id, owner);
    keyspace_set_time(server->keyspace, server->network->world->now / MILLISECOND);
    return keyspace_hget(server->keyspace, name, redis_text(owner), &text);
}

/* A hold that is being moved to a new id is on the server under either id. */
static bool is_known(struct sim_server *server, const struct client *client, const struct hold *hold) {
    bool moves = hold->busy && hold->busy->kind == COMMAND_MOVE;
    return has_field(server, client, hold, hold->id) ||
           (moves && has_field(server, client, hold, hold->busy->successor));
}

static struct sim_server *server_reached(const struct caller *caller, const struct client *client) {
    struct process *process = caller->process;
    uint32_t number = 0;
    while (process->clients[number].client != client) {
        number++;
    }
    return process->clients[number].peer.server;
}

static struct parts parts_of(const struct caller *caller) {
    struct world *world = caller->process->world;
    struct parts parts = {0, 0};
    const struct composite *composite = caller->lock->composite;
    for (uint32_t i = 0; i < (composite ? composite->group_count : 1); i++) {
        bool believed = true;
        bool known = true;
        for (uint32_t j = 0; j < (composite ? composite->groups[i].set->count : 1); j++) {
            const struct client *client = composite ? composite->groups[i].client : caller->lock->client;
            const struct resource *resource = composite ? composite->groups[i].set->members[j].resource
                                                        : caller->lock->resource;
            const struct hold *hold = resource_hold_of(resource, REDLATCH_MUTEX, caller->owner);
            believed = believed && hold && hold->stage == HOLD_ALIVE && hold->deadline > world->now;
            known = believed && known && is_known(server_reached(caller, client), client, hold);
        }
        parts.believed += believed;
        parts.known += known;
    }
    return parts;
}

static uint32_t needed(const struct caller *caller) {
    return caller->single ? 1 : caller->process->world->quorum;
}

static void judge_loss(struct caller *caller, bool holds) {
    struct world *world = caller->process->world;
    if (holds || !is_running(caller->process)) {
        caller->short_since = 0;
        return;
    }
    caller->short_since = caller->short_since ? caller->short_since : world->now;
    if (!caller->notified && world->now - caller->short_since > NOTIFIED_WITHIN) {
        world_violation(world, "a loss was not told", "owner %d", (int)(caller->owner - owners[0]));
    }
}

void judge_holders(struct world *world) {
    uint32_t wholes = 0;
    uint32_t singles = 0;
    for (uint32_t i = 0; i < PROCESSES; i++) {
        for (uint32_t j = 0; j <= CALLERS; j++) {
            struct caller *caller = &world->processes[i].callers[j];
            if (caller->levels == 0 || caller->gives) {
                continue;
            }
            struct parts parts = parts_of(caller);
            bool holds = parts.believed >= needed(caller);
            judge_loss(caller, holds);
            if (holds && parts.known < needed(caller)) {
                world_violation(world, "a holder believes in what the servers do not know",
                                "process %u caller %u: %u parts of %u", i, j, parts.known, parts.believed);
            }
            wholes += holds && !caller->single;
            singles += holds && caller->single;
        }
    }
    if (wholes > 1) {
        world_violation(world, "several hold the whole", "%u", wholes);
    }
    if (wholes == 1 && singles > 0 && !world->majority) {
        world_violation(world, "a name of a whole that is held is held, too", "%u", singles);
    }
}

void judge_granted(const struct caller *caller) {
    struct world *world = caller->process->world;
    redlatch_hold hold = {.struct_size = sizeof hold};
    int status = redlatch_lock_hold_status(caller->lock, caller->owner, &hold);
    bool held = hold.state == REDLATCH_HELD || hold.state == REDLATCH_SUSPECT;
    if (status != REDLATCH_OK || !held || (hold.count != caller->levels && !caller->owes)) {
        world_violation(world, "a grant of what is over", "process %d caller %d: state %d, %u of %u levels",
                        (int)(caller->process - world->processes), (int)(caller->owner - owners[0]), hold.state,
                        hold.count, caller->levels);
    }
}

void judge_notified(const struct caller *caller) {
    struct world *world = caller->process->world;
    if (caller->notified) {
        world_violation(world, "a loss was told twice", "owner %d", (int)(caller->owner - owners[0]));
    }
    /* While a call is in progress, parts that it was just granted may be held although the hold is lost. */
    if (caller->tag == 0 && parts_of(caller).believed >= needed(caller)) {
        world_violation(world, "told lost is what is held", "owner %d", (int)(caller->owner - owners[0]));
    }
}

void judge_nothing_left(struct world *world) {
    for (uint32_t i = 0; i < world->server_count; i++) {
        uint32_t cursor = 0;
        struct redis_text key;
        keyspace_set_time(world->servers[i].keyspace, world->now / MILLISECOND);
        if (keyspace_next_key(world->servers[i].keyspace, &cursor, &key)) {
            world_violation(world, "a key is left in the end", "server %u: %.*s", i, (int)key.size, key.bytes);
        }
    }
}
