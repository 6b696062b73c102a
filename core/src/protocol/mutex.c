/* The acquire machine: requests, parks until a message, a timer or the end of the holder's lease, and requests again.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   phase       event                         next
 *   QUEUED      becomes foremost              REQUESTING; PARKED while this process itself holds the lock
 *   REQUESTING  nil, or a token               DONE (OK), or undone and DONE (LOST) if the grant is older than its
 *                                             lease
 *               remaining ms                  PARKED; REQUESTING again if a message came since; DONE (TIMEOUT) if
 *                                             non-blocking; of a group, a request that was sent again is
 *                                             undone first
 *               transient error               PAUSED; DONE if non-blocking
 *               other error                   DONE
 *               time-out or cancel            undo queued behind the request on the same pipeline, DONE
 *   PARKED      message, subscription, timer  REQUESTING; of a kind that polls the timer is the next pause of its
 *                                             back-off
 *               receiver of a hand-over       HANDED
 *   PAUSED      timer                         REQUESTING
 *   HANDED      reply of the hand-over        DONE (OK), or REQUESTING
 *               time-out or cancel            undo queued behind the hand-over, DONE; a hand-over that is
 *                                             not written yet becomes a release
  */
#include "mutex.h"

#include "acquire_steps.h"
#include "hold_command.h"
#include "kinds.h"
#include "lease.h"
#include "machine.h"
#include "numbers.h"
#include "operations.h"
#include "park.h"
#include "planted.h"
#include "pools.h"
#include "queue.h"
#include "wait_queue.h"

/* Returns the ms until the caller's deadline. Returns 0 if there is no deadline, or if it has passed: then the caller
 * is about to give up. */
static int64_t wait_left_ms(const struct operation *operation, int64_t now) {
    bool counts = operation->wait_until != NEVER && operation->wait_until > now;
    return counts ? (operation->wait_until - now) / MILLISECOND : 0;
}

void acquire_send(struct engine *engine, struct operation *operation, int64_t now) {
    struct command *command = take_command(engine, operation);
    if (!command) { /* all reserved commands are bound in ids that may still arrive late */
        acquire_abort(engine, operation, REDLATCH_NO_REPLY, now);
        return;
    }
    if (operation->id == 0) {
        operation->id = engine->last_id + 1;
        engine->last_id += operation->amount > 1 ? (uint64_t)operation->amount : 1;
    }
    if (PLANTED(FAULT_WIRE_ID_REUSED)) {
        operation->id = UINT64_C(1) << 40 | operation->owner;
    }
    command->kind = COMMAND_ACQUIRE;
    command->id = operation->id;
    command->amount = operation->amount;
    command->limit = operation->limit;
    command->lease_ms = acquire_lease(engine, operation, now);
    command->token_from_time = operation->token_from_time;
    command->successor = read_write_pass(operation->resource, operation->lock_kind, operation->owner);
    command->position = operation->non_blocking   ? POSITION_UNWANTED
                        : operation->has_position ? POSITION_TAKEN
                                                  : POSITION_WANTED;
    command->wait_ms = wait_left_ms(operation, now);
    operation->woken = false;
    operation->seen = operation->resource->queue->sequence;
    operation->departures = operation->resource->queue->departures;
    operation_request(engine, operation, command);
}

void acquire_begin(struct engine *engine, struct operation *operation, int64_t now) {
    struct wait_queue *queue = attach_wait_queue(engine, operation);
    bool joins = queue_lets_in(queue, operation);
    if (!joins && operation->non_blocking) {
        finish(engine, operation, queue_timeout_status(queue));
        return;
    }
    operation->phase = PHASE_QUEUED;
    queue_enter(engine, operation);
    if (!joins) {
        arm_operation(engine, operation);
    } else if (queue->yield_until > now && !operation->non_blocking) {
        acquire_park(engine, operation, REDLATCH_FOREVER, now);
        operation->recheck_at = queue->yield_until;
        arm_operation(engine, operation);
    } else {
        machine_of(engine, operation->resource)->send(engine, operation, now);
    }
}

