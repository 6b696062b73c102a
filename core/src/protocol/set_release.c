/* The release of several names of one server by one script: the hold count of each is lowered by one.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   phase       event                       next
 *   NEW         a hold is busy              WAITING
 *               none of the holds is there  DONE (LOST if one was lost, else NOT_OWNED)
 *   WAITING     it is not busy any more     as NEW
 *   REQUESTING  reply                       DONE (OK; LOST or NOT_OWNED if that is true of one of them, and what the
 *                                           server still has of it is released)
 *               transient error             sent again after a pause
 *               access is denied            a request for each name whose hold count becomes 0, one after the other;
 *                                           the others keep their counts
 *               the keys are on two nodes   the same, if all hold counts become 0; else sent again after a pause
 *               other error                 DONE
 *               the caller gives up         DONE; the release goes on in the background
 *
 * A server refuses all names if the user may not access one of them, or if some of them have migrated to another node.
 * One name that is refused for good does not keep the others locked.
 *
 * A hold whose count becomes 0 goes through the stages of hold.c. No hold is handed over inside the process, so that
 * sets which wait for all of the names have their turn. */
#include "set_release.h"

#include "entries.h"
#include "error_reply.h"
#include "hold_command.h"
#include "hold_end.h"
#include "lease.h"
#include "operations.h"
#include "planted.h"
#include "pools.h"
#include "queue.h"
#include "retry.h"

/* Returns the status to report of two names: LOST goes before an error, and that before NOT_OWNED. */
static int worse(int status, int other) {
    bool other_goes_first = other == REDLATCH_LOST || status == REDLATCH_OK || status == REDLATCH_NOT_OWNED;
    return other != REDLATCH_OK && other_goes_first ? other : status;
}

/* The last release of a hold begins: it is not renewed any more. */
static void let_go(struct engine *engine, struct hold *hold) {
    return_kept_command(engine, hold);
    if (!PLANTED(FAULT_RENEWAL_OUTLIVES_RELEASE)) {
        hold->stage = HOLD_RELEASING;
        engine->stats.held--;
        timer_disarm(&engine->timers, &hold->timer);
        renewal_forget(hold);
    }
}

static void add_entries(struct engine *engine, struct operation *operation, struct command *command) {
    command->kind = COMMAND_RELEASE_MANY;
    for (uint32_t i = 0; i < operation->set->count; i++) {
        const struct set_member *member = &operation->set->members[i];
        struct hold *hold = member_hold(member, operation->owner);
        if (!hold || hold->stage != HOLD_ALIVE || hold->busy) {
            continue;
        }
        entry_add(command, member, hold);
        struct entry *entry = &command->entries->entry[command->entry_count - 1];
        entry->count = hold->count - 1;
        entry->released_count = 1;
        command->lease_ms = hold->lease_ms > command->lease_ms ? hold->lease_ms : command->lease_ms;
        operation->id = operation->id ? operation->id : hold->id;
        if (entry->count == 0) {
            let_go(engine, hold);
        }
    }
}

/* Lowers the counts of holds that were lost, which this release reports. Returns LOST or NOT_OWNED if that is true of a
 * name, else OK. */
static int take_lost(struct engine *engine, struct operation *operation, int64_t now) {
    int status = REDLATCH_OK;
    for (uint32_t i = 0; i < operation->set->count; i++) {
        struct hold *hold = member_hold(&operation->set->members[i], operation->owner);
        if (!hold) {
            status = worse(status, REDLATCH_NOT_OWNED);
        } else if (hold->stage == HOLD_GONE) {
            status = REDLATCH_LOST;
            operation->reason = hold->reason;
            hold_lower_count(engine, hold, 1, now);
        }
    }
    return status;
}

void set_release(struct engine *engine, struct operation *operation, int64_t now) {
    operation->phase = PHASE_NEW;
    struct hold *busy = set_busy_hold(engine, operation, now);
    if (busy) {
        hold_wait_for(engine, busy, operation);
        return;
    }
    operation->verdict = take_lost(engine, operation, now); /* first: add_entries hides what it releases */
    struct command *command = take_command_with_entries(engine, operation);
    if (!INVARIANT(&engine->broken, command)) { /* it is the first one of the reserve */
        return;
    }
    add_entries(engine, operation, command);
    if (command->entry_count == 0) {
        give_command(engine, command);
        finish(engine, operation, operation->verdict);
        return;
    }
    operation_request(engine, operation, command);
}

/* ------------------------------------------------------------------------------------------------------- replies -- */

/* Notes that one of the names was lost. */
static int note_lost(const struct command *command, int reason) {
    if (command->operation) {
        command->operation->reason = (uint8_t)reason;
    }
    return REDLATCH_LOST;
}

