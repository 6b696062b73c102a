/* The engine's memory: pools that the driver fills before an operation starts, and what is set aside for each
 * operation, so that no undo, loss or release ever wants for memory. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "steps.h"

/* An acquire may need, at the same time: the command asking, one that undoes it, and room for a retired id or two. */
enum { COMMANDS_PER_ACQUIRE = 4, COMMANDS_PER_OTHER = 2, BATCHES = 16 };

static uint32_t commands_for(uint8_t operation_kind) {
    return operation_kind == OPERATION_ACQUIRE ? COMMANDS_PER_ACQUIRE : COMMANDS_PER_OTHER;
}

static uint32_t missing(uint32_t wanted, uint32_t there) {
    return wanted > there ? wanted - there : 0;
}

/* Of a name of unknown kind, one who watches may find that it is told of elsewhere, while the place where it listened
 * lingers. */
static uint32_t contests_for(uint8_t operation_kind, uint32_t count) {
    return operation_kind == OPERATION_ACQUIRE ? count : operation_kind == OPERATION_WATCH ? 2 : 0;
}

/* What an operation on `count` names needs; of a set, each asynchronous grant may have to be given back by itself. */
static struct engine_lack needs(uint8_t operation_kind, uint32_t count, bool set) {
    uint32_t commands = commands_for(operation_kind);
    bool acquire = operation_kind == OPERATION_ACQUIRE;
    return (struct engine_lack){
        .commands = commands + (acquire && set ? count : 0),
        .contests = contests_for(operation_kind, count),
        .holds = acquire ? count : 0,
        .lines = set ? commands : 0,
    };
}

/* Commands in the pool that are set aside for something. */
static uint32_t commands_spoken_for(const struct engine *engine) {
    return engine->reserved_commands + engine->expired_lines + engine->refreshes;
}

static struct engine_lack lacks(const struct engine *engine, struct engine_lack need) {
    return (struct engine_lack){
        missing(commands_spoken_for(engine) + need.commands, engine->spare_command_count),
        missing(engine->reserved_contests + need.contests, engine->spare_contest_count),
        missing(engine->reserved_holds + need.holds, engine->spare_hold_count),
        missing(BATCHES, engine->spare_batch_count),
        missing(engine->reserved_lines + need.lines, engine->spare_lines_count),
    };
}

struct engine_lack engine_lacks(const struct engine *engine, uint8_t operation_kind) {
    return lacks(engine, needs(operation_kind, 1, false));
}

