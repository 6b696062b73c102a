/* How a hold goes on once its command is done, and how it ends: by its deadline, its last release or the end of its
 * owner; how a loss is reported, and how a hold is forgotten. hold.c has the table of the stages.
 * SPDX-License-Identifier: Apache-2.0 */
#include "hold_end.h"

#include "entries.h"
#include "hold_command.h"
#include "kinds.h"
#include "machine.h"
#include "operations.h"
#include "planted.h"
#include "pools.h"
#include "queue.h"
#include "wait_queue.h"

/* How long a lost permit is remembered, so that its release returns LOST. */
static const int64_t LOST_PERMIT_KNOWN = 300 * SECOND;

static void unlink_hold(struct hold *hold) {
    struct hold **link = &hold->resource->holds;
    while (*link != hold) {
        link = &(*link)->next;
    }
    *link = hold->next;
    list_remove(&hold->owned);
}

/* The operations that waited for a hold begin anew when it is forgotten. Their owner may have another hold already. */
static void restart_waiting(struct engine *engine, struct list *waiting, int64_t now) {
    struct list_link *link;
    while ((link = list_pop(waiting)) != NULL) {
        struct operation *operation = container_of(link, struct operation, link);
        operation->hold = NULL;
        bool one = operation->kind == OPERATION_ACQUIRE && !operation->set;
        struct hold *other = one ? resource_hold_of(operation->resource, operation->lock_kind, operation->owner) : NULL;
        if (other) {
            hold_acquire(engine, other, operation, now);
        } else if (operation->kind == OPERATION_ACQUIRE) {
            machine_for(engine, operation)->begin(engine, operation, now);
        } else if (operation->set) {
            engine->machines->go_on(engine, operation, now);
        } else {
            finish(engine, operation, REDLATCH_NOT_OWNED);
        }
    }
}

/* Forgets a hold. If a loss queue has the hold, its memory is kept until the report, but it is no longer a hold of its
 * name. A command in flight goes on without the hold. */
void hold_end(struct engine *engine, struct hold *hold, int64_t now) {
    struct list waiting;
    list_take_all(&hold->waiting, &waiting);
    timer_disarm(&engine->timers, &hold->timer);
    return_kept_command(engine, hold);
    if (hold->busy) {
        if (hold->busy->operation) { /* the reply will find no hold to take the reason from */
            hold->busy->operation->reason = hold->reason;
        }
        command_forget(hold->busy, hold);
    }
    renewal_forget(hold);
    if (hold->claim) {
        hold->claim->granted--;
        hold->claim = NULL;
    }
    if (hold->stage == HOLD_ALIVE) {
        engine->stats.held--;
    }
    engine->stats.unconfirmed -= hold->unconfirmed;
    hold->unconfirmed = false;
    hold->stage = HOLD_GONE;
    hold->busy = NULL;
    unlink_hold(hold);
    hold->ended = true;
    if (hold->reported == 0) {
        give_hold(engine, hold);
    }
    restart_waiting(engine, &waiting, now);
}

static void report(struct engine *engine, struct hold *hold, enum loss_queue queue) {
    if (engine->losses_wanted[queue] && !(hold->reported >> queue & 1)) {
        hold->reported |= (uint8_t)(1 << queue);
        hold->next_loss[queue] = NULL;
        *engine->losses_end[queue] = hold;
        engine->losses_end[queue] = &hold->next_loss[queue];
    }
}

static void report_loss(struct engine *engine, struct hold *hold) {
    if (hold->single_grant) {
        report(engine, hold, LOSS_EVENTS);
        report(engine, hold, LOSS_THREADS);
    }
    if (hold->in_set) {
        report(engine, hold, LOSS_SETS);
    }
}

