/* The engine's memory: pools that the driver fills before an operation starts, and what is set aside for each
 * operation, so that no undo, loss or release ever wants for memory. SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <string.h>

#include "steps.h"

/* An acquire may need, at the same time: the command asking, one that undoes it, and room for a retired id or two. */
enum { COMMANDS_PER_ACQUIRE = 4, COMMANDS_PER_OTHER = 2, BATCHES = 16 };

static uint32_t commands_for(uint8_t operation_kind) {
    return operation_kind == OPERATION_ACQUIRE ? COMMANDS_PER_ACQUIRE : COMMANDS_PER_OTHER;
}

/* One who watches may find that the name is told of elsewhere, while the place where it listened lingers. */
static uint32_t contests_for(uint8_t operation_kind) {
    return operation_kind == OPERATION_WATCH ? 2 : operation_kind == OPERATION_ACQUIRE ? 1 : 0;
}

static uint32_t missing(uint32_t wanted, uint32_t there) {
    return wanted > there ? wanted - there : 0;
}

struct engine_lack engine_lacks(const struct engine *engine, uint8_t operation_kind) {
    uint32_t one = operation_kind == OPERATION_ACQUIRE ? 1 : 0;
    uint32_t contests = contests_for(operation_kind);
    struct engine_lack lack = {
        missing(engine->reserved_commands + engine->expired_lines + commands_for(operation_kind) + engine->refreshes,
                engine->spare_command_count),
        missing(engine->reserved_contests + contests, engine->spare_contest_count),
        missing(engine->reserved_holds + one, engine->spare_hold_count),
        missing(BATCHES, engine->spare_batch_count),
    };
    return lack;
}

void engine_supply_command(struct engine *engine, struct command *command) {
    memset(command, 0, sizeof *command);
    command->timer.kind = TIMER_COMMAND;
    list_append(&engine->spare_commands, &command->link);
    engine->spare_command_count++;
}

void engine_supply_batch(struct engine *engine, struct command *command, struct renewal *lines) {
    memset(command, 0, sizeof *command);
    command->timer.kind = TIMER_COMMAND;
    command->kind = COMMAND_RENEW;
    command->lane = LANE_KEEPER;
    command->batch = lines;
    list_append(&engine->spare_batches, &command->link);
    engine->spare_batch_count++;
}

void engine_supply_contest(struct engine *engine, struct contest *contest) {
    memset(contest, 0, sizeof *contest);
    list_append(&engine->spare_contests, &contest->link);
    engine->spare_contest_count++;
}

void engine_supply_hold(struct engine *engine, struct hold *hold) {
    hold->next = engine->spare_holds;
    engine->spare_holds = hold;
    engine->spare_hold_count++;
}

void reserve_for(struct engine *engine, struct operation *operation) {
    operation->reserved_commands = (uint8_t)commands_for(operation->kind);
    engine->reserved_commands += operation->reserved_commands;
    if (operation->kind == OPERATION_ACQUIRE) {
        operation->reserved_holds = operation->amount > 1 && operation->lock_kind == REDLATCH_PERMIT_SEMAPHORE
                                        ? (uint32_t)operation->amount
                                        : 1;
        engine->reserved_holds += operation->reserved_holds;
    }
    operation->reserved_contests = (uint8_t)contests_for(operation->kind);
    engine->reserved_contests += operation->reserved_contests;
    assert(engine->spare_command_count >= engine->reserved_commands);
    assert(engine->spare_hold_count >= engine->reserved_holds);
    assert(engine->spare_contest_count >= engine->reserved_contests);
}

/* An operation that leaves the queue for a hold of its owner's may come back, and may have made the contest. What is set
 * aside for it is that contest: still there, or back in the pool. */
void reserve_contest_again(struct engine *engine, struct operation *operation) {
    if (operation->reserved_contests == 0) {
        operation->reserved_contests = 1;
        engine->reserved_contests++;
    }
}