/* The command that releases a hold is done. If the hold was lost and the command is an undo, the loss is still to be
 * reported by a release. */
static void end_released(struct engine *engine, const struct entry *entry, int64_t now) {
    struct hold *hold = entry->hold;
    hold->busy = NULL;
    if (hold->stage == HOLD_GONE && entry->released_count == 0) {
        hold_command_done(engine, hold, now);
    } else {
        hold_end(engine, hold, now);
    }
}

/* The reply about a name whose hold count becomes 0. */
static int freed(struct engine *engine, struct command *command, const struct entry *entry, int64_t found,
                 int64_t now) {
    struct hold *hold = entry->hold;
    bool in_time = hold && command->first_sent_at < hold->deadline;
    bool resolved = command->repeated && in_time && !PLANTED(FAULT_RESENT_RELEASE_IS_LOST);
    int reason = hold ? hold_reason(hold, now) : REDLATCH_REASON_MISSING;
    if (hold) {
        end_released(engine, entry, now);
    }
    if (hold || found > 0) {
        queue_after_release(engine, entry->name, found > 0 ? found - 1 : -1, now);
    }
    return found > 0 || resolved ? REDLATCH_OK : note_lost(command, reason);
}

/* Releases what was lost here and the server still has, with the count that the release stated. */
static void give_back(struct engine *engine, const struct command *command, const struct entry *entry, int64_t found) {
    if (found > 0 && release_id(engine, entry->name, entry->lock_kind, entry->id, command->pipeline)) {
        engine->stats.compensations++;
    }
}

/* The reply about a name whose hold goes on, if it was not lost meanwhile. */
static int lowered(struct engine *engine, const struct command *command, const struct entry *entry, int64_t found,
                   int64_t now) {
    struct hold *hold = entry->hold;
    if (!hold) {
        give_back(engine, command, entry, entry->unwanted ? found : 0);
        return note_lost(command, REDLATCH_REASON_MISSING);
    }
    hold->busy = NULL;
    if (hold->stage == HOLD_GONE) {
        int reason = hold->reason;
        if (hold_lower_count(engine, hold, entry->released_count, now)) {
            hold_command_done(engine, hold, now);
        }
        give_back(engine, command, entry, found);
        return note_lost(command, reason);
    }
    hold_set_count(hold, entry->count);
    hold_confirm_later(hold, hold->confirmed_at, hold->lease_ms);
    hold_arm(engine, hold);
    hold_command_done(engine, hold, now);
    return REDLATCH_OK;
}

/* The request ends with an error reply. A hold whose count becomes 0 ends here; its lease on the server runs out. */
static void give_up(struct engine *engine, struct command *command, int64_t now) {
    for (uint32_t i = command->entry_first; i < command->entry_end; i++) {
        struct entry entry = command->entries->entry[i];
        if (entry.hold && entry.count == 0) {
            command->entries->entry[i].hold = NULL;
            end_released(engine, &entry, now);
            queue_after_release(engine, entry.name, -1, now); /* no message comes to its waiters */
        }
    }
}

/* The release ends. A hold that goes on, and whose count was not lowered on the server, keeps its count if the caller
 * gets an error after which it releases again; its next command states the count. If nobody waits, if the error is
 * retryable, or if another name was lost, it is lowered. */
static void end_refused(struct engine *engine, struct command *command, int64_t now) {
    const struct operation *operation = command->operation;
    bool keeps_counts = operation && operation->verdict != REDLATCH_LOST &&
                        !redlatch_status_is_retryable(operation->verdict);
    for (uint32_t i = 0; i < command->entry_count; i++) {
        struct entry *entry = &command->entries->entry[i];
        struct hold *hold = entry->hold;
        entry->hold = NULL;
        if (!hold) {
            continue;
        }
        hold->busy = NULL;
        if (!keeps_counts && !hold_lower_count(engine, hold, entry->released_count, now)) {
            continue;
        }
        hold_confirm_later(hold, hold->confirmed_at, hold->lease_ms);
        hold_arm(engine, hold);
        hold_command_done(engine, hold, now);
    }
}

static uint32_t entries_requested(const struct command *command) {
    return command->entry_end - command->entry_first;
}

/* Sends a request about the next entry, from `entry` on. Returns false if there is none. */
static bool request_next(struct engine *engine, struct command *command, uint32_t entry) {
    while (entry < command->entry_count && command->releases_only && command->entries->entry[entry].count > 0) {
        entry++;
    }
    if (entry >= command->entry_count) {
        return false;
    }
    command->entry_first = entry;
    command->entry_end = entry + 1;
    command->was_sent = command->all_may_have_executed;
    command->repeated = command->all_may_have_executed;
    push_command(engine, command);
    return true;
}