void hold_release_failed(struct engine *engine, struct hold *hold, int status, int reason) {
    if (PLANTED(FAULT_UNCONFIRMED_UNREPORTED)) {
        return;
    }
    hold->release_status = status;
    hold->reason = (uint8_t)reason;
    report(engine, hold, LOSS_EVENTS);
    report(engine, hold, LOSS_THREADS);
}

void engine_fail_unconfirmed(struct engine *engine) {
    const struct resource_table *table = &engine->resources;
    for (uint32_t i = 0; i < table->bucket_count; i++) {
        for (const struct resource *resource = table->buckets[i]; resource; resource = resource->next) {
            for (struct hold *hold = resource->holds; hold; hold = hold->next) {
                if (hold->unconfirmed && hold->release_status == REDLATCH_OK) {
                    hold_release_failed(engine, hold, REDLATCH_NO_REPLY, REDLATCH_REASON_NONE);
                }
            }
        }
    }
}

void hold_report_late(struct engine *engine, struct hold *hold, int64_t late_ms) {
    hold->late_ms = late_ms;
    report(engine, hold, LATE_EVENTS);
    report(engine, hold, LATE_THREADS);
}

struct hold *engine_first_loss(struct engine *engine, enum loss_queue queue) {
    return engine->losses[queue];
}

void engine_loss_taken(struct engine *engine, enum loss_queue queue) {
    struct hold *hold = engine->losses[queue];
    engine->losses[queue] = hold->next_loss[queue];
    if (!engine->losses[queue]) {
        engine->losses_end[queue] = &engine->losses[queue];
    }
    hold->reported &= (uint8_t)~(1 << queue);
    if (hold->ended && hold->reported == 0) {
        give_hold(engine, hold);
    }
}

/* A hold of the name has ended without a release. */
static void recheck_waiters(struct engine *engine, const struct resource *resource, int64_t now) {
    struct wait_queue *queue = resource->queue;
    if (queue) {
        machine_of(engine, resource)->recheck(engine, queue, now);
    }
    if (queue && resource->queue == queue) { /* it may have ended with its last waiter */
        set_recheck_next(engine, queue, now);
    }
}

void hold_lose(struct engine *engine, struct hold *hold, int reason, int64_t now) {
    if (hold->stage != HOLD_ALIVE) {
        return;
    }
    hold->stage = HOLD_GONE;
    hold->reason = (uint8_t)reason;
    hold->over_ms = now > hold->deadline ? (now - hold->deadline) / MILLISECOND : 0;
    engine->stats.held--;
    engine->stats.lost++;
    timer_disarm(&engine->timers, &hold->timer);
    if (reason == REDLATCH_REASON_EXPIRED || reason == REDLATCH_REASON_MAX_HOLD) {
        renewal_expire(engine, hold);
    } else {
        renewal_forget(hold);
    }
    if (!PLANTED(FAULT_MISSING_UNREPORTED) || reason != REDLATCH_REASON_MISSING) {
        report_loss(engine, hold);
    }
    if (kind_has_permit_ids(hold->lock_kind)) { /* a permit need not be released, and often is not */
        timer_arm(&engine->timers, &hold->timer, now + LOST_PERMIT_KNOWN);
    }
    recheck_waiters(engine, hold->resource, now);
    hold_command_done(engine, hold, now); /* which may forget the hold */
}

static bool max_hold_reached(const struct hold *hold) {
    int64_t margin = hold->lease_ms * MILLISECOND / 100 + 4 * MILLISECOND;
    return hold->max_hold_at != NEVER && hold->max_hold_at - hold->deadline <= margin;
}

int hold_reason(const struct hold *hold, int64_t now) {
    if (now < hold->deadline) {
        return REDLATCH_REASON_MISSING;
    }
    return max_hold_reached(hold) ? REDLATCH_REASON_MAX_HOLD : REDLATCH_REASON_EXPIRED;
}

/* Marks a hold as lost if its deadline has passed. */
void hold_check_deadline(struct engine *engine, struct hold *hold, int64_t now) {
    if (hold->stage == HOLD_ALIVE && now >= hold->deadline) {
        hold_lose(engine, hold, hold_reason(hold, now), now);
    }
}

