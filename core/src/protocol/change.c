/* Changes of counts, and queries of counts: each is one command whose reply is a number. A change that cannot state its
 * intended result has an operation number, under which its script records the outcome. So the command may be sent
 * again, and undone, however often it arrives at the server (docs/internals/decisions/recorded-counts.md).
 * SPDX-License-Identifier: Apache-2.0
 *
 *   phase       event                         next
 *   REQUESTING  a number                      DONE (OK)
 *               -1, which says too many       DONE (INVALID): nothing was changed
 *               transient error               REQUESTING again after a pause; DONE when its record may have ended
 *               NOTREPLICATED, other error    DONE; a drain that may have run is undone
 *               connection broke              sent again if `repeatable` and its record is sure to live; a drain to be
 *                                             acknowledged is undone, DONE (NOT_REPLICATED); else DONE (NO_REPLY)
 *               time-out or cancel            DONE; by `ending` the command is forgotten, goes on or is undone */
#include "change.h"

#include <string.h>

#include "error_reply.h"
#include "operation_record.h"
#include "operations.h"
#include "planted.h"
#include "pools.h"
#include "retry.h"

enum ending { FORGOTTEN, GOES_ON, UNDONE };

static const struct {
    uint8_t ending;  /* when the caller gives up: enum ending */
    bool repeatable; /* it is recorded, states its result, or writes nothing */
} changes[CHANGES] = {
    [SEMAPHORE_TRY_SET] = {FORGOTTEN, true}, [SEMAPHORE_ADD] = {FORGOTTEN, true},
    [SEMAPHORE_RELEASE] = {GOES_ON, true},   [SEMAPHORE_RELEASE_IF_EXISTS] = {GOES_ON, true},
    [SEMAPHORE_DRAIN] = {UNDONE, true},      [SEMAPHORE_COUNT] = {FORGOTTEN, true},
    [SEMAPHORE_DELETE] = {FORGOTTEN, false}, [LATCH_TRY_SET] = {FORGOTTEN, true},
    [LATCH_COUNT_DOWN] = {GOES_ON, true},    [LATCH_COUNT] = {FORGOTTEN, true},
    [LATCH_DELETE] = {FORGOTTEN, false},     [PERMITS_TRY_SET] = {FORGOTTEN, true},
    [PERMITS_SET] = {FORGOTTEN, true},       [PERMITS_ADD] = {FORGOTTEN, true},
    [PERMITS_RELEASE] = {GOES_ON, true},     [PERMITS_EXTEND] = {FORGOTTEN, true},
    [PERMITS_LEASE] = {FORGOTTEN, true},     [PERMITS_AVAILABLE] = {FORGOTTEN, true},
    [PERMITS_TAKEN] = {FORGOTTEN, true},     [PERMITS_ALL] = {FORGOTTEN, true},
    [PERMITS_DELETE] = {FORGOTTEN, false},
};

/* Returns whether the script refuses with -1 if there would be more than REDLATCH_PERMITS_MAX permits. */
static bool is_bounded(uint8_t change) {
    return change == SEMAPHORE_ADD || change == SEMAPHORE_RELEASE || change == SEMAPHORE_RELEASE_IF_EXISTS ||
           change == PERMITS_ADD;
}

bool change_goes_on(const struct operation *operation) {
    return operation->kind == OPERATION_CHANGE && changes[operation->change].ending == GOES_ON;
}

void change_begin(struct engine *engine, struct operation *operation, int64_t now) {
    (void)now;
    struct command *command = take_command(engine, operation);
    if (!INVARIANT(&engine->broken, command)) { /* the operation's reserve is not used yet */
        return;
    }
    operation->id = ++engine->last_id;
    command->kind = COMMAND_CHANGE;
    command->change = operation->change;
    command->id = operation->id;
    record_take_key(engine, command);
    command->amount = operation->amount;
    command->lease_ms = operation->lease_ms;
    memcpy(command->permit, operation->permit, sizeof command->permit);
    operation_request(engine, operation, command);
}

