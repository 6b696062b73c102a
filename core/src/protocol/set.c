/* The acquire of several names of one server: all of them or none, by one script.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   phase       event                                  next
 *   NEW         a hold of the owner has a command      WAITING
 *               in flight
 *               a hold of the owner is lost            DONE (LOST)
 *               a name that the owner holds is not     DONE (ALREADY_HELD)
 *               reentrant
 *               the owner reads a name and requests    DONE (WOULD_DEADLOCK)
 *               to write it
 *   WAITING     the command has its reply              as NEW
 *   REQUESTING  granted                                DONE (OK); undone and DONE (LOST) if the grant is older than its
 *                                                      lease, or a hold that it re-enters was lost meanwhile
 *               a name is contended                    PARKED beside the queue of that name; REQUESTING again if a
 *                                                      message of it came since; DONE (TIMEOUT) if non-blocking; undone
 *                                                      first if the request was sent again
 *               transient error                        PAUSED; DONE if non-blocking
 *               other error                            DONE
 *               time-out or cancel                     undo queued behind the request on the same pipeline, DONE
 *   PARKED      message, subscription, timer           as NEW
 *   PAUSED      timer                                  as NEW
 *
 * Nothing is held during a wait, so two sets never wait for each other. A waiting set is not in the queue of the
 * contended name but beside it: a hand-over inside the process passes one name, and a set needs all. Of several sets
 * that wait for a name, one rechecks when the name is freed, and the next one when that one waits for another name.
 *
 * A name that the owner holds already is re-entered: its entry states the new hold count. An undo states the old one.
  */
#include "set.h"

#include "entries.h"
#include "acquire_steps.h"
#include "hold_command.h"
#include "hold_end.h"
#include "kinds.h"
#include "lease.h"
#include "mutex.h"
#include "numbers.h"
#include "operations.h"
#include "park.h"
#include "planted.h"
#include "pools.h"
#include "queue.h"
#include "read_write.h"
#include "wait_queue.h"

enum { FIRST_RAISED_IS_GONE = -3 };

static void send_request(struct engine *engine, struct operation *operation, int64_t now);

/* The set stops waiting for its name. Unless it was granted the name as an exclusive lock, the message that made it
 * recheck may have been meant for the next set, too, which rechecks. */
static void leave(struct engine *engine, struct operation *operation, bool granted, int64_t now) {
    struct wait_queue *queue = operation->resource->queue;
    if (!list_is_linked(&operation->link)) {
        return;
    }
    bool taken = granted && !kind_of(queue->resource)->waiters_go_together;
    bool others = list_first(&queue->watchers) != &operation->link || list_next(&queue->watchers, &operation->link);
    watch_leave(engine, operation, now);
    if (others && !taken && !PLANTED(FAULT_NEXT_WAITER_SLEEPS)) {
        set_recheck_next(engine, queue, now);
    }
}

void set_step_aside(struct engine *engine, struct operation *operation, int64_t now) {
    leave(engine, operation, false, now);
}

void set_end(struct engine *engine, struct operation *operation, int status, int64_t now) {
    if (operation->phase == PHASE_WAITING) {
        list_remove(&operation->link); /* from `waiting` of a hold */
    }
    leave(engine, operation, false, now);
    finish(engine, operation, status);
}

void set_acquire_begin(struct engine *engine, struct operation *operation, int64_t now) {
    operation->phase = PHASE_NEW;
    struct hold *busy = set_busy_hold(engine, operation, now);
    for (uint32_t i = 0; i < operation->set->count; i++) {
        const struct set_member *member = &operation->set->members[i];
        const struct hold *hold = member_hold(member, operation->owner);
        if (hold && hold->stage == HOLD_GONE) {
            operation->reason = hold->reason;
            set_end(engine, operation, REDLATCH_LOST, now);
            return;
        }
        if (hold && hold->stage == HOLD_ALIVE && member->not_reentrant && hold_count_left(hold) > 0) {
            set_end(engine, operation, REDLATCH_ALREADY_HELD, now);
            return;
        }
        int reads = read_write_upgrade(member->resource, member->lock_kind, operation->owner);
        if (reads != REDLATCH_OK) {
            const struct hold *read = resource_hold_of(member->resource, REDLATCH_READ, operation->owner);
            operation->reason = read ? read->reason : REDLATCH_REASON_NONE;
            set_end(engine, operation, reads, now);
            return;
        }
    }
    if (busy) {
        leave(engine, operation, false, now);
        hold_wait_for(engine, busy, operation);
    } else {
        send_request(engine, operation, now);
    }
}

