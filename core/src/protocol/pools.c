/* The engine's memory: pools that the driver fills before an operation starts, and reserves for each operation, so that
 * no undo, loss or release ever fails without memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include "pools.h"

#include <string.h>

#include "kinds.h"
#include "operation_record.h"
#include "planted.h"

/* An acquire may need at the same time: the command of its request, the undo of one, and the releases of a retired id
 * or two. */
enum { COMMANDS_PER_ACQUIRE = 4, COMMANDS_PER_OTHER = 2 };

/* Batches that are kept in the pool. In a cluster each is for one slot, which few holds share. */
enum { BATCHES = 16, BATCHES_OF_CLUSTER = BATCHES_TOGETHER };

static uint32_t commands_for(uint8_t operation_kind) {
    return operation_kind == OPERATION_ACQUIRE ? COMMANDS_PER_ACQUIRE : COMMANDS_PER_OTHER;
}

static uint32_t missing(uint32_t wanted, uint32_t there) {
    return wanted > there ? wanted - there : 0;
}

/* A watch of a name of unknown kind may change to another role, while the wait queue of its first role lingers. */
static uint32_t wait_queues_for(uint8_t operation_kind, uint32_t count) {
    return operation_kind == OPERATION_ACQUIRE ? count : operation_kind == OPERATION_WATCH ? 2 : 0;
}

/* Returns what an operation on `count` names needs. For a set, each asynchronous grant may have to be given back by
 * itself. */
static struct engine_preallocation needs(uint8_t operation_kind, uint32_t count, bool set) {
    uint32_t commands = commands_for(operation_kind);
    bool acquire = operation_kind == OPERATION_ACQUIRE;
    return (struct engine_preallocation){
        .commands = commands + (acquire && set ? count : 0),
        .wait_queues = wait_queues_for(operation_kind, count),
        .holds = acquire ? count : 0,
        .entries = set ? commands : 0,
    };
}

/* Returns how many commands of the pool are set aside for something. */
static uint32_t commands_spoken_for(const struct engine *engine) {
    return engine->reserved_commands + engine->returning_commands + engine->expired_entries + engine->refreshes;
}

static struct engine_preallocation not_pooled(const struct engine *engine, struct engine_preallocation need) {
    return (struct engine_preallocation){
        missing(commands_spoken_for(engine) + need.commands, engine->command_pool_size),
        missing(engine->reserved_wait_queues + need.wait_queues, engine->wait_queue_pool_size),
        missing(engine->reserved_holds + need.holds, engine->hold_pool_size),
        missing(engine->routes ? BATCHES_OF_CLUSTER : BATCHES, engine->batch_pool_size),
        missing(engine->reserved_entries + need.entries, engine->entries_pool_size),
    };
}

struct engine_preallocation engine_preallocation_needed(const struct engine *engine, uint8_t operation_kind) {
    return not_pooled(engine, needs(operation_kind, 1, false));
}

struct engine_preallocation engine_preallocation_needed_for_set(const struct engine *engine, uint8_t operation_kind,
                                                                uint32_t count) {
    return not_pooled(engine, needs(operation_kind, count, true));
}

void engine_add_command(struct engine *engine, struct command *command) {
    memset(command, 0, sizeof *command);
    command->timer.kind = TIMER_COMMAND;
    list_append(&engine->command_pool, &command->link);
    engine->command_pool_size++;
}

void engine_add_batch(struct engine *engine, struct command *command, struct renewal *entries) {
    memset(command, 0, sizeof *command);
    command->timer.kind = TIMER_COMMAND;
    command->kind = COMMAND_RENEW;
    command->pipeline = PIPELINE_BACKGROUND;
    command->batch = entries;
    list_append(&engine->batch_pool, &command->link);
    engine->batch_pool_size++;
}

void engine_add_entries(struct engine *engine, struct entries *entries) {
    memset(entries, 0, sizeof *entries);
    list_append(&engine->entries_pool, &entries->link);
    engine->entries_pool_size++;
}