/* Enters one hold of a grant: of a lock, of one name of a set, or of one of several permits, each of which has an owner
 * of its own. */
struct hold *acquire_enter(struct engine *engine, struct operation *operation, uint64_t id, int64_t sent_at,
                           int64_t lease_ms, uint64_t token, int64_t now) {
    struct hold *hold = take_hold(engine, operation);
    if (!hold) {
        return NULL;
    }
    hold->owner = kind_has_permit_ids(operation->lock_kind) ? PERMIT_OWNER | id : operation->owner;
    list_append(&engine->holds_of[hold->owner % OWNER_CHAINS], &hold->owned);
    hold->id = id;
    hold->serial = id;
    hold->token = token;
    hold->count = 1;
    hold->renewed_from = operation->lease_ms == REDLATCH_RENEWED ? 1 : 0;
    hold->max_hold_at = operation->max_hold_ms == REDLATCH_FOREVER ? NEVER
                                                                   : sent_at + operation->max_hold_ms * MILLISECOND;
    hold->renew_at = NEVER;
    hold->single_grant = !operation->set;
    hold->in_set = operation->set != NULL;
    hold_confirm(hold, sent_at, lease_ms);
    if (operation->asynchronous) {
        operation->granted++;
        hold->claim = operation;
        hold->claim_by = now + engine->settings.claim_timeout_ms * MILLISECOND;
        keep_command_for(operation, hold);
    }
    hold_arm(engine, hold);
    engine->stats.acquired++;
    engine->stats.held++;
    return hold;
}

void acquire_granted(struct engine *engine, struct operation *operation, int64_t sent_at, int64_t lease_ms,
                     uint64_t token, int64_t now) {
    if (PLANTED(FAULT_DEADLINE_FROM_REPLY)) {
        sent_at = now;
    }
    if (now >= lease_deadline(sent_at, lease_ms) && !PLANTED(FAULT_LATE_GRANT_IS_KEPT)) {
        undo_acquire(engine, operation, operation->id, 0);
        operation->reason = REDLATCH_REASON_EXPIRED;
        acquire_end(engine, operation, REDLATCH_LOST, now);
        return;
    }
    struct hold *hold = NULL;
    operation->serial = operation->id;
    for (int64_t i = 0; i < (operation->amount > 1 ? operation->amount : 1); i++) {
        hold = acquire_enter(engine, operation, operation->id + (uint64_t)i, sent_at, lease_ms, token, now);
    }
    if (!hold) {
        return;
    }
    struct wait_queue *queue = operation->resource->queue;
    acquire_end(engine, operation, REDLATCH_OK, now);
    if (operation->resource->queue == queue) {
        queue_reenter_others(engine, queue, hold, now);
    }
}

void acquire_undo(struct engine *engine, struct operation *operation, struct command *command) {
    undo_acquire(engine, operation, command->id, 0);
}

/* What acquire_permits.lua returns when the semaphore does not exist. */
enum { PERMITS_MISSING = -2 };

void acquire_result(struct engine *engine, struct operation *operation, struct command *command,
                    const struct reply *reply, int64_t now) {
    uint64_t token;
    if (read_token(reply, &token) || reply->kind == REPLY_NIL) {
        acquire_granted(engine, operation, command->sent_at, command->lease_ms, token, now);
        return;
    }
    if (reply->kind != REPLY_INTEGER) {
        acquire_end(engine, operation, REDLATCH_PROTOCOL, now);
        return;
    }
    if (command->repeated && kind_of(command->resource)->has_values) { /* some values may be left of an earlier grant */
        undo_attempt(engine, operation);
    }
    if (kind_has_permit_ids(operation->lock_kind) && reply->integer == PERMITS_MISSING) {
        acquire_missing(engine, operation, now);
    } else {
        acquire_contended(engine, operation, server_ms(reply->integer), now);
    }
}
