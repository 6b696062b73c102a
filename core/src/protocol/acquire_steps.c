/* The steps that acquires and watches share, whatever their machine: a reply, an error reply, an abort, the timer, and
 * what a waiter does when others hold the name. Where machines differ, struct machine has a function or a property for
 * it (machine.h).
 * SPDX-License-Identifier: Apache-2.0 */
#include "acquire_steps.h"

#include "error_reply.h"
#include "machine.h"
#include "operations.h"
#include "park.h"
#include "planted.h"
#include "queue.h"
#include "retry.h"

void acquire_end(struct engine *engine, struct operation *operation, int status, int64_t now) {
    queue_leave(engine, operation, now);
    finish(engine, operation, status);
}

static void error_received(struct engine *engine, struct operation *operation, struct command *command,
                           const struct reply *reply, int64_t now) {
    const struct machine *machine = machine_for(engine, operation);
    struct error_reply error = error_of_reply(reply);
    bool again = is_retried(command, error, now);
    bool may_have_executed = error.may_have_executed || command->repeated; /* an earlier copy may have run */
    if (PLANTED(FAULT_UNACKNOWLEDGED_IS_LEFT) && error.status == REDLATCH_NOT_REPLICATED) {
        may_have_executed = false;
        operation->id = 0;
    }
    operation->position_in_doubt = operation->position_in_doubt || may_have_executed;
    if (again && machine->give_back && error.status == REDLATCH_NOT_REPLICATED) {
        machine->give_back(engine, operation, now);
    } else if (may_have_executed && machine->undo && !(again && machine->keeps_id)) {
        machine->undo(engine, operation, command);
        operation->id = again ? 0 : operation->id; /* a new id: the undo may arrive after the next request */
    }
    if (!again) {
        machine->end(engine, operation, error.status, now);
        return;
    }
    if (machine->step_aside) {
        machine->step_aside(engine, operation, now);
    }
    operation_pause(engine, operation, error.status, now);
}

void acquire_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now) {
    struct operation *operation = operation_answered(command, reply);
    if (!operation) {
        return; /* abandoned; its undo is queued behind it */
    }
    if (reply->kind == REPLY_ERROR) {
        error_received(engine, operation, command, reply, now);
    } else {
        machine_for(engine, operation)->result(engine, operation, command, reply, now);
    }
}

/* Returns whether an unconfirmed release of the same name is in progress in this process. The server may have run the
 * acquire first, even if the release was called first. So the acquire is to wait for the reply to the release. */
static bool overtook_release(const struct engine *engine, const struct operation *operation) {
    return engine->stats.unconfirmed > 0 && operation->kind == OPERATION_ACQUIRE && !operation->set &&
           resource_unconfirmed_hold(operation->resource);
}

void acquire_contended(struct engine *engine, struct operation *operation, int64_t ttl_ms, int64_t now) {
    operation_contended(engine, operation);
    if (operation->non_blocking && !overtook_release(engine, operation)) {
        machine_for(engine, operation)->end(engine, operation, REDLATCH_TIMEOUT, now);
    } else if (operation->seen != operation->resource->queue->sequence &&
               !PLANTED(FAULT_MESSAGE_MISSED_WHILE_REQUESTING)) {
        machine_for(engine, operation)->send(engine, operation, now);
    } else {
        acquire_park(engine, operation, ttl_ms, now);
    }
}

void acquire_missing(struct engine *engine, struct operation *operation, int64_t now) {
    if (operation->must_exist) {
        machine_for(engine, operation)->end(engine, operation, REDLATCH_NOT_FOUND, now);
    } else {
        acquire_contended(engine, operation, REDLATCH_FOREVER, now);
    }
}

/* The receiver of a hand-over gives up. What a copy that was written grants is released by an undo behind it, on its
 * pipeline. A copy that is not written yet becomes a release (hand_over_to_nobody). */
static void abandon_hand_over(struct engine *engine, struct operation *operation) {
    struct wait_queue *queue = operation->resource->queue;
    queue->receiver = NULL;
    if (!PLANTED(FAULT_NO_HAND_OVER_COMPENSATION)) {
        uint8_t pipeline = operation->pipeline;
        operation->pipeline = queue->handing->pipeline;
        undo_acquire(engine, operation, operation->id, 0);
        operation->pipeline = pipeline;
    }
}

void acquire_abort(struct engine *engine, struct operation *operation, int status, int64_t now) {
    const struct machine *machine = machine_for(engine, operation);
    struct command *sent = operation_abandon(engine, operation);
    if (operation->phase == PHASE_HANDED) {
        abandon_hand_over(engine, operation);
    } else if (sent && machine->undo && !PLANTED(FAULT_NO_COMPENSATION)) {
        machine->undo(engine, operation, sent);
    }
    machine->end(engine, operation, status, now);
}

void acquire_timer(struct engine *engine, struct operation *operation, int64_t now) {
    bool waits = operation->phase == PHASE_PARKED || operation->phase == PHASE_PAUSED;
    if (waits && now >= operation->recheck_at) {
        machine_for(engine, operation)->send(engine, operation, now);
    } else {
        arm_operation(engine, operation);
    }
}
