/* The wait queue of a name. Waiters of this process are granted in order of arrival. Only the foremost talks to Redis,
 * or the concurrent waiters at the front. A release hands the hold over to a waiter of the process, at most 16 times or
 * for 10 ms in a row; then the lock is released, and if other processes listen, they may try first. Waiters of a fair
 * lock are in the wait queue, too, in the order of their positions (fair.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "queue.h"

#include "acknowledgement.h"
#include "hold_command.h"
#include "kinds.h"
#include "lease.h"
#include "machine.h"
#include "operations.h"
#include "park.h"
#include "planted.h"
#include "wait_queue.h"
#include "wake_channels.h"

enum { HAND_OVERS_MAX = 16 };
static const int64_t HAND_OVERS_TIME = 10 * MILLISECOND;

static bool is_concurrent(const struct operation *operation) {
    return kind_of_number(operation->lock_kind)->waiters_go_together;
}

/* Returns whether waiters of the name may be concurrent: then each has to make sure that it misses no message. */
static bool is_shared(const struct wait_queue *queue) {
    return kind_of(queue->resource)->waiters_go_together;
}

/* Returns the waiter behind `operation` that may request at the same time as it. Returns NULL if `operation` is
 * exclusive or no concurrent waiter follows. */
static struct operation *next_concurrent(const struct wait_queue *queue, const struct operation *operation) {
    struct list_link *link = is_concurrent(operation) ? list_next(&queue->waiters, &operation->link) : NULL;
    struct operation *next = link ? container_of(link, struct operation, link) : NULL;
    return next && is_concurrent(next) ? next : NULL;
}

/* For an owner that may have several operations at once: returns whether an earlier acquire of the same kind is in the
 * queue or was just granted. Then `operation`, which may be about to queue, re-enters that hold and does not request by
 * itself. */
bool queue_will_reenter(const struct wait_queue *queue, const struct operation *operation) {
    const struct hold *hold = resource_hold_of(operation->resource, operation->lock_kind, operation->owner);
    if (!operation->named_owner || (hold && hold->stage == HOLD_ALIVE)) {
        return operation->named_owner;
    }
    struct list_link *link = list_first(&queue->waiters);
    for (; link && link != &operation->link; link = list_next(&queue->waiters, link)) {
        const struct operation *other = container_of(link, struct operation, link);
        if (other->owner == operation->owner && other->lock_kind == operation->lock_kind) {
            return true;
        }
    }
    return false;
}

/* Returns whether a new waiter may request at once. */
bool queue_lets_in(const struct wait_queue *queue, const struct operation *operation) {
    bool exclusive = queue->exclusive_count > 0 && !PLANTED(FAULT_READERS_OVERTAKE);
    bool front = !queue_foremost(queue) || (is_concurrent(operation) && !exclusive);
    return front && !queue_will_reenter(queue, operation);
}

void queue_enter(struct engine *engine, struct operation *operation) {
    struct wait_queue *queue = operation->resource->queue;
    list_append(&queue->waiters, &operation->link);
    queue->waiter_count++;
    queue->exclusive_count += !is_concurrent(operation);
    queue->named_owners += operation->named_owner;
    engine->stats.waiters++;
    timer_disarm(&engine->timers, &queue->timer);
}

/* Returns a hold of this process that excludes a waiter. Returns NULL if there is none. */
static struct hold *hold_in_the_way(const struct operation *operation) {
    struct hold *hold = kind_of(operation->resource)->has_permits ? NULL : operation->resource->holds;
    while (hold &&
           (hold->stage != HOLD_ALIVE || (is_concurrent(operation) && (hold->lock_kind == operation->lock_kind ||
                                                                       hold->owner == operation->owner)))) {
        hold = hold->next;
    }
    return hold;
}

/* Returns the first waiter at the front that has not requested yet. If waiters may be concurrent, also one that may
 * have missed a message. */
static struct operation *next_turn(const struct wait_queue *queue, int64_t now) {
    struct operation *operation = queue_foremost(queue);
    for (; operation; operation = next_concurrent(queue, operation)) {
        bool missed = is_shared(queue) && operation->phase == PHASE_PARKED && operation->seen != queue->sequence &&
                      queue->yield_until <= now && !PLANTED(FAULT_READERS_WOKEN_ONE_BY_ONE);
        if ((operation->phase == PHASE_QUEUED || missed) && !queue_will_reenter(queue, operation)) {
            return operation;
        }
    }
    return NULL;
}

/* The waiter requests. If this process itself holds the lock, the waiter parks first: the release will hand the lock
 * over. If the server is unusable, the request shows when that is over. */
static void take_turn(struct engine *engine, struct operation *operation, int64_t now) {
    bool parks = operation->phase == PHASE_QUEUED && !operation->unusable_since;
    struct hold *hold = parks ? hold_in_the_way(operation) : NULL;
    if (hold || PLANTED(FAULT_NEXT_WAITER_SLEEPS)) {
        int64_t left_ms = hold && !hold_is_renewed(hold)
                              ? (hold->deadline - now) / MILLISECOND + hold->lease_ms / 100 + 2
                              : REDLATCH_FOREVER;
        operation->seen = operation->resource->queue->sequence;
        acquire_park(engine, operation, left_ms, now);
    } else {
        acquire_recheck(engine, operation, now);
    }
}