static void send_request(struct engine *engine, struct operation *operation, int64_t now) {
    const struct name_set *set = operation->set;
    struct command *command = take_command_with_entries(engine, operation);
    if (!command) { /* all reserved commands are bound in ids that may still arrive late */
        set_end(engine, operation, REDLATCH_NO_REPLY, now);
        return;
    }
    if (operation->id == 0) {
        operation->id = engine->last_id + 1;
        engine->last_id += set->count;
    }
    command->kind = COMMAND_ACQUIRE_MANY;
    command->lease_ms = acquire_lease(engine, operation, now);
    for (uint32_t i = 0; i < set->count; i++) {
        struct hold *hold = member_hold(&set->members[i], operation->owner);
        const struct wait_queue *queue = set->members[i].resource->queue;
        entry_add(command, &set->members[i], hold);
        struct entry *entry = &command->entries->entry[i];
        entry->id = hold ? hold->id : operation->id + i;
        entry->pass = read_write_pass(entry->name, entry->lock_kind, operation->owner);
        entry->count = hold ? hold->count + 1 : 1;
        entry->seen = queue ? queue->sequence : 0;
    }
    operation_request(engine, operation, command);
}

/* ---------------------------------------------------------------------------------------------------------- undo -- */

/* Makes `undo` release what a request may have acquired. It may be the command of the request itself, if that cannot be
 * granted any more. Its entries have the names and ids already. */
static void turn_into_undo(struct engine *engine, struct operation *operation, struct command *undo,
                           int64_t repeat_until) {
    undo->kind = COMMAND_RELEASE_MANY;
    undo->operation = NULL;
    undo->lease_ms = engine_wire_lease(engine, operation->lease_ms);
    undo->repeat_until = repeat_until;
    for (uint32_t i = 0; i < undo->entry_count; i++) {
        struct entry *entry = &undo->entries->entry[i];
        bool goes_on = entry->hold && entry->hold->stage == HOLD_ALIVE;
        entry->count = goes_on ? entry->hold->count : 0;
        if (entry->hold) {
            entry->hold->busy = undo;
        }
    }
    if (PLANTED(FAULT_SET_UNDONE_IN_PART) && undo->entry_count > 1) {
        resource_drop(engine, undo->entries->entry[--undo->entry_count].name);
    }
    undo->entry_end = undo->entry_count;
    engine->stats.compensations++;
    push_command(engine, undo);
}

/* Queues the undo of a request behind it, on its pipeline. The entries of the undo take over the holds of the request's
 * entries. Without memory, what was granted ends with its lease. */
void set_undo(struct engine *engine, struct operation *operation, struct command *command) {
    struct command *undo = take_command_with_entries(engine, operation);
    if (!undo) {
        return;
    }
    for (uint32_t i = 0; i < command->entry_count; i++) {
        undo->entries->entry[i] = command->entries->entry[i];
        resource_keep(undo->entries->entry[i].name);
        command->entries->entry[i].hold = NULL;
    }
    undo->entry_count = command->entry_count;
    turn_into_undo(engine, operation, undo, 0);
}

/* Releases the ids of a request, and requests with new ones. If a late copy may still arrive, the ids are released
 * every second for one lease. */
void set_acquire_retire(struct engine *engine, struct command *command, enum resolution how, int64_t now) {
    struct operation *operation = command->operation;
    operation->command = NULL;
    operation->id = 0;
    turn_into_undo(engine, operation, command, how == RESOLUTION_DENIED ? now + command->lease_ms * MILLISECOND : 0);
    set_acquire_begin(engine, operation, now);
}

/* ------------------------------------------------------------------------------------------------------- replies -- */

/* Returns whether a grant came too late, or a hold that it was to raise is gone. */
static bool is_stale(struct engine *engine, const struct command *command, int64_t now) {
    bool stale = now >= lease_deadline(command->sent_at, command->lease_ms) && !PLANTED(FAULT_LATE_GRANT_IS_KEPT);
    for (uint32_t i = 0; i < command->entry_count; i++) {
        const struct entry *entry = &command->entries->entry[i];
        if (entry->hold) {
            hold_check_deadline(engine, entry->hold, now);
        }
        stale = stale || (entry->count > 1 && (!entry->hold || entry->hold->stage == HOLD_GONE));
    }
    return stale;
}

