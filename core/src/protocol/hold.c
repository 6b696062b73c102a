/* The life of a hold after its grant: extension, release, and the replies to its commands.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   stage      event                                       next
 *   ALIVE      re-entry, partial release, extension        ALIVE; GONE if the server does not know the hold
 *              last release                                RELEASING, also when nobody waits for the reply
 *              the deadline passed; a renewal found none   GONE
 *              its owner ended                             reported, then freed
 *              its owner leaves it to its lease            freed
 *   RELEASING  reply                                       freed
 *   GONE       one release for each acquire, each LOST     freed
 *
 * Apart from renewals, a hold has one command in flight or in doubt at a time. Further operations wait in `waiting`. An
 * extension, which may shorten the lease, also waits for a renewal in flight. A re-entry never creates a lock, and only
 * an extension shortens a lease. A release that nobody waits for any more is deferred: it is sent in the background
 * when `busy` is done. */
#include "hold.h"

#include "error_reply.h"
#include "hold_command.h"
#include "hold_end.h"
#include "lease.h"
#include "operations.h"
#include "planted.h"
#include "pools.h"
#include "queue.h"
#include "retry.h"

void hold_release(struct engine *engine, struct operation *operation, int64_t now) {
    struct hold *hold = hold_of_owner(engine, operation->resource, operation->lock_kind, operation->owner, now);
    if (!hold) {
        finish(engine, operation, REDLATCH_NOT_OWNED);
        return;
    }
    operation->serial = hold->serial;
    if (hold->stage == HOLD_GONE) {
        int reason = hold->reason;
        operation->id = hold->id;
        hold_lower_count(engine, hold, 1, now);
        if (PLANTED(FAULT_UNCONFIRMED_AFTER_DEADLINE) && operation->unconfirmed) {
            finish(engine, operation, REDLATCH_OK);
            return;
        }
        finish_lost(engine, operation, reason);
    } else if (hold->busy) {
        hold_wait_for(engine, hold, operation);
    } else if (hold->count > 1 && operation->unconfirmed) { /* the next command of the hold states its count */
        hold_set_count(hold, hold->count - 1);
        hold_confirm_later(hold, hold->confirmed_at, hold->lease_ms);
        hold_arm(engine, hold);
        finish(engine, operation, REDLATCH_OK);
    } else if (hold->count > 1) {
        struct command *command = hold_command_for(engine, operation);
        if (!command) {
            return;
        }
        command->kind = COMMAND_RELEASE;
        command->count = hold->count - 1;
        command->released_count = 1;
        hold_send(engine, hold, operation, command);
    } else {
        operation->id = hold->id;
        hold_release_sent(engine, hold, operation, now);
    }
}

void hold_extend(struct engine *engine, struct operation *operation, int64_t now) {
    struct hold *hold = hold_of_owner(engine, operation->resource, operation->lock_kind, operation->owner, now);
    if (!hold) {
        finish(engine, operation, REDLATCH_NOT_OWNED);
        return;
    }
    operation->serial = hold->serial;
    if (hold->stage == HOLD_GONE) {
        finish_lost(engine, operation, hold->reason);
        return;
    }
    if (hold->busy || (hold->batch && !PLANTED(FAULT_EXTEND_BEFORE_ANSWERED))) {
        hold_wait_for(engine, hold, operation);
        return;
    }
    struct command *command = hold_command_for(engine, operation);
    if (!command) {
        return;
    }
    command->kind = COMMAND_EXTEND;
    command->lease_ms = lease_within(operation->lease_ms, hold->max_hold_at, now);
    if (command->lease_ms == 0) {
        command->lease_ms = 1;
    }
    int64_t deadline = lease_deadline(now, command->lease_ms);
    if (deadline < hold->deadline) {
        hold->deadline = deadline; /* the extension may run at any moment */
    }
    hold->renew_at = NEVER; /* no renewal before the extension is done */
    hold_arm(engine, hold);
    hold_send(engine, hold, operation, command);
}