void engine_add_wait_queue(struct engine *engine, struct wait_queue *queue) {
    memset(queue, 0, sizeof *queue);
    list_append(&engine->wait_queue_pool, &queue->link);
    engine->wait_queue_pool_size++;
}

void engine_add_hold(struct engine *engine, struct hold *hold) {
    hold->next = engine->hold_pool;
    engine->hold_pool = hold;
    engine->hold_pool_size++;
}

/* Reserves one wait queue for a name that operations may need it for, however many they are. The wait queue is in the
 * pool until it is attached, and again when it is detached while such an operation goes on. */
static void use_wait_queue(struct engine *engine, struct operation *operation) {
    struct resource *resource = operation->resource;
    operation->uses_wait_queue = true;
    engine->reserved_wait_queues += resource->wait_queue_users++ == 0 && !resource->queue;
}

bool use_wait_queue_of(struct engine *engine, struct operation *operation, struct resource *resource) {
    struct resource *before = operation->resource;
    engine->reserved_wait_queues -= --before->wait_queue_users == 0 && !before->queue;
    bool room = resource->queue || resource->wait_queue_users > 0 ||
                engine->wait_queue_pool_size > engine->reserved_wait_queues;
    if (!room && operation->reserved_wait_queues > 0) {
        operation->reserved_wait_queues--;
        engine->reserved_wait_queues--;
        room = true;
    }
    operation->resource = room ? resource : before;
    use_wait_queue(engine, operation);
    return room;
}

void reserve_for(struct engine *engine, struct operation *operation) {
    const struct name_set *set = operation->set;
    struct engine_preallocation need = needs(operation->kind, set ? set->count : 1, set);
    bool permits = operation->kind == OPERATION_ACQUIRE && kind_has_permit_ids(operation->lock_kind);
    operation->reserved_commands = (uint8_t)need.commands;
    operation->returning_commands = 0;
    operation->reserved_holds = permits && operation->amount > 1 ? (uint32_t)operation->amount : need.holds;
    bool one = !set && need.wait_queues > 0; /* one wait queue is reserved for the name itself */
    operation->reserved_wait_queues = (uint8_t)(need.wait_queues - one);
    operation->reserved_entries = (uint8_t)need.entries;
    engine->reserved_commands += operation->reserved_commands;
    engine->reserved_holds += operation->reserved_holds;
    engine->reserved_wait_queues += operation->reserved_wait_queues;
    engine->reserved_entries += operation->reserved_entries;
    if (one) {
        use_wait_queue(engine, operation);
    }
    (void)INVARIANT(&engine->broken, engine->command_pool_size >= engine->reserved_commands);
    (void)INVARIANT(&engine->broken, engine->hold_pool_size >= engine->reserved_holds);
    (void)INVARIANT(&engine->broken, engine->wait_queue_pool_size >= engine->reserved_wait_queues);
    (void)INVARIANT(&engine->broken, engine->entries_pool_size >= engine->reserved_entries);
}

void return_reserve(struct engine *engine, struct operation *operation) {
    engine->reserved_commands -= operation->reserved_commands;
    engine->returning_commands -= operation->returning_commands;
    engine->reserved_holds -= operation->reserved_holds;
    engine->reserved_wait_queues -= operation->reserved_wait_queues;
    engine->reserved_entries -= operation->reserved_entries;
    operation->reserved_commands = 0;
    operation->returning_commands = 0;
    operation->reserved_holds = 0;
    operation->reserved_wait_queues = 0;
    operation->reserved_entries = 0;
    if (operation->uses_wait_queue) {
        struct resource *resource = operation->resource;
        operation->uses_wait_queue = false;
        engine->reserved_wait_queues -= --resource->wait_queue_users == 0 && !resource->queue;
    }
}

/* Sets one of the operation's reserved commands aside for a hold, so that the hold can be released when nobody waits
 * for it any more. */
void keep_command_for(struct operation *operation, struct hold *hold) {
    if (operation->reserved_commands > 0 && !hold->command_kept) {
        operation->reserved_commands--;
        hold->command_kept = true;
    }
}

