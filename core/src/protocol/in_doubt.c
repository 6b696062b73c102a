/* What becomes of a command whose connection broke before its reply came.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   command                       no old copy can arrive       an old copy may still arrive (KILL denied)
 *   abandoned                     dropped: its undo follows    the same
 *   inspection, abandoned         dropped, also when no connection can be made (engine.c)
 *   acquire                       sent again                   its id is retired; the waiter requests with a new id
 *   acquire, to be acknowledged   released; requested with a   the same, and released every second for one lease
 *                                 new id
 *   acquire, with a position      sent again                   sent again: a late copy makes no position, and is
 *                                                              granted at its position only
 *   acquire of several names      sent again                   released every second for one lease; requested with a
 *                                                              new id
 *   undo of an acquire            sent again                   sent again every second for one lease; of a fair lock
 *                                                              for the fair timeout, if that is longer
 *   not written yet               sent as any other command: it cannot have reached the server, and its reply counts
 *   re-entry, partial release     sent again                   sent again
 *   last release                  sent again; OK if it finds   the same
 *                                 nothing, since it may have
 *                                 run before, also before a
 *                                 restart
 *   extension                     sent again                   the hold moves to a new id with the new lease; of a
 *                                                              permit, whose id the user knows, sent again
 *   hand-over                     sent again                   released; the receiver's id is retired
 *   hand-over, of a fair lock     sent again                   released; the receiver keeps its position and rechecks
 *   hand-over, receiver gone      becomes a release when it is written (hand_over.h)
 *   force release                 NO_REPLY: a second one could hit another owner's hold
 *   refresh of positions          dropped: another follows     the same
 *   renewal                       a new batch at once          the same
 *   with a record: acquire of     sent again while the record  the same, and records live for an hour
 *   permits, change, undo         lives; then NO_REPLY
 *
 * A retired id is not used again. It is released, and again every second for as long as a late copy may hold it. */
#include "in_doubt.h"

#include "entries.h"
#include "fair.h"
#include "hold.h"
#include "hold_command.h"
#include "kinds.h"
#include "machine.h"
#include "operations.h"
#include "park.h"
#include "planted.h"
#include "pools.h"
#include "queue.h"
#include "renewal.h"
#include "semaphore_permits.h"
#include "set.h"
#include "wake_channels.h"

void resolve_resend(struct engine *engine, struct command *command, enum resolution how, int64_t now) {
    (void)how;
    (void)now;
    engine->stats.resends++;
    push_command(engine, command);
}

/* Returns until when a retired id is released again and again. A late hold lives for its lease. A late position keeps
 * the waiters behind it waiting for the fair timeout, as the position of a client that is gone does. */
static int64_t retired_until(const struct engine *engine, const struct command *command, int64_t now) {
    int64_t position_ms = kind_of(command->resource)->queues_on_server ? engine->settings.fair_timeout_ms : 0;
    return now + (command->lease_ms > position_ms ? command->lease_ms : position_ms) * MILLISECOND;
}

/* Turns a command into the release of an id. The release is repeated if a late copy may still be granted the id. */
static void retire(struct engine *engine, struct command *command, uint64_t id, enum resolution how, int64_t now) {
    command->kind = COMMAND_RELEASE;
    command->id = id;
    command->count = 0;
    command->hold = NULL;
    let_command_go(engine, command);
    command->leaves = kind_of(command->resource)->queues_on_server;
    command->repeat_until = how == RESOLUTION_DENIED ? retired_until(engine, command, now) : 0;
    engine->stats.compensations++;
    push_command(engine, command);
}

/* An acquire that needs acknowledgements is not repeated: a repeat may write nothing, and WAIT counts only what its own
 * connection wrote. */
void resolve_acquire(struct engine *engine, struct command *command, enum resolution how, int64_t now) {
    struct operation *operation = command->operation;
    if (operation && command->record_key) {
        semaphore_resolve(engine, command, now);
        return;
    }
    bool late = how == RESOLUTION_DENIED && command->position != POSITION_TAKEN;
    if (!operation /* with a planted fault only */ || (!late && !command->needs_acknowledgement)) {
        resolve_resend(engine, command, how, now);
        return;
    }
    operation->command = NULL;
    operation->phase = PHASE_PARKED;
    bool has_position = operation->has_position;
    if (has_position) {
        fair_forget_number(engine, operation);
    } else {
        wake_channels_drop(engine, operation);
        operation->id = 0;
        operation->position_in_doubt = false;
    }
    retire(engine, command, command->id, how, now);
    if (has_position) {
        fair_positions_lost(engine, operation->resource->queue, now);
    }
    acquire_recheck(engine, operation, now);
}