static void full_release_replied(struct engine *engine, struct command *command, int64_t found, int64_t now) {
    struct operation *operation = command->operation;
    struct hold *hold = command->hold;
    bool in_time = hold && command->first_sent_at < hold->deadline;
    bool repeated = command->repeated || PLANTED(FAULT_RELEASE_OF_MISSING_IS_OK);
    bool resolved = repeated && in_time && !PLANTED(FAULT_RESENT_RELEASE_IS_LOST);
    int reason = hold ? hold_reason(hold, now) : REDLATCH_REASON_MISSING;
    struct resource *resource = command->resource;
    command->hold = NULL;
    if (hold) {
        hold->busy = NULL;
        if (hold->unconfirmed && found == 0 && !resolved) {
            hold_release_failed(engine, hold, REDLATCH_LOST, reason);
        }
        hold_end(engine, hold, now);
    }
    if (operation && (found > 0 || resolved)) {
        finish(engine, operation, REDLATCH_OK);
    } else if (operation) {
        finish_lost(engine, operation, reason);
    }
    if (hold || found > 0) {
        queue_after_release(engine, resource, found > 0 ? found - 1 : -1, now);
    }
    if (command->repeat_until > now) {
        repeat_command(engine, command, now + SECOND);
    }
}

/* Releases a hold that is lost here and that the server still has, so that nobody has to wait for its lease. */
static void release_lost(struct engine *engine, struct command *command, uint64_t id) {
    command->operation = NULL;
    command->kind = COMMAND_RELEASE;
    command->id = id;
    command->count = 0;
    command->repeated = false;
    command->was_sent = false;
    command->abandoned = false;
    command->unwanted = false;
    /* A release is repeated after errors for its lease. A partial release has none, and a nested acquire may have a
     * shorter one than the hold. */
    if (command->lease_ms < engine->settings.watchdog_lease_ms) {
        command->lease_ms = engine->settings.watchdog_lease_ms;
    }
    engine->stats.compensations++;
    push_command(engine, command);
}

/* The hold was lost and forgotten meanwhile. */
static void forgotten_replied(struct engine *engine, struct command *command, int64_t found) {
    if (command->operation) {
        finish(engine, command->operation, REDLATCH_LOST);
    }
    if (command->unwanted && found > 0) {
        release_lost(engine, command, command->kind == COMMAND_MOVE ? command->successor : command->id);
    }
}

static void nested_replied(struct engine *engine, struct command *command, int64_t found, int64_t now) {
    struct operation *operation = command->operation;
    hold_check_found(engine, command->hold, found, now);
    struct hold *hold = command->hold;
    if (!hold) {
        forgotten_replied(engine, command, found);
        return;
    }
    bool lost = hold->stage == HOLD_GONE;
    int reason = hold->reason;
    uint64_t id = command->kind == COMMAND_MOVE ? command->successor : hold->id;
    hold->busy = NULL;
    command->hold = NULL;
    if (lost) {
        hold = hold_lower_count(engine, hold, command->released_count, now) ? hold : NULL;
    } else if (command->kind == COMMAND_RELEASE) {
        hold_set_count(hold, command->count);
        hold_confirm_later(hold, hold->confirmed_at, hold->lease_ms);
    } else if (command->kind == COMMAND_REENTER && operation && !hold_is_upgrade(hold, operation)) {
        hold_raise(engine, hold, operation, command->sent_at, command->lease_ms);
    } else if (command->kind == COMMAND_EXTEND) {
        hold_confirm(hold, command->sent_at, command->lease_ms);
    } else if (command->kind == COMMAND_MOVE) {
        hold->id = command->successor;
        hold_confirm(hold, command->first_sent_at, command->lease_ms);
    }
    if (operation) {
        bool upgrades = hold && operation->kind == OPERATION_ACQUIRE && hold_is_upgrade(hold, operation);
        operation->id = hold ? hold->id : operation->id;
        operation->reason = (uint8_t)reason;
        finish(engine, operation, lost ? REDLATCH_LOST : upgrades ? REDLATCH_WOULD_DEADLOCK : REDLATCH_OK);
    }
    if (lost && found > 0) {
        release_lost(engine, command, id);
    }
    if (hold) {
        if (hold->stage == HOLD_ALIVE) {
            hold_arm(engine, hold);
        }
        hold_command_done(engine, hold, now);
    }
}

/* A command of a hold ended with an error reply, and is not sent again. If it may have run all the same, a re-entry is
 * taken back, and a lease that may have been shortened is believed no longer than the deadline. */
static void hold_goes_on(struct engine *engine, struct hold *hold, struct command *command, bool in_doubt,
                         int64_t now) {
    if (in_doubt && command->kind == COMMAND_REENTER) {
        command->operation = NULL;
        command->kind = COMMAND_RELEASE;
        command->count = hold->count;
        engine->stats.compensations++;
        hold_send(engine, hold, NULL, command);
        return;
    }
    hold->busy = NULL;
    command->hold = NULL;
    if (in_doubt && (command->kind == COMMAND_EXTEND || command->kind == COMMAND_MOVE)) {
        hold_doubt(hold);
        if (PLANTED(FAULT_UNACKNOWLEDGED_EXTENSION)) {
            hold_confirm(hold, command->sent_at, command->lease_ms);
        }
        hold->renew_at = hold_is_renewed(hold) ? now : NEVER;
    } else {
        hold_confirm_later(hold, hold->confirmed_at, hold->lease_ms);
    }
    hold_arm(engine, hold);
    hold_command_done(engine, hold, now);
}

