/* How a hold comes to its end: its clock, its loss, the report of that, the end of its owner, and being forgotten.
 * The stages are those of the table in hold.c.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kinds.h"
#include "lease.h"
#include "steps.h"

static void unlink_hold(struct hold *hold) {
    struct hold **place = &hold->resource->holds;
    while (*place != hold) {
        place = &(*place)->next;
    }
    *place = hold->next;
}

/* Whoever still waited for a hold that is being forgotten starts over; its owner may have got another one meanwhile. */
static void restart_waiting(struct engine *engine, struct list *waiting, int64_t now) {
    struct list_link *link;
    while ((link = list_pop(waiting)) != NULL) {
        struct operation *operation = container_of(link, struct operation, link);
        operation->hold = NULL;
        struct hold *other = resource_hold_of(operation->resource, operation->owner);
        if (operation->kind == OPERATION_ACQUIRE && other && !operation->set) {
            hold_acquire(engine, other, operation, now);
        } else if (operation->kind == OPERATION_ACQUIRE) {
            kind_for(operation)->begin(engine, operation, now);
        } else if (operation->set) {
            set_release(engine, operation, now);
        } else {
            finish(engine, operation, REDLATCH_NOT_OWNED);
        }
    }
}

/* Of a set, other holds may still be to be claimed. */
static void forget_claim(struct hold *hold) {
    if (!hold->claim->set) {
        hold->claim->granted = NULL;
    }
    hold->claim = NULL;
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
        command_forget(hold->busy, hold);
    }
    renewal_forget(hold);
    if (hold->claim) {
        forget_claim(hold);
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
        if (engine->losses_wanted[queue] && (queue == LOSS_SETS ? hold->in_set : hold->alone)) {
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
    struct contest *contest = hold->resource->contest;
    struct operation *foremost = contest ? queue_foremost(contest) : NULL;
    if (foremost && foremost->phase == PHASE_PARKED) {
        acquire_look(engine, foremost, now);
    }
    if (contest) {
        set_next_looks(engine, contest, now);
    }
    hold_settled(engine, hold, now); /* which may forget the hold */
}

static bool max_hold_reached(const struct hold *hold) {
    int64_t margin = hold->lease_ms * MILLISECOND / 100 + 4 * MILLISECOND;
    return hold->max_hold_at != NEVER && hold->max_hold_at - hold->deadline <= margin;
}

/* Brings a hold up to date with the clock. */
void hold_check_deadline(struct engine *engine, struct hold *hold, int64_t now) {
    if (hold->stage == HOLD_ALIVE && now >= hold->deadline) {
        hold_lose(engine, hold, max_hold_reached(hold) ? REDLATCH_REASON_MAX_HOLD : REDLATCH_REASON_EXPIRED, now);
    }
}

struct hold *engine_hold_of(struct engine *engine, struct resource *resource, uint64_t owner, int64_t now) {
    struct hold *hold = resource_hold_of(resource, owner);
    if (hold) {
        hold_check_deadline(engine, hold, now);
        hold = resource_hold_of(resource, owner); /* a release that waited may have ended it */
    }
    return hold;
}

static void claimed(struct engine *engine, struct hold *hold) {
    hold->claim = NULL;
    return_kept_command(engine, hold);
    hold_arm(engine, hold);
}

void engine_claimed(struct engine *engine, struct operation *operation) {
    for (uint32_t i = 0; operation->granted && operation->set && i < operation->set->count; i++) {
        struct hold *hold = resource_hold_of(operation->set->members[i].resource, operation->owner);
        if (hold && hold->claim == operation) {
            claimed(engine, hold);
        }
    }
    if (operation->granted && !operation->set) {
        claimed(engine, operation->granted);
    }
    operation->granted = NULL;
}

void hold_timer(struct engine *engine, struct hold *hold, int64_t now) {
    hold_check_deadline(engine, hold, now);
    if (hold->stage == HOLD_ALIVE && hold->claim && now >= hold->claim_by) {
        hold->claim->status = REDLATCH_UNCLAIMED;
        forget_claim(hold);
        hold->owed += hold->owed != ALL_LEVELS; /* further levels have owners of their own */
        if (!hold->busy) {
            hold_release_owed(engine, hold, now);
        }
    }
    if (hold->stage == HOLD_ALIVE && hold->renew_at <= now && !hold->batch) {
        renewal_gather(engine, hold, now);
    } else {
        hold_arm(engine, hold);
    }
}

void engine_owner_end(struct engine *engine, uint64_t owner, int64_t now) {
    for (uint32_t i = 0; i < engine->resources.bucket_count; i++) {
        for (struct resource *resource = engine->resources.buckets[i]; resource;) {
            struct resource *next = resource->next;
            struct hold *hold = resource_hold_of(resource, owner);
            if (hold) {
                hold_lose(engine, hold, REDLATCH_REASON_ABANDONED, now);
                hold = resource_hold_of(resource, owner); /* a release that waited may have ended it */
            }
            if (hold) {
                hold_end(engine, hold, now);
            }
            resource = next;
        }
    }
}