void resolve_hand_over(struct engine *engine, struct command *command, enum resolution how, int64_t now) {
    struct wait_queue *queue = command->resource->queue; /* stays attached during a hand-over, one at a time */
    struct operation *receiver = queue->receiver;
    if (how != RESOLUTION_DENIED || !receiver) {
        resolve_resend(engine, command, how, now);
        return;
    }
    queue->handing = NULL;
    queue->receiver = NULL;
    int64_t undo_until = now + command->lease_ms * MILLISECOND;
    turn_into_release(command, command->hold);
    resolve_resend(engine, command, how, now);
    if (kind_of(command->resource)->queues_on_server) { /* a late copy hands over nothing, or to this id */
        fair_not_handed(engine, receiver, false, now);
    } else {
        undo_acquire(engine, receiver, receiver->id, undo_until);
        receiver->id = 0;
        receiver->phase = PHASE_PARKED;
        acquire_recheck(engine, receiver, now);
    }
}

/* The extension may have run, or a late copy of it may still run. The hold moves to a new id, whose lease no late copy
 * can shorten. */
void resolve_extend(struct engine *engine, struct command *command, enum resolution how, int64_t now) {
    struct hold *hold = command->hold;
    if (how == RESOLUTION_DENIED && hold && !kind_has_permit_ids(command->lock_kind)) {
        command->kind = COMMAND_MOVE;
        command->successor = ++engine->last_id;
        command->count = hold->count;
    }
    resolve_resend(engine, command, how, now);
}

void resolve_acquire_many(struct engine *engine, struct command *command, enum resolution how, int64_t now) {
    if (command->operation && (how == RESOLUTION_DENIED || command->needs_acknowledgement)) {
        set_acquire_retire(engine, command, how, now);
    } else {
        resolve_resend(engine, command, how, now);
    }
}

void resolve_forget(struct engine *engine, struct command *command, enum resolution how, int64_t now) {
    (void)how;
    (void)now;
    give_command(engine, command);
}

void resolve_release(struct engine *engine, struct command *command, enum resolution how, int64_t now) {
    in_doubt_resolve_unsent(engine, command, how, now);
    if (PLANTED(FAULT_RELEASE_IN_DOUBT_IS_DROPPED) && how == RESOLVED_BY_RESTART && !command->hold) {
        resolve_forget(engine, command, how, now);
        return;
    }
    resolve_resend(engine, command, how, now);
}

void resolve_force(struct engine *engine, struct command *command, enum resolution how, int64_t now) {
    (void)how;
    (void)now;
    finish(engine, command->operation, REDLATCH_NO_REPLY);
    give_command(engine, command);
}

void resolve_renewal(struct engine *engine, struct command *command, enum resolution how, int64_t now) {
    (void)how;
    renewal_again(engine, command, now, now);
    if (!timer_is_armed(&command->timer)) {
        give_command(engine, command);
    }
}

/* If a late copy of an acquire may still arrive, its undo is repeated until the lease of that copy has ended, whether
 * or not the undo was sent before the connection broke. */
void in_doubt_resolve_unsent(struct engine *engine, struct command *command, enum resolution how, int64_t now) {
    bool undo = (command->kind == COMMAND_RELEASE && command->count == 0 && !command->hold && !command->operation) ||
                (command->kind == COMMAND_RELEASE_MANY && !command->operation && !command_has_hold(command));
    if (undo && how == RESOLUTION_DENIED && command->repeat_until == 0) {
        command->repeat_until = retired_until(engine, command, now);
    }
}

bool in_doubt_before_sent(const struct command *command) {
    return command->was_sent && (command->kind == COMMAND_CHANGE || command->kind == COMMAND_UNDO);
}

void in_doubt_resolve(struct engine *engine, struct command *command, enum resolution how, int64_t now) {
    bool forgotten = command->abandoned && !PLANTED(FAULT_ABANDONED_IS_RESENT);
    (forgotten ? resolve_forget : engine->machines->of_command[command->kind].in_doubt)(engine, command, how, now);
}