void hold_check_found(struct engine *engine, struct hold *hold, int64_t found, int64_t now) {
    if (found == 0) {
        hold_lose(engine, hold, REDLATCH_REASON_MISSING, now);
    } else {
        hold_check_deadline(engine, hold, now); /* a reply after the deadline does not bring the hold back */
    }
}

struct hold *engine_hold_of(struct engine *engine, struct resource *resource, uint8_t lock_kind, uint64_t owner,
                            int64_t now) {
    struct hold *hold = resource_hold_of(resource, lock_kind, owner);
    if (hold) {
        hold_check_deadline(engine, hold, now);
        hold = resource_hold_of(resource, lock_kind, owner); /* a release that waited may have ended it */
    }
    return hold;
}

/* Lowers the count of a lost hold by its releases that go on in the background. Their callers will not release again,
 * and the reply may come late. */
static void count_background_releases(struct engine *engine, struct hold *hold, int64_t now) {
    uint32_t released = hold->deferred_releases;
    hold->deferred_releases = 0;
    if (hold->busy && !hold->busy->operation) {
        struct entry *entry = entry_of(hold->busy, hold);
        uint32_t *in_flight = entry ? &entry->released_count : &hold->busy->released_count;
        released = released == RELEASE_ALL ? RELEASE_ALL : released + *in_flight;
        *in_flight = 0;
    }
    if (released > 0) {
        hold_lower_count(engine, hold, released, now);
    }
}

struct hold *hold_of_owner(struct engine *engine, struct resource *resource, uint8_t lock_kind, uint64_t owner,
                           int64_t now) {
    struct hold *hold = engine_hold_of(engine, resource, lock_kind, owner, now);
    if (hold && hold->stage == HOLD_GONE && !PLANTED(FAULT_BACKGROUND_COUNTS_LATE)) {
        count_background_releases(engine, hold, now);
        hold = resource_hold_of(resource, lock_kind, owner);
    }
    return hold;
}

static void end_hold_of(struct engine *engine, struct resource *resource, uint8_t lock_kind, uint64_t owner,
                        int64_t now) {
    struct hold *hold = resource_hold_of(resource, lock_kind, owner);
    if (hold) {
        hold_lose(engine, hold, REDLATCH_REASON_ABANDONED, now);
        hold = resource_hold_of(resource, lock_kind, owner); /* a release that waited may have ended it */
    }
    if (hold) {
        hold_end(engine, hold, now);
    }
}

void engine_forget_lost(struct engine *engine, struct hold *hold, int64_t now) {
    if (engine->broken) {
        return;
    }
    hold_end(engine, hold, now);
}

void engine_leave(struct engine *engine, struct hold *hold, int64_t now) {
    if (engine->broken) {
        return;
    }
    struct resource *resource = resource_keep(hold->resource);
    hold_end(engine, hold, now);
    recheck_waiters(engine, resource, now);
    resource_drop(engine, resource);
}

/* Moves the holds of an owner from its chain to `taken`, except those that are being released. */
static void take_holds_of(struct engine *engine, uint64_t owner, struct list *taken) {
    const struct list *chain = &engine->holds_of[owner % OWNER_CHAINS];
    struct list_link *link = list_first(chain);
    list_init(taken);
    while (link) {
        struct hold *hold = container_of(link, struct hold, owned);
        link = list_next(chain, link);
        if (hold->owner == owner && hold->stage != HOLD_RELEASING) {
            list_remove(&hold->owned);
            list_append(taken, &hold->owned);
        }
    }
}

/* All holds are taken off the chain first, so that the loop ends whatever the end of one hold does. A hold that ends
 * together with another leaves the list. A hold whose release began meanwhile goes back to its chain, and goes on. */