/* Enters the holds of a grant. `reply` has a token for each name of a kind with tokens. */
static void enter(struct engine *engine, struct operation *operation, struct command *command,
                  const struct reply *reply, int64_t now) {
    size_t next_token = 1;
    int64_t sent_at = PLANTED(FAULT_DEADLINE_FROM_REPLY) ? now : command->sent_at;
    struct resource *waited_for = operation->resource;
    for (uint32_t i = 0; i < command->entry_count; i++) {
        const struct entry *entry = &command->entries->entry[i];
        uint64_t token = 0;
        if (kind_of_number(entry->lock_kind)->has_tokens && next_token < reply->count) {
            read_token(&reply->elements[next_token++], &token);
        }
        if (entry->hold) {
            hold_raise(engine, entry->hold, operation, sent_at, command->lease_ms);
            hold_arm(engine, entry->hold);
        } else {
            operation->resource = entry->name;
            operation->lock_kind = entry->lock_kind;
            acquire_enter(engine, operation, entry->id, sent_at, command->lease_ms, token, now);
        }
    }
    operation->resource = waited_for;
    leave(engine, operation, true, now);
}

static void granted(struct engine *engine, struct operation *operation, struct command *command,
                    const struct reply *reply, int64_t now) {
    if (is_stale(engine, command, now)) {
        set_undo(engine, operation, command);
        entries_command_done(engine, command, now);
        operation->reason = REDLATCH_REASON_EXPIRED;
        set_end(engine, operation, REDLATCH_LOST, now);
        return;
    }
    enter(engine, operation, command, reply, now);
    uint64_t owner = operation->owner;
    finish(engine, operation, REDLATCH_OK);
    entries_command_done(engine, command, now);
    for (uint32_t i = 0; i < command->entry_count; i++) {
        const struct resource *resource = command->entries->entry[i].name;
        struct hold *hold = resource_hold_of(resource, command->entries->entry[i].lock_kind, owner);
        if (resource->queue && hold) {
            queue_reenter_others(engine, resource->queue, hold, now);
        }
    }
}

/* A name is held by others: the set waits beside its queue. */
static void contended_by(struct engine *engine, struct operation *operation, const struct entry *entry, int64_t ttl_ms,
                         int64_t now) {
    uint32_t seen = entry->seen;
    operation_contended(engine, operation);
    if (operation->non_blocking) {
        set_end(engine, operation, REDLATCH_TIMEOUT, now);
        return;
    }
    if (!list_is_linked(&operation->link) || operation->resource != entry->name) {
        leave(engine, operation, false, now);
        operation->resource = entry->name;
        if (!attach_wait_queue(engine, operation)) {
            operation_pause(engine, operation, 0, now); /* no memory for a wait queue: requests again after pauses */
            return;
        }
        watch_join(engine, operation);
    }
    acquire_park(engine, operation, ttl_ms, now);
    if (seen != operation->resource->queue->sequence && !PLANTED(FAULT_MESSAGE_MISSED_WHILE_REQUESTING)) {
        set_acquire_begin(engine, operation, now);
    }
}

void set_result(struct engine *engine, struct operation *operation, struct command *command, const struct reply *reply,
                int64_t now) {
    bool sound = reply->kind == REPLY_ARRAY && reply->count > 0 && reply->elements[0].kind == REPLY_INTEGER &&
                 reply->elements[0].integer >= 0 && reply->elements[0].integer <= command->entry_count &&
                 (reply->elements[0].integer == 0 || reply->count == 2);
    if (!sound) {
        set_end(engine, operation, REDLATCH_PROTOCOL, now);
        return;
    }
    if (reply->elements[0].integer == 0) {
        granted(engine, operation, command, reply, now);
        return;
    }
    operation->contended_member = (uint32_t)reply->elements[0].integer - 1;
    const struct entry *entry = &command->entries->entry[operation->contended_member];
    int64_t left_ms = server_ms(reply->elements[1].integer);
    bool gone = left_ms == FIRST_RAISED_IS_GONE;
    if (gone && entry->hold) {
        hold_lose(engine, entry->hold, REDLATCH_REASON_MISSING, now);
    }
    if (command->repeated) { /* of an earlier grant one name may be lost, and others still be held */
        set_undo(engine, operation, command);
        operation->id = 0;
    }
    entries_command_done(engine, command, now);
    if (gone) {
        operation->reason = REDLATCH_REASON_MISSING;
        set_end(engine, operation, REDLATCH_LOST, now);
    } else {
        contended_by(engine, operation, entry, left_ms, now);
    }
}

/* ----------------------------------------------------------------------------------------------------------- end -- */

/* The holds that a request was to raise are busy with it until it is done. */
void set_acquire_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now) {
    acquire_replied(engine, command, reply, now);
    entries_command_done(engine, command, now);
}

/* A request that was not sent goes back to the pool with its entries, so their holds go on before that. */
void set_acquire_abort(struct engine *engine, struct operation *operation, int status, int64_t now) {
    struct command *command = operation->command;
    bool was_sent = command && command->was_sent;
    if (command && !was_sent) {
        entries_command_done(engine, command, now);
    }
    acquire_abort(engine, operation, status, now);
    if (was_sent) {
        entries_command_done(engine, command, now);
    }
}