void return_kept_command(struct engine *engine, struct hold *hold) {
    engine->reserved_commands -= hold->command_kept;
    hold->command_kept = false;
}

/* Takes a command out of the operation's reserve. Without an operation, or if the reserve is used up, takes one that is
 * not reserved. Returns NULL if there is none, or if the engine is broken. */
struct command *take_command(struct engine *engine, struct operation *operation) {
    if (operation && operation->reserved_commands > 0) {
        operation->reserved_commands--;
        engine->reserved_commands--;
    } else if (engine->command_pool_size <= engine->reserved_commands) {
        return NULL;
    } else if (operation && operation->returning_commands > 0) {
        operation->returning_commands--;
        engine->returning_commands--;
    }
    if (!INVARIANT(&engine->broken, !list_is_empty(&engine->command_pool))) { /* the pool has all reserves */
        return NULL;
    }
    struct command *command = container_of(list_pop(&engine->command_pool), struct command, link);
    engine->command_pool_size--;
    memset(command, 0, sizeof *command);
    command->timer.kind = TIMER_COMMAND;
    if (operation) {
        command->operation = operation;
        command->lock_kind = operation->lock_kind;
        command->pipeline = operation->pipeline;
        command->resource = operation->resource ? resource_keep(operation->resource) : NULL;
    }
    return command;
}

void let_command_go(struct engine *engine, struct command *command) {
    struct operation *operation = command->operation;
    command->operation = NULL;
    if (operation && operation->phase != PHASE_DONE && !PLANTED(FAULT_COMMANDS_NOT_RETURNED)) {
        operation->returning_commands++;
        engine->returning_commands++;
    }
}

static uint32_t smaller(uint32_t one, uint32_t other) {
    return one < other ? one : other;
}

/* Fills up the reserve of an operation on a set. A command that it used for an undo returns to the pool, not to the
 * reserve. An operation that goes on for long may reserve such commands again, if nothing else has. */
static void top_up(struct engine *engine, struct operation *operation) {
    struct engine_preallocation need = needs(operation->kind, operation->set->count, true);
    uint32_t commands = smaller(missing(need.commands, operation->reserved_commands),
                                missing(engine->command_pool_size, commands_spoken_for(engine)));
    uint32_t entries = smaller(missing(need.entries, operation->reserved_entries),
                               missing(engine->entries_pool_size, engine->reserved_entries));
    operation->reserved_commands += (uint8_t)commands;
    engine->reserved_commands += commands;
    operation->reserved_entries += (uint8_t)entries;
    engine->reserved_entries += entries;
}

/* Takes a command with entries out of the reserve of an operation on a set. Returns NULL if the reserve is used up and
 * cannot be filled up. */
struct command *take_command_with_entries(struct engine *engine, struct operation *operation) {
    top_up(engine, operation);
    if (operation->reserved_entries == 0 || operation->reserved_commands == 0) {
        return NULL;
    }
    struct command *command = take_command(engine, operation);
    if (!INVARIANT(&engine->broken, command && !list_is_empty(&engine->entries_pool))) { /* they have all reserves */
        return NULL;
    }
    operation->reserved_entries--;
    engine->reserved_entries--;
    engine->entries_pool_size--;
    command->entries = container_of(list_pop(&engine->entries_pool), struct entries, link);
    return command;
}

static void give_entries(struct engine *engine, struct command *command) {
    struct operation *operation = command->operation;
    for (uint32_t i = 0; i < command->entry_count; i++) {
        resource_drop(engine, command->entries->entry[i].name);
    }
    list_append(&engine->entries_pool, &command->entries->link);
    engine->entries_pool_size++;
    command->entries = NULL;
    if (operation && operation->phase != PHASE_DONE) {
        operation->reserved_entries++;
        engine->reserved_entries++;
    }
}

