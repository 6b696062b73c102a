/* The two modes of a read-write lock. Their machine is the mutex's (mutex.c, hold.c), and they share one queue
 * (queue.c): the readers at its front request together; a writer requests alone, and waiters that came later wait.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   an owner who holds   and acquires the read lock        and acquires the write lock
 *   nothing              queues                            queues
 *   the read lock        re-enters                         WOULD_DEADLOCK if the server says so, too; else LOST
 *   one that was lost    LOST until it has been released   LOST until it has been released
 *   the write lock       requests at once, past the queue  re-enters
 *   both                 re-enters                         re-enters
 *
 *   a release of         while                             has the effect
 *   the write lock       a writer of this process is next  it is handed over
 *                        its owner also reads              downgraded, and all waiters are notified
 *                        neither                           free, and all waiters are notified
 *   the read lock        other readers hold                no waiter is notified
 *                        its owner also writes             no waiter is notified
 *                        neither                           free, and the waiters are notified
  */
#include "read_write.h"

#include "hold_command.h"
#include "hold_end.h"
#include "mutex.h"
#include "operations.h"
#include "park.h"
#include "planted.h"
#include "pools.h"
#include "queue.h"

/* Moves a reader whose owner holds the write lock to the front, but behind other reads of the same owner, wherever they
 * are: the first of them is granted a hold, and the others raise its hold count. */
static void pass_queue(struct wait_queue *queue, struct operation *operation) {
    list_remove(&operation->link);
    struct list_link *before = queue->waiters.ring.next;
    for (struct list_link *link = before; link != &queue->waiters.ring; link = link->next) {
        const struct operation *other = container_of(link, struct operation, link);
        if (other->owner == operation->owner && other->lock_kind == operation->lock_kind) {
            before = link->next;
        }
    }
    list_insert_before(before, &operation->link);
}

void read_write_begin(struct engine *engine, struct operation *operation, int64_t now) {
    struct hold *same = resource_live_hold_of(operation->resource, operation->lock_kind, operation->owner);
    if (same) { /* a set was granted it while this one was requesting */
        hold_acquire(engine, same, operation, now);
        return;
    }
    uint8_t other = operation->lock_kind == REDLATCH_READ ? REDLATCH_WRITE : REDLATCH_READ;
    struct hold *held = hold_of_owner(engine, operation->resource, other, operation->owner, now);
    bool writes = operation->lock_kind == REDLATCH_WRITE;
    if (!held || (held->stage == HOLD_GONE && !writes) || (writes && PLANTED(FAULT_UPGRADE_WAITS))) {
        acquire_begin(engine, operation, now);
    } else if (writes) {
        hold_acquire(engine, held, operation, now);
    } else {
        struct wait_queue *queue = attach_wait_queue(engine, operation);
        bool waits = queue_will_reenter(queue, operation);
        operation->phase = PHASE_QUEUED;
        queue_enter(engine, operation);
        pass_queue(queue, operation);
        if (waits) {
            arm_operation(engine, operation);
        } else {
            acquire_recheck(engine, operation, now);
        }
    }
}

/* Returns why an owner of the read lock cannot acquire the write lock: WOULD_DEADLOCK, or LOST if its read lock is
 * known to be lost. Returns OK if nothing prevents it. The caller has brought the owner's holds up to date. */
int read_write_upgrade(const struct resource *resource, uint8_t lock_kind, uint64_t owner) {
    if (lock_kind != REDLATCH_WRITE || resource_live_hold_of(resource, REDLATCH_WRITE, owner)) {
        return REDLATCH_OK;
    }
    const struct hold *hold = resource_hold_of(resource, REDLATCH_READ, owner);
    if (hold && hold->stage == HOLD_GONE) {
        return REDLATCH_LOST;
    }
    return hold && hold_count_left(hold) > 0 ? REDLATCH_WOULD_DEADLOCK : REDLATCH_OK;
}
