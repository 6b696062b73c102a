/* Acquiring permits that nobody owns. Waiters queue as those of a mutex do (mutex.c, queue.c): first come, first
 * served, and whoever wants many holds back those behind. Each ask has an id of its own, under which its script records
 * what came of it, so there is nothing to hold, renew or hand over.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   phase       event                         next
 *   QUEUED      becomes foremost              REQUESTING
 *   REQUESTING  permits                       DONE (OK), and the next one asks; given back if a host never collects
 *                                             them
 *               none                          PARKED; REQUESTING again if a message came since; DONE (TIMEOUT) for a
 *                                             try
 *               transient error               PAUSED; DONE for a try
 *               other error                   DONE
 *               connection broke              the same again; DONE (NO_REPLY) when its record may be over
 *               caller has had enough         undo queued behind the ask on the same pipeline, DONE
 *   PARKED      message, subscription, timer  REQUESTING
 *   PAUSED      timer                         REQUESTING
 */
#include "semaphore_permits.h"

#include "change.h"
#include "error_reply.h"
#include "operation_record.h"
#include "operations.h"
#include "park.h"
#include "planted.h"
#include "pools.h"
#include "queue.h"
#include "retry.h"

void semaphore_send(struct engine *engine, struct operation *operation, int64_t now) {
    struct command *command = take_command(engine, operation);
    if (!command) { /* every reserve is bound in undos under way */
        semaphore_abort(engine, operation, REDLATCH_NO_REPLY, now);
        return;
    }
    operation->id = ++engine->last_id;
    command->kind = COMMAND_ACQUIRE;
    command->id = operation->id;
    record_take_key(engine, command);
    command->amount = operation->amount;
    operation->command = command;
    operation->phase = PHASE_REQUESTING;
    operation->seen = operation->resource->queue->sequence;
    push_command(engine, command);
    arm_operation(engine, operation);
}

/* Leaves the queue with a status. */
static void end(struct engine *engine, struct operation *operation, int status, int64_t now) {
    queue_leave(engine, operation, now);
    finish(engine, operation, status);
}

static void granted(struct engine *engine, struct operation *operation, int64_t now) {
    engine->stats.acquired++;
    end(engine, operation, REDLATCH_OK, now);
    if (operation->asynchronous) {
        operation->unclaimed = true;
        operation->reserved_commands = 1;
        engine->reserved_commands++;
        timer_arm(&engine->timers, &operation->timer, now + engine->settings.claim_timeout_ms * MILLISECOND);
    }
}

/* Nobody collects what was granted. */
void semaphore_unclaimed(struct engine *engine, struct operation *operation, int status) {
    struct command *command = take_command(engine, operation);
    command->operation = NULL;
    command->kind = COMMAND_CHANGE;
    command->change = SEMAPHORE_RELEASE;
    command->id = ++engine->last_id;
    record_take_key(engine, command);
    command->amount = operation->amount;
    operation->unclaimed = false;
    operation->status = status;
    timer_disarm(&engine->timers, &operation->timer);
    push_command(engine, command);
}

static void error_received(struct engine *engine, struct command *command, struct operation *operation,
                           const struct reply *reply, int64_t now) {
    struct error_reply error = error_reply_of(reply->text, reply->size);
    if (error.may_have_executed || command->repeated) {
        undo_taken(engine, operation, command);
    }
    if (is_retried(engine, command, error, now)) {
        operation_pause(engine, operation, error.status, now);
    } else {
        end(engine, operation, error.status, now);
    }
}

void semaphore_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now) {
    struct operation *operation = operation_answered(command, reply);
    if (!operation) {
        return; /* given up on; its undo is queued behind it */
    }
    if (reply->kind == REPLY_ERROR) {
        error_received(engine, command, operation, reply, now);
        return;
    }
    if (reply->kind != REPLY_INTEGER) {
        end(engine, operation, REDLATCH_PROTOCOL, now);
        return;
    }
    if (reply->integer > 0) {
        granted(engine, operation, now);
        return;
    }
    engine->stats.contended += !operation->contended;
    operation->contended = true;
    if (operation->non_blocking) {
        end(engine, operation, REDLATCH_TIMEOUT, now);
    } else if (operation->seen != operation->resource->queue->sequence &&
               !PLANTED(FAULT_MESSAGE_MISSED_WHILE_REQUESTING)) {
        semaphore_send(engine, operation, now);
    } else {
        acquire_park(engine, operation, REDLATCH_FOREVER, now);
    }
}

void semaphore_abort(struct engine *engine, struct operation *operation, int status, int64_t now) {
    struct command *command = operation->command;
    if (operation->phase == PHASE_REQUESTING && command) {
        operation->command = NULL;
        if (!drop_unsent(engine, command)) {
            command->abandoned = true;
            command->operation = NULL;
            if (!PLANTED(FAULT_NO_COMPENSATION)) {
                undo_taken(engine, operation, command);
            }
        }
    }
    end(engine, operation, status, now);
}

void semaphore_resolve(struct engine *engine, struct command *command, int64_t now) {
    struct operation *operation = command->operation;
    if (record_is_over(engine, command, now)) {
        operation->command = NULL;
        end(engine, operation, REDLATCH_NO_REPLY, now);
        give_command(engine, command);
    } else {
        engine->stats.resends++;
        push_command(engine, command);
    }
}