/* Called after a waiter left the queue. The waiters behind it go on. */
void queue_advance(struct engine *engine, struct wait_queue *queue, int64_t now) {
    if (list_is_empty(&queue->waiters)) {
        queue_go_idle(engine, queue, now);
    } else {
        machine_of(engine, queue->resource)->advance(engine, queue, now);
    }
}

/* The waiters at the front that have not requested yet request at once, each once at most: the waiter that left may
 * have used up a message that was meant for them. */
void queue_next(struct engine *engine, struct wait_queue *queue, int64_t now) {
    const struct resource *resource = queue->resource;
    for (uint32_t turns = queue->waiter_count; turns > 0 && resource->queue == queue; turns--) {
        struct operation *operation = next_turn(queue, now);
        if (!operation) {
            return;
        }
        take_turn(engine, operation, now);
    }
}

/* Takes a waiter off the queue; those behind it do not go on yet. */
static void take_off(struct engine *engine, struct operation *operation) {
    struct wait_queue *queue = operation->resource->queue;
    bool was_foremost = queue_foremost(queue) == operation;
    list_remove(&operation->link);
    struct operation *next = was_foremost ? queue_foremost(queue) : NULL;
    if (next) { /* what the foremost found holds for the waiter behind it, too */
        next->contended = next->contended || operation->contended;
        waiter_inherit_error(next, operation);
    }
    queue->waiter_count--;
    queue->exclusive_count -= !is_concurrent(operation);
    queue->named_owners -= operation->named_owner;
    engine->stats.waiters--;
    if (operation->has_position) {
        queue->departed[queue->departures++ % DEPARTED_WAITERS] = operation->id;
    }
    operation->phase = PHASE_NEW;
    operation->has_position = false;
    wake_channels_drop(engine, operation);
}

void queue_leave(struct engine *engine, struct operation *operation, int64_t now) {
    struct wait_queue *queue = operation->resource->queue;
    take_off(engine, operation);
    queue_advance(engine, queue, now);
}

/* Takes those other acquires of a hold's owner off the queue that can begin again. */
static void take_off_others(struct engine *engine, struct wait_queue *queue, const struct hold *hold,
                            struct list *others) {
    struct list_link *link = queue->named_owners ? list_first(&queue->waiters) : NULL;
    while (link) {
        struct operation *other = container_of(link, struct operation, link);
        link = list_next(&queue->waiters, link);
        if (other->owner == hold->owner && (other->phase == PHASE_QUEUED || other->phase == PHASE_PARKED)) {
            if (other->has_position) {
                undo_attempt(engine, other);
            }
            take_off(engine, other);
            list_append(others, &other->link);
        }
    }
}

/* Called after a grant. Other acquires of the same owner that wait for the lock would wait for their own hold, so they
 * begin again: those of the same kind re-enter. An owner of the read lock that waits for the write lock gets an error.
 * An owner of the write lock that waits for the read lock goes past the queue. All leave the queue before the first
 * begins again, because some enter it anew. */
void queue_reenter_others(struct engine *engine, struct wait_queue *queue, struct hold *hold, int64_t now) {
    struct list others;
    struct list_link *link;
    list_init(&others);
    take_off_others(engine, queue, hold, &others);
    if (list_is_empty(&others)) {
        return;
    }
    queue_advance(engine, queue, now); /* the wait queue may be gone then */
    while ((link = list_pop(&others)) != NULL) {
        struct operation *other = container_of(link, struct operation, link);
        if (other->lock_kind == hold->lock_kind) {
            hold_acquire(engine, hold, other, now);
        } else {
            machine_for(engine, other)->begin(engine, other, now);
        }
    }
}

/* Returns the waiter of this process that gets the hold next. Returns NULL if the hold is to be released for
 * everybody. */
struct operation *queue_receiver(struct engine *engine, struct hold *hold, int64_t now) {
    struct wait_queue *queue = hold->resource->queue;
    struct operation *foremost = queue ? queue_foremost(queue) : NULL;
    if (kind_of(hold->resource)->has_permits || !foremost || foremost->phase != PHASE_PARKED ||
        foremost->wait_until <= now || queue->handing) {
        return NULL;
    }
    if (is_shared(queue) &&
        (is_concurrent(foremost) || hold->lock_kind != foremost->lock_kind || read_write_is_downgrade(hold))) {
        return NULL;
    }
    bool queues_on_server = kind_of(hold->resource)->queues_on_server;
    if (engine_wants_acknowledgements(engine) &&
        !PLANTED(FAULT_UNACKNOWLEDGED_HAND_OVER)) { /* a release does not wait for replicas: the waiter acquires anew */
        queue->yielding = !queues_on_server;
        return NULL;
    }
    if (queues_on_server) { /* the server decides which waiter is next */
        return foremost->has_position ? foremost : NULL;
    }
    if (hold->hand_overs == 0) {
        hold->hand_overs_since = now;
    }
    bool over = hold->hand_overs >= HAND_OVERS_MAX || now - hold->hand_overs_since >= HAND_OVERS_TIME;
    if (over && !PLANTED(FAULT_HAND_OVER_UNBOUNDED)) {
        queue->yielding = true;
        return NULL;
    }
    return foremost;
}