struct engine_lack engine_lacks_for_set(const struct engine *engine, uint8_t operation_kind, uint32_t count) {
    return lacks(engine, needs(operation_kind, count, true));
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

void engine_supply_lines(struct engine *engine, struct lines *lines) {
    memset(lines, 0, sizeof *lines);
    list_append(&engine->spare_lines, &lines->link);
    engine->spare_lines_count++;
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

/* One contest is set aside for each name that may come to need it, however many wait: it is in the pool until it is
 * attached, and again when it has been detached while somebody is still under way. */
static void contend(struct engine *engine, struct operation *operation) {
    struct resource *resource = operation->resource;
    operation->contends = true;
    engine->reserved_contests += resource->contenders++ == 0 && !resource->contest;
}

bool contend_for(struct engine *engine, struct operation *operation, struct resource *resource) {
    struct resource *before = operation->resource;
    engine->reserved_contests -= --before->contenders == 0 && !before->contest;
    bool room = resource->contest || resource->contenders > 0 ||
                engine->spare_contest_count > engine->reserved_contests;
    if (!room && operation->reserved_contests > 0) {
        operation->reserved_contests--;
        engine->reserved_contests--;
        room = true;
    }
    operation->resource = room ? resource : before;
    contend(engine, operation);
    return room;
}

void reserve_for(struct engine *engine, struct operation *operation) {
    const struct name_set *set = operation->set;
    struct engine_lack need = needs(operation->kind, set ? set->count : 1, set);
    bool permits = operation->kind == OPERATION_ACQUIRE && operation->lock_kind == REDLATCH_PERMIT_SEMAPHORE;
    operation->reserved_commands = (uint8_t)need.commands;
    operation->reserved_holds = permits && operation->amount > 1 ? (uint32_t)operation->amount : need.holds;
    bool one = !set && need.contests > 0; /* the first contest is its name's */
    operation->reserved_contests = (uint8_t)(need.contests - one);
    operation->reserved_lines = (uint8_t)need.lines;
    engine->reserved_commands += operation->reserved_commands;
    engine->reserved_holds += operation->reserved_holds;
    engine->reserved_contests += operation->reserved_contests;
    engine->reserved_lines += operation->reserved_lines;
    if (one) {
        contend(engine, operation);
    }
    (void)INVARIANT(&engine->broken, engine->spare_command_count >= engine->reserved_commands);
    (void)INVARIANT(&engine->broken, engine->spare_hold_count >= engine->reserved_holds);
    (void)INVARIANT(&engine->broken, engine->spare_contest_count >= engine->reserved_contests);
    (void)INVARIANT(&engine->broken, engine->spare_lines_count >= engine->reserved_lines);
}

void return_reserve(struct engine *engine, struct operation *operation) {
    engine->reserved_commands -= operation->reserved_commands;
    engine->reserved_holds -= operation->reserved_holds;
    engine->reserved_contests -= operation->reserved_contests;
    engine->reserved_lines -= operation->reserved_lines;
    operation->reserved_commands = 0;
    operation->reserved_holds = 0;
    operation->reserved_contests = 0;
    operation->reserved_lines = 0;
    if (operation->contends) {
        struct resource *resource = operation->resource;
        operation->contends = false;
        engine->reserved_contests -= --resource->contenders == 0 && !resource->contest;
    }
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

static uint32_t smaller(uint32_t one, uint32_t other) {
    return one < other ? one : other;
}

/* What was bound in undos comes back to the pool, not to the operation: one that goes on for long may have of it again
 * what is set aside for nobody. */
static void top_up(struct engine *engine, struct operation *operation) {
    struct engine_lack need = needs(operation->kind, operation->set->count, true);
    uint32_t commands = smaller(missing(need.commands, operation->reserved_commands),
                                missing(engine->spare_command_count, commands_spoken_for(engine)));
    uint32_t lines = smaller(missing(need.lines, operation->reserved_lines),
                             missing(engine->spare_lines_count, engine->reserved_lines));
    operation->reserved_commands += (uint8_t)commands;
    engine->reserved_commands += commands;
    operation->reserved_lines += (uint8_t)lines;
    engine->reserved_lines += lines;
}

/* The same with room for lines, out of the reserve of an operation on a set; NULL when that is used up, and there is no
 * more in the pool. */
struct command *take_command_with_lines(struct engine *engine, struct operation *operation) {
    top_up(engine, operation);
    if (operation->reserved_lines == 0 || operation->reserved_commands == 0) {
        return NULL;
    }
    struct command *command = take_command(engine, operation);
    operation->reserved_lines--;
    engine->reserved_lines--;
    engine->spare_lines_count--;
    command->lines = container_of(list_pop(&engine->spare_lines), struct lines, link);
    return command;
}

static void give_lines(struct engine *engine, struct command *command) {
    struct operation *operation = command->operation;
    for (uint32_t i = 0; i < command->line_count; i++) {
        resource_drop(engine, command->lines->line[i].name);
    }
    list_append(&engine->spare_lines, &command->lines->link);
    engine->spare_lines_count++;
    command->lines = NULL;
    if (operation && operation->phase != PHASE_DONE) {
        operation->reserved_lines++;
        engine->reserved_lines++;
    }
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
    if (command->lines) {
        give_lines(engine, command);
    }
    record_give_key(engine, command);
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
    if (!INVARIANT(&engine->broken, operation->reserved_holds > 0 && engine->spare_holds)) {
        return NULL;
    }
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

/* The contest of the operation's name, out of what is set aside for the name, or for a set, if there is none yet. NULL
 * only for a set, whose names may each have had theirs before. */
struct contest *attach_contest(struct engine *engine, struct operation *operation) {
    struct resource *resource = operation->resource;
    if (!resource->contest) {
        if (resource->contenders > 0) {
            engine->reserved_contests--;
        } else if (operation->reserved_contests > 0) {
            operation->reserved_contests--;
            engine->reserved_contests--;
        } else if (engine->spare_contest_count <= engine->reserved_contests) {
            return NULL;
        }
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
    if (!INVARIANT(&engine->broken, list_is_empty(&contest->queue) && list_is_empty(&contest->watchers))) {
        return;
    }
    timer_disarm(&engine->timers, &contest->timer);
    timer_disarm(&engine->timers, &contest->refresh);
    list_remove(&contest->subscription.link);
    list_remove(&contest->subscription.told);
    list_remove(&contest->subscription.sent);
    for (int i = 0; i < CALLS; i++) {
        list_remove(&contest->calls[i].link);
        list_remove(&contest->calls[i].told);
        list_remove(&contest->calls[i].sent);
    }
    list_remove(&contest->all);
    struct resource *resource = contest->resource;
    resource->contest = NULL;
    engine->reserved_contests += resource->contenders > 0;
    resource_drop(engine, resource);
    list_append(&engine->spare_contests, &contest->link);
    engine->spare_contest_count++;
}
