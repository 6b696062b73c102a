/* Operations and commands in general: how a command is sent, repeated and abandoned, what a reply or an error does to
 * its operation, how an acquire is undone, how an operation pauses and finishes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "operations.h"

#include "kinds.h"
#include "lease.h"
#include "planted.h"
#include "pools.h"
#include "routes.h"

#ifdef REDLATCH_PLANTED_FAULTS
enum planted_fault planted_fault = FAULT_NONE;
#endif

/* xorshift64*: jitter needs no better. */
uint32_t engine_random(struct engine *engine, uint32_t bound) {
    engine->random ^= engine->random >> 12;
    engine->random ^= engine->random << 25;
    engine->random ^= engine->random >> 27;
    uint32_t high = (uint32_t)((engine->random * UINT64_C(2685821657736338717)) >> 32);
    return bound ? high % bound : 0;
}

/* Returns the server that an inspection goes to: the one that it names, or else that of its first key. Without a key
 * any server will do. */
static struct server *destination_of_question(const struct engine *engine, const struct question *question) {
    if (question->server || !engine->routes) {
        return question->server ? question->server : engine->server;
    }
    const struct argument_part *name = &question->arguments[0];
    return engine->routes[question->key_count > 0 ? key_slot(name->text, name->size) : 0];
}

struct server *destination(const struct engine *engine, const struct command *command) {
    if (command->resource) {
        return server_of(engine, command->resource);
    }
    if (command->batch_count > 0) {
        return server_of(engine, command->batch[0].name);
    }
    if (command->kind == COMMAND_INSPECT && command->operation) {
        return destination_of_question(engine, command->operation->question);
    }
    return command->server;
}

bool is_plain_question(const struct command *command) {
    return command->kind == COMMAND_INSPECT && command->operation && command->operation->question->plain;
}

void push_command(struct engine *engine, struct command *command) {
    engine->refused_commands -= command->refused;
    command->refused = false;
    command->server = destination(engine, command);
    command->importing = false;
    list_append(&command->server->pipelines[command->pipeline].unsent, &command->link);
}

bool is_unawaited_release(const struct command *command) {
    return command->unconfirmed && command->kind == COMMAND_RELEASE;
}

struct command *take_oldest_sent(struct pipeline *pipeline) {
    struct command *command = container_of(list_pop(&pipeline->sent), struct command, link);
    pipeline->in_flight--;
    pipeline->unconfirmed -= is_unawaited_release(command);
    command->held_since = 0; /* if it is sent again, its time for acknowledgements begins anew */
    return command;
}

void repeat_command(struct engine *engine, struct command *command, int64_t at) {
    timer_arm(&engine->timers, &command->timer, at);
}

void operation_request(struct engine *engine, struct operation *operation, struct command *command) {
    operation->command = command;
    operation->phase = PHASE_REQUESTING;
    push_command(engine, command);
    arm_operation(engine, operation);
}

/* Gives a command that was never sent back to the pool. Returns false if it was sent: the server may run it. */
bool drop_unsent(struct engine *engine, struct command *command) {
    if (command->was_sent) {
        return false;
    }
    give_command(engine, command);
    return true;
}

/* Abandons the command of an operation that gives up. Returns it if it was sent: it may run, and nobody waits for its
 * reply. Else gives it back to the pool, and returns NULL. */
struct command *operation_abandon(struct engine *engine, struct operation *operation) {
    struct command *command = operation->command;
    operation->command = NULL;
    if (!command || drop_unsent(engine, command)) {
        return NULL;
    }
    command->abandoned = true;
    command->operation = NULL;
    return command;
}

void arm_operation(struct engine *engine, struct operation *operation) {
    int64_t at = NEVER;
    if (operation->phase == PHASE_PARKED || operation->phase == PHASE_PAUSED) {
        at = operation->recheck_at;
    }
    if (operation->asynchronous && operation->wait_until < at) {
        at = operation->wait_until;
    }
    if (operation->unusable_since) {
        int64_t deadline = operation->unusable_since + engine->settings.unreachable_timeout_ms * MILLISECOND;
        at = deadline < at ? deadline : at;
    }
    timer_arm(&engine->timers, &operation->timer, at);
}

void operation_recheck_soon(struct engine *engine, struct operation *operation, int64_t now) {
    if (operation->phase == PHASE_PARKED || operation->phase == PHASE_PAUSED) {
        operation->recheck_at = now;
        arm_operation(engine, operation);
    }
}