void engine_owner_end(struct engine *engine, uint64_t owner, int64_t now) {
    if (engine->broken) {
        return;
    }
    struct list taken;
    struct list_link *link;
    take_holds_of(engine, owner, &taken);
    while ((link = list_pop(&taken)) != NULL) {
        const struct hold *hold = container_of(link, struct hold, owned);
        list_append(&engine->holds_of[owner % OWNER_CHAINS], link);
        struct resource *resource = resource_keep(hold->resource);
        end_hold_of(engine, resource, hold->lock_kind, owner, now);
        resource_drop(engine, resource);
    }
}

/* Sets the hold count. If the acquire from which on the hold is renewed has been released, it is no longer renewed. */
void hold_set_count(struct hold *hold, uint32_t count) {
    hold->count = count;
    hold->renewed_from = hold->renewed_from <= count ? hold->renewed_from : 0;
}

bool hold_lower_count(struct engine *engine, struct hold *hold, uint32_t hold_count, int64_t now) {
    hold_set_count(hold, hold_count < hold->count ? hold->count - hold_count : 0);
    if (hold->stage != HOLD_GONE || hold->count > 0) {
        return true;
    }
    hold_end(engine, hold, now);
    return false;
}

/* There is no memory for a release that nobody waits for. It is tried again soon: the driver fills the pools. */
static void release_again(struct engine *engine, struct hold *hold, int64_t now) {
    hold->release_again_at = now + MILLISECOND;
    hold_arm(engine, hold);
}

/* Sends the last release, or hands the lock over to a waiter of this process. The hold is no longer renewed. */
void hold_release_sent(struct engine *engine, struct hold *hold, struct operation *operation, int64_t now) {
    return_kept_command(engine, hold);
    struct command *command = operation ? hold_command_for(engine, operation) : take_command(engine, NULL);
    if (!command && operation) {
        return;
    }
    if (!command) {
        hold->deferred_releases = RELEASE_ALL;
        hold->renewed_from = 0;
        hold->renew_at = NEVER;
        release_again(engine, hold, now);
        return;
    }
    if (!operation) {
        command->resource = resource_keep(hold->resource);
        command->pipeline = PIPELINE_CALLERS;
    }
    if (!PLANTED(FAULT_RENEWAL_OUTLIVES_RELEASE)) {
        hold->stage = HOLD_RELEASING;
        engine->stats.held--;
        timer_disarm(&engine->timers, &hold->timer);
        renewal_forget(hold);
    }
    struct operation *receiver = queue_receiver(engine, hold, now);
    if (receiver) {
        if (!kind_of(hold->resource)->queues_on_server) {
            receiver->id = ++engine->last_id;
        }
        receiver->phase = PHASE_HANDED;
        receiver->woken = false;
        hold->resource->queue->handing = command;
        hold->resource->queue->receiver = receiver;
        command->kind = COMMAND_HAND_OVER;
        command->successor = receiver->id;
        command->count = 1;
        command->lease_ms = acquire_lease(engine, receiver, now);
        command->token_from_time = receiver->token_from_time;
        if (operation && operation->unconfirmed) { /* only the receiver waits for the reply */
            command->pipeline = receiver->pipeline;
        }
        arm_operation(engine, receiver);
    } else {
        command->kind = COMMAND_RELEASE;
        command->lease_ms = hold->lease_ms;
    }
    hold_send(engine, hold, operation, command);
    if (operation && operation->unconfirmed) {
        hold->unconfirmed = true;
        engine->stats.unconfirmed++;
        command->unconfirmed = true;
        command->operation = NULL;
        finish(engine, operation, REDLATCH_OK);
    }
}

/* Sends the deferred releases of a hold. If the hold is lost, they only lower the hold count, because no caller waits
 * to learn of the loss. */
