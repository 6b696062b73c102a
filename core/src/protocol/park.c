/* How a waiter waits: until when it parks, what it listens to meanwhile, and how it rechecks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "park.h"

#include "back_off.h"
#include "kinds.h"
#include "machine.h"
#include "operations.h"
#include "planted.h"
#include "subscription.h"

/* The longest time that a foremost waiter is parked without a recheck, with and without a subscription that wakes
 * it. */
static const int64_t RECHECK_CAP = 5 * SECOND;
static const int64_t POLL_CAP = SECOND / 4;

/* How long before its deadline a waiter that polls rechecks for the last time: the reply takes a while. */
static const int64_t LAST_RECHECK = 25 * MILLISECOND;

/* Returns `recheck_at`, or 1 to 10 ms after the holder's lease ends if that is sooner. */
static int64_t within_lease(struct engine *engine, int64_t recheck_at, int64_t ttl_ms, int64_t now) {
    if (ttl_ms >= 0) {
        int64_t over = now + (ttl_ms + 1 + engine_random(engine, 10)) * MILLISECOND;
        recheck_at = over < recheck_at ? over : recheck_at;
    }
    return recheck_at;
}

/* Returns when to recheck if no message comes before. */
int64_t acquire_recheck_time(struct engine *engine, const struct subscription *subscription, int64_t ttl_ms,
                             int64_t now) {
    bool denied = subscription && subscription->state == SUBSCRIPTION_DENIED;
    bool unheard = subscription && kind_of(subscription->queue->resource)->polls; /* not all of its holders publish */
    return within_lease(engine, now + (denied || unheard ? POLL_CAP : RECHECK_CAP), ttl_ms, now);
}

/* Returns when a waiter without a subscription rechecks. While this process itself holds the lock, polling would find
 * nothing new: the release will hand the lock over. */
static int64_t next_poll(struct engine *engine, struct operation *operation, int64_t now) {
    if (resource_live_hold(operation->resource) || PLANTED(FAULT_SPINS_SELDOM)) {
        return now + RECHECK_CAP;
    }
    int64_t recheck_at = now + back_off_next(engine, &operation->back_off) * MILLISECOND;
    int64_t last = operation->wait_until - LAST_RECHECK;
    return recheck_at > last && last > now ? last : recheck_at;
}

void acquire_park(struct engine *engine, struct operation *operation, int64_t ttl_ms, int64_t now) {
    struct subscription *subscription = &operation->resource->queue->subscription;
    bool queues = operation->kind == OPERATION_ACQUIRE && !operation->set; /* sets and watches have no back-off */
    operation->phase = PHASE_PARKED;
    if (queues && kind_of(operation->resource)->polls) {
        operation->recheck_at = within_lease(engine, next_poll(engine, operation, now), ttl_ms, now);
    } else {
        subscription_want(engine, subscription);
        operation->recheck_at = acquire_recheck_time(engine, subscription, ttl_ms, now);
    }
    arm_operation(engine, operation);
}

void acquire_recheck(struct engine *engine, struct operation *operation, int64_t now) {
    if (operation->phase == PHASE_PARKED || operation->phase == PHASE_PAUSED || operation->phase == PHASE_QUEUED) {
        machine_of(engine, operation->resource)->send(engine, operation, now);
    }
}