void return_reserve(struct engine *engine, struct operation *operation) {
    engine->reserved_commands -= operation->reserved_commands;
    engine->reserved_holds -= operation->reserved_holds;
    engine->reserved_contests -= operation->reserved_contests;
    operation->reserved_commands = 0;
    operation->reserved_holds = 0;
    operation->reserved_contests = 0;
}

/* What nobody may ever wait for again keeps one of its operation's commands to be released with. */
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

/* A command out of the operation's reserve, or for nobody out of what is not reserved; NULL only in the second case or
 * when the operation has used up its reserve. */
struct command *take_command(struct engine *engine, struct operation *operation) {
    if (operation && operation->reserved_commands > 0) {
        operation->reserved_commands--;
        engine->reserved_commands--;
    } else if (engine->spare_command_count <= engine->reserved_commands) {
        return NULL;
    }
    struct command *command = container_of(list_pop(&engine->spare_commands), struct command, link);
    engine->spare_command_count--;
    memset(command, 0, sizeof *command);
    command->timer.kind = TIMER_COMMAND;
    if (operation) {
        command->operation = operation;
        command->lock_kind = operation->lock_kind;
        command->lane = operation->lane;
        command->resource = operation->resource ? resource_keep(operation->resource) : NULL;
    }
    return command;
}

/* Takes a command back; an operation that goes on has it set aside again. */
void give_command(struct engine *engine, struct command *command) {
    struct operation *operation = command->operation;
    timer_disarm(&engine->timers, &command->timer);
    list_remove(&command->link);
    if (command->kind == COMMAND_RENEW) {
        list_append(&engine->spare_batches, &command->link);
        engine->spare_batch_count++;
        return;
    }
    list_append(&engine->spare_commands, &command->link);
    engine->spare_command_count++;
    if (operation && operation->phase != PHASE_DONE) {
        operation->reserved_commands++;
        engine->reserved_commands++;
    }
    command->operation = NULL;
    if (command->resource) {
        resource_drop(engine, command->resource);
        command->resource = NULL;
    }
}

struct hold *take_hold(struct engine *engine, struct operation *operation) {
    assert(operation->reserved_holds > 0);
    operation->reserved_holds--;
    engine->reserved_holds--;
    struct hold *hold = engine->spare_holds;
    engine->spare_holds = hold->next;
    engine->spare_hold_count--;
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
    engine_supply_hold(engine, hold);
}

/* The contest of the operation's name, out of its reserve if there is none yet. */
struct contest *attach_contest(struct engine *engine, struct operation *operation) {
    struct resource *resource = operation->resource;
    if (!resource->contest) {
        assert(operation->reserved_contests > 0);
        operation->reserved_contests--;
        engine->reserved_contests--;
        struct contest *contest = container_of(list_pop(&engine->spare_contests), struct contest, link);
        engine->spare_contest_count--;
        memset(contest, 0, sizeof *contest);
        contest->timer.kind = TIMER_CONTEST;
        contest->refresh.kind = TIMER_REFRESH;
        contest->subscription.contest = contest;
        for (int i = 0; i < CALLS; i++) {
            contest->calls[i].contest = contest;
        }
        list_init(&contest->queue);
        list_init(&contest->watchers);
        list_append(&engine->contests, &contest->all);
        contest->resource = resource_keep(resource);
        resource->contest = contest;
    }
    return resource->contest;
}

void detach_contest(struct engine *engine, struct contest *contest) {
    assert(list_is_empty(&contest->queue) && list_is_empty(&contest->watchers));
    timer_disarm(&engine->timers, &contest->timer);
    timer_disarm(&engine->timers, &contest->refresh);
    list_remove(&contest->subscription.link);
    list_remove(&contest->subscription.told);
    for (int i = 0; i < CALLS; i++) {
        list_remove(&contest->calls[i].link);
        list_remove(&contest->calls[i].told);
    }
    list_remove(&contest->all);
    struct resource *resource = contest->resource;
    resource->contest = NULL;
    resource_drop(engine, resource);
    list_append(&engine->spare_contests, &contest->link);
    engine->spare_contest_count++;
}