/* Returns whether some of the names go on. */
static bool lowers_counts(const struct command *command) {
    uint32_t i = 0;
    while (i < command->entry_count && command->entries->entry[i].count == 0) {
        i++;
    }
    return i < command->entry_count;
}

/* Divides a request about several names that is refused because of its names. If some of them go on, the caller gets
 * the error, and releases those again. Returns false if there is nothing else to request. */
static bool divide(struct engine *engine, struct command *command, struct error_reply error) {
    command->all_may_have_executed = command->repeated || error.may_have_executed;
    if (command->operation && lowers_counts(command)) {
        command->operation->verdict = worse(command->operation->verdict, error.status);
        command->releases_only = true;
    }
    return request_next(engine, command, 0);
}

/* Returns whether the request is over: it is neither sent again nor divided. */
static bool is_refused(struct engine *engine, struct command *command, const struct reply *reply, int64_t now) {
    struct error_reply error = error_of_reply(reply);
    bool repeats = error.may_have_executed && !command->repeated;
    bool for_good = refuses_names(reply, error) && !repeats;
    bool of_several = entries_requested(command) > 1;
    if (error.status == REDLATCH_SERVER_OUT_OF_MEMORY && of_several) {
        error.may_have_executed = true; /* a full release does so without memory, a partial one beside it does not */
    }
    bool waits = error.keys_separated && command->operation && lowers_counts(command);
    if (of_several && !waits && (error.keys_separated || for_good)) {
        return !divide(engine, command, error);
    }
    if (is_retried(command, error, now)) {
        retry_later(engine, command, error, now);
        return false;
    }
    if (command->operation) {
        command->operation->verdict = worse(command->operation->verdict, error.status);
    }
    give_up(engine, command, now);
    return true;
}

/* Takes the entries of holds that go on out of an undo that is repeated: only ids that were never granted are released
 * again. Returns false if no entry is left. */
static bool keep_retired(struct engine *engine, struct command *command) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < command->entry_count; i++) {
        if (command->entries->entry[i].count > 0) {
            resource_drop(engine, command->entries->entry[i].name);
        } else {
            command->entries->entry[kept++] = command->entries->entry[i];
        }
    }
    command->entry_count = kept;
    command->entry_first = 0;
    command->entry_end = kept;
    command->releases_only = false;
    return kept > 0;
}

/* Returns what the script found under a name. A reply of one number is for each name. */
static int64_t found_of(const struct reply *reply, uint32_t number) {
    const struct reply *element = reply->kind == REPLY_ARRAY ? &reply->elements[number] : reply;
    return element->kind == REPLY_INTEGER ? element->integer : 0;
}

static void take_found(struct engine *engine, struct command *command, const struct reply *reply, int64_t now) {
    int status = command->operation ? command->operation->verdict : REDLATCH_OK;
    for (uint32_t i = command->entry_first; i < command->entry_end; i++) {
        int64_t found = found_of(reply, i - command->entry_first);
        struct entry *current = &command->entries->entry[i];
        if (current->hold && current->count > 0) {
            hold_check_found(engine, current->hold, found, now);
        }
        struct entry entry = *current;
        current->hold = NULL;
        int outcome = entry.count == 0 ? freed(engine, command, &entry, found, now)
                                       : lowered(engine, command, &entry, found, now);
        status = worse(status, outcome);
    }
    if (command->operation) {
        command->operation->verdict = status;
    }
}

void set_release_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now) {
    if (reply->kind == REPLY_INTEGER || (reply->kind == REPLY_ARRAY && reply->count == entries_requested(command))) {
        take_found(engine, command, reply, now);
    } else if (!is_refused(engine, command, reply, now)) {
        return;
    }
    if (request_next(engine, command, command->entry_end)) {
        return;
    }
    end_refused(engine, command, now);
    if (command->operation) {
        finish(engine, command->operation, command->operation->verdict);
        command->operation = NULL; /* not before: without it the release would count as one in the background */
    }
    if (command->repeat_until > now && keep_retired(engine, command)) {
        repeat_command(engine, command, now + SECOND);
    }
}

/* The release goes on in the background. */
void set_release_abort(struct engine *engine, struct operation *operation, int status, int64_t now) {
    if (operation->phase != PHASE_WAITING) {
        operation->command->operation = NULL;
        finish(engine, operation, status);
        return;
    }
    list_remove(&operation->link);
    for (uint32_t i = 0; i < operation->set->count; i++) {
        struct hold *hold = member_hold(&operation->set->members[i], operation->owner);
        if (hold && hold->stage != HOLD_RELEASING) {
            hold_release_in_background(engine, operation, hold, now);
        }
    }
    finish(engine, operation, status);
}
