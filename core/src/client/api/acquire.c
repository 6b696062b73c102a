/* The calls that acquire a lock: blocking, without waiting for others, with a cancel object, and as a resumable wait.
 * SPDX-License-Identifier: Apache-2.0 */
#include "acquire.h"

#include "lock.h"
#include "lock_operations.h"
#include "options.h"
#include "owners.h"
#include "resumable_wait.h"

int acquire_check(int64_t lease_ms, int64_t wait_ms) {
    int status = REDLATCH_OK;
    if (lease_ms != REDLATCH_RENEWED && lease_ms != REDLATCH_LEASE_OF_LOCK) {
        status = check_duration("lease_ms", lease_ms, 1, false);
    }
    return status != REDLATCH_OK ? status : check_duration("wait_ms", wait_ms, 0, true);
}

static int check_arguments(const struct redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms) {
    int status = guard_lock(lock);
    if (status != REDLATCH_OK || (status = acquire_check(lease_ms, wait_ms)) != REDLATCH_OK) {
        return status;
    }
    return check_owner("owner", owner);
}

int redlatch_lock_acquire_as(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                             redlatch_cancel *cancel) {
    int status = check_arguments(lock, owner, lease_ms, wait_ms);
    if (status != REDLATCH_OK || (status = cancel_claim(cancel)) != REDLATCH_OK) {
        return status;
    }
    status = lock->operations->acquire(lock, owner, lease_ms, wait_ms, cancel);
    cancel_finish(cancel);
    return status;
}

static void give_back(struct redlatch_wait *wait) {
    redlatch_lock_release_as(&wait->lock, wait->owner);
}

int redlatch_lock_begin_acquire(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                                redlatch_cancel *cancel, redlatch_wait **wait_out) {
    int status = check_arguments(lock, owner, lease_ms, wait_ms);
    if (status != REDLATCH_OK || (status = lock_check_owner(lock, owner)) != REDLATCH_OK) {
        return status;
    }
    const struct target target = {lock->client, lock->resource, lock->composite};
    struct redlatch_wait *wait = wait_new(&target, cancel, wait_ms, wait_out, &status);
    if (!wait) {
        return status;
    }
    wait->lock = *lock;
    wait->owner = lock_owner(lock, owner);
    wait->named_owner = lock_owner_is_named(lock, owner);
    wait->lease_ms = lease_ms;
    wait->give_back = give_back;
    lock->operations->prepare_wait(wait);
    *wait_out = wait;
    return REDLATCH_OK;
}

int redlatch_lock_acquire(redlatch_lock *lock, int64_t wait_ms) {
    return redlatch_lock_acquire_as(lock, 0, REDLATCH_LEASE_OF_LOCK, wait_ms, NULL);
}

int redlatch_lock_try_acquire(redlatch_lock *lock) {
    return redlatch_lock_acquire(lock, 0);
}