/* Gives a command back to its pool. If its operation goes on, the command is reserved for it again. */
void give_command(struct engine *engine, struct command *command) {
    struct operation *operation = command->operation;
    timer_disarm(&engine->timers, &command->timer);
    engine->refused_commands -= command->refused;
    command->refused = false;
    list_remove(&command->link);
    if (command->kind == COMMAND_RENEW) {
        list_append(&engine->batch_pool, &command->link);
        engine->batch_pool_size++;
        return;
    }
    if (command->entries) {
        give_entries(engine, command);
    }
    record_give_key(engine, command);
    list_append(&engine->command_pool, &command->link);
    engine->command_pool_size++;
    if (operation && operation->phase != PHASE_DONE) {
        operation->reserved_commands++;
        engine->reserved_commands++;
    }
    command->operation = NULL;
    if (command->resource) {
        command->resource->refreshes -= command->kind == COMMAND_REFRESH;
        resource_drop(engine, command->resource);
        command->resource = NULL;
    }
}

struct hold *take_hold(struct engine *engine, struct operation *operation) {
    if (!INVARIANT(&engine->broken, operation->reserved_holds > 0 && engine->hold_pool)) {
        return NULL;
    }
    operation->reserved_holds--;
    engine->reserved_holds--;
    struct hold *hold = engine->hold_pool;
    engine->hold_pool = hold->next;
    engine->hold_pool_size--;
    memset(hold, 0, sizeof *hold);
    hold->timer.kind = TIMER_HOLD;
    hold->lock_kind = operation->lock_kind;
    list_init(&hold->waiting);
    hold->resource = resource_keep(operation->resource);
    hold->next = hold->resource->holds;
    hold->resource->holds = hold;
    return hold;
}

void give_hold(struct engine *engine, struct hold *hold) {
    resource_drop(engine, hold->resource);
    engine_add_hold(engine, hold);
}

/* Returns the wait queue of the operation's name. If there is none yet, takes the one that is reserved for the name or
 * the operation, or one that is not reserved. Returns NULL only for a set, which may have used up its reserve for other
 * names. */
struct wait_queue *attach_wait_queue(struct engine *engine, struct operation *operation) {
    struct resource *resource = operation->resource;
    if (!resource->queue) {
        if (resource->wait_queue_users > 0) {
            engine->reserved_wait_queues--;
        } else if (operation->reserved_wait_queues > 0) {
            operation->reserved_wait_queues--;
            engine->reserved_wait_queues--;
        } else if (engine->wait_queue_pool_size <= engine->reserved_wait_queues) {
            return NULL;
        }
        struct wait_queue *queue = container_of(list_pop(&engine->wait_queue_pool), struct wait_queue, link);
        engine->wait_queue_pool_size--;
        memset(queue, 0, sizeof *queue);
        queue->timer.kind = TIMER_WAIT_QUEUE;
        queue->refresh.kind = TIMER_REFRESH;
        queue->subscription.queue = queue;
        for (int i = 0; i < WAKE_CHANNELS; i++) {
            queue->wake_channels[i].queue = queue;
        }
        list_init(&queue->waiters);
        list_init(&queue->watchers);
        list_append(&engine->wait_queues, &queue->all);
        queue->resource = resource_keep(resource);
        resource->queue = queue;
    }
    return resource->queue;
}

static void subscription_unlink(struct subscription *subscription) {
    list_remove(&subscription->link);
    list_remove(&subscription->notified);
    list_remove(&subscription->sent);
    list_remove(&subscription->stale);
}

void detach_wait_queue(struct engine *engine, struct wait_queue *queue) {
    if (!INVARIANT(&engine->broken, list_is_empty(&queue->waiters) && list_is_empty(&queue->watchers))) {
        return;
    }
    timer_disarm(&engine->timers, &queue->timer);
    timer_disarm(&engine->timers, &queue->refresh);
    subscription_unlink(&queue->subscription);
    for (int i = 0; i < WAKE_CHANNELS; i++) {
        subscription_unlink(&queue->wake_channels[i]);
    }
    list_remove(&queue->all);
    struct resource *resource = queue->resource;
    resource->queue = NULL;
    engine->reserved_wait_queues += resource->wait_queue_users > 0;
    resource_drop(engine, resource);
    list_append(&engine->wait_queue_pool, &queue->link);
    engine->wait_queue_pool_size++;
}