void finish(struct engine *engine, struct operation *operation, int status) {
    if (!INVARIANT(&engine->broken, operation->phase != PHASE_DONE)) {
        return;
    }
    operation->phase = PHASE_DONE;
    operation->status = status;
    operation->command = NULL;
    operation->hold = NULL;
    if (operation->set) {
        operation->resource = operation->set->members[0].resource;
    }
    timer_disarm(&engine->timers, &operation->timer);
    list_remove(&operation->all);
    return_reserve(engine, operation);
    list_append(&engine->finished, &operation->link);
}

void finish_lost(struct engine *engine, struct operation *operation, int reason) {
    operation->reason = (uint8_t)reason;
    finish(engine, operation, REDLATCH_LOST);
}

void operation_unusable(struct engine *engine, struct operation *operation, int status, int64_t since) {
    operation->transient_error = status;
    if (operation->unusable_since == 0) {
        operation->unusable_since = since;
    }
    arm_operation(engine, operation);
}

/* The server is unusable for now. The operation requests again after a pause, which grows. */
void operation_pause(struct engine *engine, struct operation *operation, int status, int64_t now) {
    if (operation->unusable_since == 0) {
        operation->unusable_since = now;
        operation->pause_ms = 0;
    }
    bool long_since = now - operation->unusable_since > 5 * SECOND;
    uint32_t cap = long_since ? 1000 : 100;
    uint32_t longer = operation->pause_ms ? operation->pause_ms * 2 : 20;
    operation->pause_ms = longer < cap ? longer : cap;
    operation->transient_error = status;
    operation->phase = PHASE_PAUSED;
    operation->recheck_at = now + (operation->pause_ms + engine_random(engine, operation->pause_ms)) * MILLISECOND;
    arm_operation(engine, operation);
}

void operation_usable(struct operation *operation) {
    operation->transient_error = 0;
    operation->unusable_since = 0;
}

/* Returns the operation that a reply is for. Returns NULL if the operation has given up. A reply that is no error reply
 * shows that the server is usable. */
struct operation *operation_answered(const struct command *command, const struct reply *reply) {
    struct operation *operation = command->operation;
    if (!operation) {
        return NULL;
    }
    operation->command = NULL;
    if (reply->kind != REPLY_ERROR) {
        operation_usable(operation);
    }
    return operation;
}

/* The operation found its name held by others. */
void operation_contended(struct engine *engine, struct operation *operation) {
    engine->stats.contended += !operation->contended;
    operation->contended = true;
}

int64_t engine_wire_lease(const struct engine *engine, int64_t lease_ms) {
    return lease_ms == REDLATCH_RENEWED ? engine->settings.watchdog_lease_ms : lease_ms;
}

int64_t acquire_lease(const struct engine *engine, const struct operation *operation, int64_t now) {
    int64_t lease_ms = engine_wire_lease(engine, operation->lease_ms);
    if (operation->max_hold_ms != REDLATCH_FOREVER) {
        lease_ms = lease_within(lease_ms, now + operation->max_hold_ms * MILLISECOND, now);
    }
    return lease_ms;
}

void undo_acquire(struct engine *engine, struct operation *operation, uint64_t id, int64_t repeat_until) {
    struct command *command = take_command(engine, operation);
    if (!command) {
        return; /* a grant to the id ends with its lease */
    }
    let_command_go(engine, command);
    command->kind = COMMAND_RELEASE;
    command->id = id;
    command->amount = PLANTED(FAULT_PERMITS_GIVEN_BACK_IN_PART) ? 1 : operation->amount;
    command->lease_ms = engine_wire_lease(engine, operation->lease_ms);
    command->repeat_until = repeat_until;
    command->leaves = kind_of(operation->resource)->queues_on_server;
    /* Nobody waits for the reply, so a NOSCRIPT would be seen too late: what follows on this pipeline must not find a
     * position that was given up. */
    command->as_text = command->leaves && !server_of(engine, command->resource)->leave_is_known;
    engine->stats.script_loads += command->as_text;
    engine->stats.compensations++;
    push_command(engine, command);
}

/* Undoes the last request. If the operation requests again, it takes a new id, as the undo may still be in flight
 * then. */
void undo_attempt(struct engine *engine, struct operation *operation) {
    undo_acquire(engine, operation, operation->id, 0);
    operation->id = 0;
}
