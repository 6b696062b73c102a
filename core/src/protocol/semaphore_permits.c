/* Acquiring permits of a semaphore, which have no owner. Waiters queue as those of a mutex do (mutex.c, queue.c), in
 * order of arrival: a waiter for many permits holds back those behind it. Each request has an id of its own, under
 * which its script records the outcome. So nothing is held, renewed or handed over.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   phase       event                         next
 *   QUEUED      becomes foremost              REQUESTING
 *   REQUESTING  permits                       DONE (OK), and the next waiter requests; given back if a host never
 *                                             collects the event
 *               none                          PARKED; REQUESTING again if a message came since; DONE (TIMEOUT) if
 *                                             non-blocking
 *               no such semaphore             the same; DONE (NOT_FOUND) with must_exist
 *               transient error               PAUSED; DONE if non-blocking
 *               other error                   DONE
 *               connection broke              sent again; DONE (NO_REPLY) when its record may have ended
 *               time-out or cancel            undo queued behind the request on the same pipeline, DONE
 *   PARKED      message, subscription, timer  REQUESTING
 *   PAUSED      timer                         REQUESTING
  */
#include "semaphore_permits.h"

#include "acquire_steps.h"
#include "change.h"
#include "operation_record.h"
#include "operations.h"
#include "park.h"
#include "pools.h"

void semaphore_send(struct engine *engine, struct operation *operation, int64_t now) {
    struct command *command = take_command(engine, operation);
    if (!command) { /* all reserved commands are bound in undos that are under way */
        acquire_abort(engine, operation, REDLATCH_NO_REPLY, now);
        return;
    }
    operation->id = ++engine->last_id;
    command->kind = COMMAND_ACQUIRE;
    command->id = operation->id;
    record_take_key(engine, command);
    command->amount = operation->amount;
    command->limit = operation->limit;
    operation->seen = operation->resource->queue->sequence;
    operation_request(engine, operation, command);
}

static void granted(struct engine *engine, struct operation *operation, int64_t now) {
    engine->stats.acquired++;
    acquire_end(engine, operation, REDLATCH_OK, now);
    if (operation->asynchronous) {
        operation->unclaimed = true;
        operation->reserved_commands = 1; /* to give them back with; the answered command returns to the pool */
        engine->reserved_commands++;
        timer_arm(&engine->timers, &operation->timer, now + engine->settings.claim_timeout_ms * MILLISECOND);
    }
}

/* Gives back permits whose event nobody collects. */
void semaphore_unclaimed(struct engine *engine, struct operation *operation, int status) {
    struct command *command = take_command(engine, operation);
    if (!INVARIANT(&engine->broken, command)) { /* reserved when they were granted */
        return;
    }
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

void semaphore_result(struct engine *engine, struct operation *operation, struct command *command,
                      const struct reply *reply, int64_t now) {
    (void)command;
    if (reply->kind != REPLY_INTEGER) {
        acquire_end(engine, operation, REDLATCH_PROTOCOL, now);
    } else if (reply->integer > 0) {
        granted(engine, operation, now);
    } else if (reply->integer < 0) {
        acquire_missing(engine, operation, now);
    } else {
        acquire_contended(engine, operation, REDLATCH_FOREVER, now);
    }
}

void semaphore_resolve(struct engine *engine, struct command *command, int64_t now) {
    struct operation *operation = command->operation;
    if (record_is_over(command, now)) {
        operation->command = NULL;
        acquire_end(engine, operation, REDLATCH_NO_REPLY, now);
        give_command(engine, command);
    } else if (command->needs_acknowledgement) { /* a repeat may write nothing: see in_doubt.c */
        operation->command = NULL;
        undo_taken(engine, operation, command);
        operation->phase = PHASE_PARKED;
        give_command(engine, command);
        acquire_recheck(engine, operation, now);
    } else {
        engine->stats.resends++;
        push_command(engine, command);
    }
}
