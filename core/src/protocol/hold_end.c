/* How a hold comes to its end: its clock, its loss, the report of that, the end of its owner, and being forgotten.
 * The stages are those of the table in hold.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kinds.h"
#include "lease.h"
#include "machine.h"
#include "steps.h"

/* How long a release of a lost permit is told that it was lost. */
static const int64_t LOST_PERMIT_KNOWN = 300 * SECOND;

static void unlink_hold(struct hold *hold) {
    struct hold **link = &hold->resource->holds;
    while (*link != hold) {
        link = &(*link)->next;
    }
    *link = hold->next;
    list_remove(&hold->owned);
}

/* Whoever still waited for a hold that is being forgotten starts over; its owner may have got another one meanwhile. */
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
            set_release(engine, operation, now);
        } else {
            finish(engine, operation, REDLATCH_NOT_OWNED);
        }
    }
}

/* Forgets a hold, or keeps it out of sight until its loss has been reported. A command still under way goes on
 * without it. */
void hold_end(struct engine *engine, struct hold *hold, int64_t now) {
    struct list waiting;
    list_init(&waiting);
    struct list_link *link;
    while ((link = list_pop(&hold->waiting)) != NULL) {
        list_append(&waiting, link);
    }
    timer_disarm(&engine->timers, &hold->timer);
    return_kept_command(engine, hold);
    if (hold->busy) {
        if (hold->busy->operation) { /* whose answer finds no hold any more */
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
    hold->stage = HOLD_GONE;
    hold->busy = NULL;
    unlink_hold(hold);
    hold->ended = true;
    if (hold->reported == 0) {
        give_hold(engine, hold);
    }
    restart_waiting(engine, &waiting, now);
}

static void report_loss(struct engine *engine, struct hold *hold) {
    for (int queue = 0; queue < LOSS_QUEUES; queue++) {
        if (engine->losses_wanted[queue] && (queue == LOSS_SETS ? hold->in_set : hold->single_grant)) {
            hold->reported |= (uint8_t)(1 << queue);
            hold->next_loss[queue] = NULL;
            *engine->losses_end[queue] = hold;
            engine->losses_end[queue] = &hold->next_loss[queue];
        }
    }
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

void hold_lose(struct engine *engine, struct hold *hold, int reason, int64_t now) {
    if (hold->stage != HOLD_ALIVE) {
        return;
    }
    hold->stage = HOLD_GONE;
    hold->reason = (uint8_t)reason;
    engine->stats.held--;
    engine->stats.lost++;
    timer_disarm(&engine->timers, &hold->timer);
    if (reason == REDLATCH_REASON_EXPIRED || reason == REDLATCH_REASON_MAX_HOLD) {
        renewal_expire(engine, hold);
    } else {
        renewal_forget(hold);
    }
    report_loss(engine, hold);
    if (hold->lock_kind == REDLATCH_PERMIT_SEMAPHORE) { /* which need not be released, and often is not */
        timer_arm(&engine->timers, &hold->timer, now + LOST_PERMIT_KNOWN);
    }
    struct wait_queue *queue = hold->resource->queue;
    if (queue) {
        machine_of(engine, hold->resource)->recheck(engine, queue, now);
    }
    if (queue) {
        set_recheck_next(engine, queue, now);
    }
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

/* Brings a hold up to date with the clock. */
void hold_check_deadline(struct engine *engine, struct hold *hold, int64_t now) {
    if (hold->stage == HOLD_ALIVE && now >= hold->deadline) {
        hold_lose(engine, hold, hold_reason(hold, now), now);
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

void engine_unclaimed(struct engine *engine, struct operation *operation) {
    if (operation->unclaimed) {
        semaphore_unclaimed(engine, operation, operation->status);
    }
}

/* What the operation was granted of one name. */
static void claim(struct engine *engine, const struct operation *operation, const struct resource *resource) {
    for (struct hold *hold = resource->holds; hold; hold = hold->next) {
        if (hold->claim == operation) {
            hold->claim = NULL;
            return_kept_command(engine, hold);
            hold_arm(engine, hold);
        }
    }
}

void engine_claimed(struct engine *engine, struct operation *operation) {
    if (operation->unclaimed) {
        operation->unclaimed = false;
        timer_disarm(&engine->timers, &operation->timer);
        return_reserve(engine, operation);
    }
    const struct name_set *set = operation->granted ? operation->set : NULL;
    for (uint32_t i = 0; set && i < set->count; i++) {
        claim(engine, operation, set->members[i].resource);
    }
    if (operation->granted && !set) {
        claim(engine, operation, operation->resource);
    }
    operation->granted = 0;
}

void hold_timer(struct engine *engine, struct hold *hold, int64_t now) {
    if (hold->stage == HOLD_GONE) { /* a permit; see hold_lose */
        hold_end(engine, hold, now);
        return;
    }
    hold_check_deadline(engine, hold, now);
    if (hold->stage == HOLD_ALIVE && hold->claim && now >= hold->claim_by) {
        hold->claim->status = REDLATCH_UNCLAIMED;
        hold->claim->granted--;
        hold->claim = NULL;
        hold->deferred_releases += hold->deferred_releases != RELEASE_ALL; /* further levels have owners of their own */
        if (!hold->busy) {
            hold_release_deferred(engine, hold, now);
        }
    }
    if (hold->stage == HOLD_ALIVE && hold->renew_at <= now && !hold->batch) {
        renewal_gather(engine, hold, now);
    } else {
        hold_arm(engine, hold);
    }
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

/* A hold of an owner that is not being released; NULL if there is none. */
static struct hold *hold_of_owner(const struct engine *engine, uint64_t owner) {
    const struct list *chain = &engine->holds_of[owner % OWNER_CHAINS];
    for (struct list_link *link = list_first(chain); link; link = list_next(chain, link)) {
        struct hold *hold = container_of(link, struct hold, owned);
        if (hold->owner == owner && hold->stage != HOLD_RELEASING) {
            return hold;
        }
    }
    return NULL;
}

void engine_owner_end(struct engine *engine, uint64_t owner, int64_t now) {
    if (engine->broken) {
        return;
    }
    struct hold *hold;
    while ((hold = hold_of_owner(engine, owner)) != NULL) { /* each turn ends it, and none is granted meanwhile */
        struct resource *resource = resource_keep(hold->resource);
        end_hold_of(engine, resource, hold->lock_kind, owner, now);
        resource_drop(engine, resource);
    }
}