void hold_release_deferred(struct engine *engine, struct hold *hold, int64_t now) {
    if (hold->stage == HOLD_GONE) {
        count_background_releases(engine, hold, now);
        return;
    }
    if (hold->deferred_releases >= hold->count) {
        hold->deferred_releases = 0;
        hold_release_sent(engine, hold, NULL, now);
        return;
    }
    return_kept_command(engine, hold);
    struct command *command = take_command(engine, NULL);
    if (!command) {
        release_again(engine, hold, now);
        return;
    }
    command->resource = resource_keep(hold->resource);
    command->pipeline = PIPELINE_CALLERS;
    command->kind = COMMAND_RELEASE;
    command->count = hold->count - hold->deferred_releases;
    command->released_count = hold->deferred_releases;
    hold->deferred_releases = 0;
    hold_send(engine, hold, NULL, command);
}

/* The release of an operation that is given up goes on: at once, or after the hold's command in flight. */
void hold_release_in_background(struct engine *engine, struct operation *operation, struct hold *hold, int64_t now) {
    hold->deferred_releases += hold->deferred_releases != RELEASE_ALL;
    keep_command_for(operation, hold);
    if (!hold->busy) {
        hold_release_deferred(engine, hold, now);
    }
}

/* The hold's command is done: the operations that waited go on, one at a time. One that waits again does so for another
 * command. It has a higher wait number than all that waited before, and so no second turn here. An acquire that waited
 * begins anew if all other acquires are released. */
void hold_command_done(struct engine *engine, struct hold *hold, int64_t now) {
    uint64_t last = engine->hold_waits;
    while (!hold->busy && !list_is_empty(&hold->waiting)) {
        struct operation *operation = container_of(list_first(&hold->waiting), struct operation, link);
        if (operation->kind == OPERATION_EXTEND && hold->stage == HOLD_ALIVE && hold->batch) {
            break;
        }
        if (operation->kind == OPERATION_ACQUIRE && hold_count_left(hold) == 0) {
            break;
        }
        if (!INVARIANT(&engine->broken, operation->wait_number <= last)) {
            return;
        }
        list_remove(&operation->link);
        operation->hold = NULL;
        if (operation->kind == OPERATION_ACQUIRE && operation->set) {
            machine_for(engine, operation)->begin(engine, operation, now);
        } else if (operation->kind == OPERATION_ACQUIRE) {
            hold_acquire(engine, hold, operation, now);
        } else {
            engine->machines->go_on(engine, operation, now);
        }
        if (hold->ended) { /* by this operation, or by one behind it if this one found that the deadline had passed */
            return;
        }
    }
    if (!hold->busy && hold->deferred_releases > 0) {
        hold_release_deferred(engine, hold, now);
    }
}

/* The command is done for the holds that its entries still have. The operations that waited for these holds go on. */
void entries_command_done(struct engine *engine, struct command *command, int64_t now) {
    for (uint32_t i = 0; i < command->entry_count; i++) {
        struct hold *hold = command->entries->entry[i].hold;
        command->entries->entry[i].hold = NULL;
        if (hold) {
            hold->busy = NULL;
            hold_command_done(engine, hold, now);
        }
    }
}

/* Returns a hold that the owner has of a name of the set, and that is busy with a command. Returns NULL if there is
 * none. */
struct hold *set_busy_hold(struct engine *engine, const struct operation *operation, int64_t now) {
    for (uint32_t i = 0; i < operation->set->count; i++) {
        const struct set_member *member = &operation->set->members[i];
        if (member->lock_kind == REDLATCH_WRITE) { /* a hold of the read lock matters, too */
            hold_of_owner(engine, member->resource, REDLATCH_READ, operation->owner, now);
        }
        hold_of_owner(engine, member->resource, member->lock_kind, operation->owner, now);
    }
    for (uint32_t i = 0; i < operation->set->count; i++) {
        struct hold *hold = member_hold(&operation->set->members[i], operation->owner);
        if (hold && hold->busy) {
            return hold;
        }
    }
    return NULL;
}