static void hold_error(struct engine *engine, struct command *command, struct error_reply error, int64_t now) {
    struct hold *hold = command->hold;
    bool may_have_executed = error.may_have_executed || command->repeated;
    bool nested = command->kind == COMMAND_REENTER || command->kind == COMMAND_EXTEND;
    if (hold && hold->stage == HOLD_GONE && nested && !may_have_executed) {
        nested_replied(engine, command, 0, now); /* it has nothing left to raise or extend */
        return;
    }
    if (is_retried(command, error, now)) {
        retry_later(engine, command, error, now);
        return;
    }
    if (!hold && command->unwanted && may_have_executed) {
        forgotten_replied(engine, command, 1);
        return;
    }
    if (command->operation) {
        finish(engine, command->operation, error.status);
    } else if (hold && !hold_lower_count(engine, hold, command->released_count, now)) {
        return; /* the hold ended with these releases; of a hold that goes on, the next command states what is left */
    }
    if (hold && command->kind == COMMAND_RELEASE && command->count == 0) {
        if (hold->unconfirmed) {
            hold_release_failed(engine, hold, error.status, REDLATCH_REASON_NONE);
        }
        hold_end(engine, hold, now);
        queue_after_release(engine, command->resource, -1, now); /* waiters have no other release to wait for */
    } else if (hold) {
        hold_goes_on(engine, hold, command, may_have_executed, now);
    }
}

void hold_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now) {
    int64_t found = reply->integer;
    if (reply->kind != REPLY_INTEGER) {
        struct error_reply error = error_of_reply(reply);
        if (error.status != REDLATCH_WRONG_TYPE) {
            hold_error(engine, command, error, now);
            return;
        }
        found = 0; /* the key is of another type now */
    }
    if (command->kind == COMMAND_RELEASE && command->count == 0) {
        full_release_replied(engine, command, found, now);
    } else if (command->hold) {
        nested_replied(engine, command, found, now);
    } else {
        forgotten_replied(engine, command, found);
    }
}

void hold_abort(struct engine *engine, struct operation *operation, int status, int64_t now) {
    struct hold *hold = operation->hold;
    struct command *command = operation->command;
    if (operation->phase == PHASE_WAITING) {
        list_remove(&operation->link);
        if (operation->kind == OPERATION_RELEASE) {
            hold_release_in_background(engine, operation, hold, now);
        }
        finish(engine, operation, status);
        return;
    }
    if (command->kind == COMMAND_RELEASE || command->kind == COMMAND_HAND_OVER) {
        command->operation = NULL; /* goes on in the background */
        finish(engine, operation, status);
        return;
    }
    if (!command->hold) { /* the hold was forgotten meanwhile: no hold count has to be stated again */
        operation_abandon(engine, operation);
        finish(engine, operation, status);
        return;
    }
    if (drop_unsent(engine, command)) {
        hold->busy = NULL;
        hold_confirm_later(hold, hold->confirmed_at, hold->lease_ms);
        hold_arm(engine, hold);
        finish(engine, operation, status);
        hold_command_done(engine, hold, now);
        return;
    }
    struct command *undo = command->kind == COMMAND_REENTER ? take_command(engine, operation) : NULL;
    if (undo) { /* states the hold count, behind the re-entry; without an undo the next release states it */
        command->abandoned = true;
        command->hold = NULL;
        command->operation = NULL;
        if (timer_is_armed(&command->timer)) { /* it was refused, and waited to be sent again */
            give_command(engine, command);
        }
        undo->operation = NULL;
        undo->kind = COMMAND_RELEASE;
        undo->count = hold->count;
        engine->stats.compensations++;
        hold_send(engine, hold, NULL, undo);
    } else {
        command->operation = NULL;
    }
    finish(engine, operation, status);
}

void engine_give_back(struct engine *engine, struct hold *hold, int64_t now) {
    if (engine->broken) {
        return;
    }
    if (hold->stage != HOLD_ALIVE) {
        return;
    }
    hold->deferred_releases = RELEASE_ALL;
    if (!hold->busy) {
        hold_release_deferred(engine, hold, now);
    }
}
