/* The operations of a lock, as a table. There are tables for one name (single_lock.c), and for several names of one
 * client and names of several clients (composite_lock.c). Their callers have checked the handle and the arguments, and
 * have claimed the cancel object.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCK_OPERATIONS_H
#define LOCK_OPERATIONS_H

#include "handles.h"

/* A call to be started. */
struct lock_start {
    uint8_t kind;   /* enum operation_kind */
    int32_t event;  /* when it completes: enum redlatch_event_kind */
    uint64_t owner; /* 0: the lock's own */
    int64_t lease_ms;
    int64_t wait_ms;
    bool unconfirmed; /* of a release; only if the lock has one name */
};

struct lock_operations {
    void (*free)(struct redlatch_lock *lock);
    int (*acquire)(const struct redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                   struct redlatch_cancel *cancel);
    void (*prepare_wait)(struct redlatch_wait *wait); /* sets how a resumable acquire starts, or goes on */
    int (*release)(const struct redlatch_lock *lock, uint64_t owner);
    int (*extend)(const struct redlatch_lock *lock, uint64_t owner, int64_t lease_ms);
    int (*leave)(const struct redlatch_lock *lock, uint64_t owner);
    int (*force_release)(const struct redlatch_lock *lock, int32_t *released_out); /* may be NULL */
    int (*query)(const struct redlatch_lock *lock, struct lock_answer *answer_out);
    /* *hold_out is NOT_HELD before, and stays so if the owner holds nothing. */
    void (*hold_status)(const struct redlatch_lock *lock, uint64_t owner, redlatch_hold *hold_out);
    int (*start)(const struct redlatch_lock *lock, const struct lock_start *what, uint64_t tag);
};

#endif
