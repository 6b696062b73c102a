/* Locks of one name. Locks of several names of one client use the functions that are declared here, too.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SINGLE_LOCK_H
#define SINGLE_LOCK_H

#include "lock.h"
#include "lock_operations.h"

/* The name of a lock, and of a group lock its values, hashed and sorted. */
struct named {
    const char *name;
    size_t size;
    const char *values;
    uint32_t value_count;
};

/* Makes a handle. Returns OK, or UNSUPPORTED or NO_MEMORY with the last error set. */
int single_lock_new(struct client *client, int kind, const struct named *named, const redlatch_lock_options *options,
                    redlatch_lock **lock_out);

/* As in struct lock_operations. */
int single_lock_acquire(const struct redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                        struct redlatch_cancel *cancel);
void single_lock_prepare_wait(struct redlatch_wait *wait);
int single_lock_start(const struct redlatch_lock *lock, const struct lock_start *what, uint64_t tag);

int single_lock_release_unconfirmed(const struct redlatch_lock *lock, uint64_t owner);

/* Makes a confirmed release, and sets the owner that it was for. */
int single_lock_release_of(const struct redlatch_lock *lock, uint64_t owner, uint64_t *owner_out);

/* Releases or extends the hold of an owner of any process, by the owner's id on the server. `kind` is
 * OPERATION_RELEASE_OWNER or OPERATION_EXTEND_OWNER. */
int single_lock_of_owner(const struct redlatch_lock *lock, uint8_t kind, const char *owner_id, int64_t lease_ms,
                         int64_t *result_out);

#endif
