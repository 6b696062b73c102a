/* Starting calls on locks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "acquire.h"
#include "errors.h"
#include "lock.h"
#include "lock_operations.h"
#include "options.h"
#include "owners.h"

/* The owner of a started call must not be the calling thread, which may have ended when the call is done. */
static int check_named(const struct redlatch_lock *lock, uint64_t owner) {
    return lock_owner_is_named(lock, owner)
               ? check_owner("owner", owner)
               : fail_with(REDLATCH_INVALID, "owner is 0: expected an explicit owner for a started call on a lock that"
                                             " threads own");
}

int redlatch_lock_start_acquire(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms, uint64_t tag) {
    int status = guard_lock(lock);
    if (status != REDLATCH_OK || (status = acquire_check(lease_ms, wait_ms)) != REDLATCH_OK ||
        (status = check_named(lock, owner)) != REDLATCH_OK) {
        return status;
    }
    struct lock_start what = {.kind = OPERATION_ACQUIRE,
                              .event = REDLATCH_EVENT_ACQUIRED,
                              .owner = owner,
                              .lease_ms = lease_ms,
                              .wait_ms = wait_ms};
    return lock->operations->start(lock, &what, tag);
}

int redlatch_lock_start_release(redlatch_lock *lock, uint64_t owner, uint64_t tag) {
    return redlatch_lock_start_release_with(lock, owner, REDLATCH_CONFIRM_OF_LOCK, tag);
}

int redlatch_lock_start_release_with(redlatch_lock *lock, uint64_t owner, int32_t confirm, uint64_t tag) {
    bool confirmed;
    int status = guard_lock(lock);
    if (status != REDLATCH_OK || (status = lock_check_confirm(lock, confirm, &confirmed)) != REDLATCH_OK ||
        (status = check_named(lock, owner)) != REDLATCH_OK ||
        (status = lock_check_inherited(lock, owner, "release")) != REDLATCH_OK) {
        return status;
    }
    struct lock_start what = {
        .kind = OPERATION_RELEASE, .event = REDLATCH_EVENT_RELEASED, .owner = owner, .unconfirmed = !confirmed};
    return lock->operations->start(lock, &what, tag);
}

int redlatch_lock_start_extend(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, uint64_t tag) {
    int status = guard_lock(lock);
    if (status != REDLATCH_OK || (status = check_duration("lease_ms", lease_ms, 1, false)) != REDLATCH_OK ||
        (status = check_named(lock, owner)) != REDLATCH_OK ||
        (status = lock_check_inherited(lock, owner, "extend")) != REDLATCH_OK) {
        return status;
    }
    struct lock_start what = {
        .kind = OPERATION_EXTEND, .event = REDLATCH_EVENT_EXTENDED, .owner = owner, .lease_ms = lease_ms};
    return lock->operations->start(lock, &what, tag);
}

int redlatch_lock_start_query(redlatch_lock *lock, uint64_t tag) {
    int status = guard_lock(lock);
    struct lock_start what = {.kind = OPERATION_QUERY, .event = REDLATCH_EVENT_ANSWERED};
    return status != REDLATCH_OK ? status : lock->operations->start(lock, &what, tag);
}

int redlatch_lock_start_force_release(redlatch_lock *lock, uint64_t tag) {
    int status = guard_lock(lock);
    struct lock_start what = {.kind = OPERATION_FORCE, .event = REDLATCH_EVENT_ANSWERED};
    return status != REDLATCH_OK ? status : lock->operations->start(lock, &what, tag);
}