static void change_error(struct engine *engine, struct command *command, struct error_reply error, int64_t now) {
    struct operation *operation = command->operation;
    uint8_t ending = changes[command->change].ending;
    bool wanted = operation || (ending == GOES_ON && !command->abandoned);
    if (wanted && is_retried(command, error, now)) {
        retry_later(engine, command, error, now);
        return;
    }
    if (!operation) {
        return;
    }
    if (ending == UNDONE && (error.may_have_executed || command->repeated)) {
        undo_taken(engine, operation, command);
    }
    finish(engine, operation, error.status);
}

void change_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now) {
    struct operation *operation = command->operation;
    if (reply->kind == REPLY_ERROR) {
        change_error(engine, command, error_of_reply(reply), now);
    } else if (operation && is_bounded(operation->change) && reply->integer < 0) {
        finish(engine, operation, REDLATCH_INVALID);
    } else if (operation) {
        operation->result = reply->integer;
        finish(engine, operation, reply->kind == REPLY_INTEGER ? REDLATCH_OK : REDLATCH_PROTOCOL);
    }
}

void change_abort(struct engine *engine, struct operation *operation, int status, int64_t now) {
    (void)now;
    struct command *command = operation->command;
    uint8_t ending = changes[operation->change].ending;
    if (command->was_sent && status <= REDLATCH_SERVER) { /* a copy may have run that got no error reply */
        status = REDLATCH_NO_REPLY;
    }
    if (ending == GOES_ON && (command->was_sent || status == REDLATCH_CLOSED)) {
        command->operation = NULL;
    } else if (operation_abandon(engine, operation)) {
        if (ending == UNDONE && !PLANTED(FAULT_NO_COMPENSATION)) {
            undo_taken(engine, operation, command);
        }
        if (timer_is_armed(&command->timer)) { /* it was refused, and waited to be sent again */
            give_command(engine, command);
        }
    }
    finish(engine, operation, status);
}

void change_resolve(struct engine *engine, struct command *command, enum resolution how, int64_t now) {
    (void)how;
    struct operation *operation = command->operation;
    if (operation && command->needs_acknowledgement && changes[command->change].ending == UNDONE) {
        undo_taken(engine, operation, command); /* a repeat may write nothing that WAIT counts: see in_doubt.c */
        finish(engine, operation, REDLATCH_NOT_REPLICATED);
        give_command(engine, command);
        return;
    }
    if (changes[command->change].repeatable && !record_is_over(command, now)) {
        engine->stats.resends++;
        push_command(engine, command);
        return;
    }
    if (operation) {
        finish(engine, operation, REDLATCH_NO_REPLY);
    }
    give_command(engine, command);
}

/* Undoes what a command of the operation may have taken. The script replaces the command's record by a mark, so that a
 * copy that arrives later takes nothing. */
void undo_taken(struct engine *engine, struct operation *operation, struct command *taking) {
    struct command *command = take_command(engine, operation);
    if (!command) {
        return; /* only if the connection broke as often as the operation has commands in reserve */
    }
    let_command_go(engine, command);
    command->kind = COMMAND_UNDO;
    command->id = taking->id;
    command->record_key = taking->record_key;
    taking->record_key = 0;
    engine->stats.compensations++;
    push_command(engine, command);
}

void undo_taken_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now) {
    struct error_reply error = error_of_reply(reply);
    if (reply->kind == REPLY_ERROR && is_retried(command, error, now)) {
        retry_later(engine, command, error, now);
    }
}

void undo_taken_resolve(struct engine *engine, struct command *command, enum resolution how, int64_t now) {
    (void)how;
    if (record_is_over(command, now)) {
        give_command(engine, command);
    } else {
        engine->stats.resends++;
        push_command(engine, command);
    }
}
