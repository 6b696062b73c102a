/* The commands of a hold: one at a time. An operation that needs another command of the hold waits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "hold_command.h"

#include "entries.h"
#include "lease.h"
#include "operations.h"
#include "planted.h"
#include "pools.h"

void hold_arm(struct engine *engine, struct hold *hold) {
    if (hold->stage != HOLD_GONE) { /* hold_lose decides how long a lost hold is known */
        timer_arm(&engine->timers, &hold->timer, hold_next_attention(hold));
    }
}

void hold_wait_for(struct engine *engine, struct hold *hold, struct operation *operation) {
    operation->phase = PHASE_WAITING;
    operation->hold = hold;
    operation->wait_number = ++engine->hold_waits;
    list_append(&hold->waiting, &operation->link);
    arm_operation(engine, operation);
}

/* Sends a command of a hold. The hold has no other command until this one is done. */
void hold_send(struct engine *engine, struct hold *hold, struct operation *operation, struct command *command) {
    command->hold = hold;
    command->id = hold->id;
    command->lock_kind = hold->lock_kind;
    hold->busy = command;
    if (operation) {
        operation->hold = hold;
        operation_request(engine, operation, command);
    } else {
        push_command(engine, command);
    }
}

/* Returns whether the owner of a read lock requests the write lock, which it may not. Then hold_acquire states the hold
 * count as it is, to learn whether the server still has the read lock. */
bool hold_is_upgrade(const struct hold *hold, const struct operation *operation) {
    return hold->lock_kind != operation->lock_kind;
}

/* Takes a command from the operation's reserve. No path uses up the reserve; if one did, the operation would end with
 * NO_MEMORY. */
struct command *hold_command_for(struct engine *engine, struct operation *operation) {
    struct command *command = take_command(engine, operation);
    if (!command) {
        finish(engine, operation, REDLATCH_NO_MEMORY);
    }
    return command;
}

void hold_acquire(struct engine *engine, struct hold *hold, struct operation *operation, int64_t now) {
    bool upgrades = hold_is_upgrade(hold, operation);
    operation->serial = hold->serial;
    if (hold->stage == HOLD_GONE) {
        finish_lost(engine, operation, hold->reason);
        return;
    }
    bool released = hold_count_left(hold) == 0; /* by releases that go on in the background */
    if (operation->not_reentrant && hold->stage == HOLD_ALIVE && !upgrades && !released) {
        finish(engine, operation, REDLATCH_ALREADY_HELD);
        return;
    }
    if (hold->busy || released) {
        hold_wait_for(engine, hold, operation);
        return;
    }
    struct command *command = hold_command_for(engine, operation);
    if (!command) {
        return;
    }
    command->kind = COMMAND_REENTER;
    command->count = hold->count + (upgrades || PLANTED(FAULT_REENTRY_NOT_INTENDED) ? 0 : 1);
    command->lease_ms = lease_within(engine_wire_lease(engine, operation->lease_ms), hold->max_hold_at, now);
    if (command->lease_ms == 0 || upgrades) {
        command->lease_ms = 1; /* a re-entry never shortens a lease, so 1 ms leaves it as it is */
    }
    hold_send(engine, hold, operation, command);
}

/* A nested acquire was granted. */
void hold_raise(struct engine *engine, struct hold *hold, const struct operation *operation, int64_t sent_at,
                int64_t lease_ms) {
    hold->count++;
    hold->single_grant = hold->single_grant || !operation->set;
    hold->in_set = hold->in_set || operation->set;
    engine->stats.acquired++;
    if (hold->renewed_from == 0 && operation->lease_ms == REDLATCH_RENEWED) {
        hold->renewed_from = hold->count;
    }
    hold_confirm_later(hold, sent_at, lease_ms);
}

/* Turns a command of a hold into its last release. It is sent again after errors for as long as the lease may last. */
void turn_into_release(struct command *command, const struct hold *hold) {
    command->kind = COMMAND_RELEASE;
    command->count = 0;
    command->lease_ms = hold->lease_ms;
}

struct command *release_id(struct engine *engine, struct resource *resource, uint8_t lock_kind, uint64_t id,
                           uint8_t pipeline) {
    struct command *command = take_command(engine, NULL);
    if (command) {
        command->kind = COMMAND_RELEASE;
        command->pipeline = pipeline;
        command->lock_kind = lock_kind;
        command->resource = resource_keep(resource);
        command->id = id;
        command->lease_ms = engine->settings.watchdog_lease_ms;
        push_command(engine, command);
    }
    return command;
}

/* Returns the hold count that the hold's command in flight leaves. */
static uint32_t stated_count(const struct hold *hold) {
    const struct command *busy = hold->busy;
    if (busy && busy->kind == COMMAND_RELEASE) {
        return busy->count;
    }
    const struct entry *entry = busy && busy->kind == COMMAND_RELEASE_MANY ? entry_of(busy, hold) : NULL;
    return entry ? entry->count : hold->count;
}

uint32_t hold_count_left(const struct hold *hold) {
    uint32_t hold_count = stated_count(hold);
    return hold->deferred_releases < hold_count ? hold_count - hold->deferred_releases : 0;
}