/* The parked waiters at the front recheck when other processes have had their turn, no later and no sooner. */
static void wait_for_others(struct engine *engine, struct wait_queue *queue) {
    struct operation *operation = queue_foremost(queue);
    for (; operation; operation = next_concurrent(queue, operation)) {
        if (operation->phase == PHASE_PARKED) {
            operation->recheck_at = queue->yield_until;
            arm_operation(engine, operation);
        }
    }
}

/* Yields: no waiter of the queue requests for a moment, in which other processes have their turn. */
static void yield(struct engine *engine, struct wait_queue *queue, int64_t now) {
    if (queue->yield_until <= now) {
        queue->yield_until = now + MILLISECOND + engine_random(engine, 2000);
    }
    wait_for_others(engine, queue);
}

/* Called when a release that handed nothing over is done. `receivers` subscribers got its message, -1 if unknown. If
 * the queue yields and other processes got the message, they go first. So does a set that waits beside the queue: a set
 * is in no queue, and would have no turn as long as there is a waiter. */
void queue_after_release(struct engine *engine, struct resource *resource, int64_t receivers, int64_t now) {
    struct wait_queue *queue = resource->queue;
    if (!queue) {
        return;
    }
    queue->sequence++; /* a request in flight may have been answered before the release */
    struct operation *foremost = queue_foremost(queue);
    bool yielding = queue->yielding;
    queue->yielding = false;
    bool set_goes = (yielding || !foremost) && set_is_waiting(queue);
    if (set_goes) {
        yield(engine, queue, now);
    }
    if (set_goes || receivers < 0) { /* without a message nothing else wakes a set */
        set_recheck_next(engine, queue, now);
    }
    if (set_goes || !foremost || (foremost->phase != PHASE_PARKED && !is_shared(queue))) {
        return;
    }
    if (kind_of(resource)->queues_on_server) { /* the first of the server queue was woken, if it is subscribed */
        if (!foremost->wake_channel || foremost->wake_channel->state != SUBSCRIPTION_ACTIVE) {
            acquire_recheck(engine, foremost, now);
        }
        return;
    }
    int64_t own = queue->subscription.state == SUBSCRIPTION_ACTIVE ? 1 : 0;
    bool unheard = kind_of(resource)->polls; /* other waiters have no subscription, but may wait */
    if (yielding && (receivers < 0 || receivers > own || unheard)) {
        yield(engine, queue, now);
    } else if (!is_shared(queue) || !hold_in_the_way(foremost)) {
        queue_recheck(engine, queue, now);
    }
}

/* The parked waiters at the front recheck: the lock may be free without a message that says so. If they may be
 * concurrent, they do so after other processes have had their turn. */
void queue_recheck(struct engine *engine, struct wait_queue *queue, int64_t now) {
    struct operation *foremost = queue_foremost(queue);
    if (foremost && is_shared(queue)) {
        queue->sequence++;
        if (queue->yield_until > now) {
            wait_for_others(engine, queue);
        }
        queue_advance(engine, queue, now);
    } else if (foremost && foremost->phase == PHASE_PARKED) {
        acquire_recheck(engine, foremost, now);
    }
}

/* A message of a release was received. `1`, of a write lock, is for all concurrent waiters; `0` is for the foremost
 * (wire format 1.6), and when that one is granted, the others follow. */
void queue_notified(struct engine *engine, struct wait_queue *queue, int64_t number, int64_t now) {
    struct operation *foremost = queue_foremost(queue);
    bool parked = foremost && foremost->phase == PHASE_PARKED;
    if (!foremost || (!parked && !is_shared(queue))) {
        return;
    }
    if (queue->yielding || queue->yield_until > now) { /* our own message, before its reply; or others go first */
        yield(engine, queue, now);
    } else if (is_shared(queue) && number != 0) {
        queue_advance(engine, queue, now);
    } else if (parked) {
        acquire_recheck(engine, foremost, now);
    }
}

/* Returns the wire number that lets a reader in past a writer: that of its owner's own write lock. Returns 0 if there
 * is none. */
uint64_t read_write_pass(const struct resource *resource, uint8_t lock_kind, uint64_t owner) {
    const struct hold *held = lock_kind == REDLATCH_READ ? resource_live_hold_of(resource, REDLATCH_WRITE, owner)
                                                         : NULL;
    return held ? held->id : 0;
}

/* Returns whether the owner of a write lock has, is about to have or is giving back the read lock, too. */
bool read_write_is_downgrade(const struct hold *hold) {
    const struct hold *other = hold->resource->holds;
    while (other && (other->owner != hold->owner || other->lock_kind != REDLATCH_READ)) {
        other = other->next;
    }
    return other != NULL;
}
