/* Acquiring locks: at once, with patience, in slices.
 * SPDX-License-Identifier: Apache-2.0 */
#include "lock.h"
#include "options.h"
#include "waits.h"

int acquire_check(int64_t lease_ms, int64_t wait_ms) {
    if (lease_ms != REDLATCH_RENEWED && lease_ms != REDLATCH_LEASE_OF_LOCK &&
        check_duration("lease_ms", lease_ms, 1, false) != REDLATCH_OK) {
        return REDLATCH_INVALID;
    }
    return check_duration("wait_ms", wait_ms, 0, true);
}

void acquire_prepare(struct call *call, const struct redlatch_lock *lock, int64_t lease_ms) {
    call->operation.lease_ms = lease_ms == REDLATCH_LEASE_OF_LOCK ? lock->lease_ms : lease_ms;
}

struct acquire_arguments {
    struct redlatch_lock *lock;
    uint64_t owner;
    int64_t lease_ms;
};

static int prepare(struct call *call, const void *given) {
    const struct acquire_arguments *arguments = given;
    acquire_prepare(call, arguments->lock, arguments->lease_ms);
    if (call->cancel) {
        call->cancel->lock = *arguments->lock;
    }
    return lock_prepare(call, arguments->lock, OPERATION_ACQUIRE, arguments->owner);
}

static void give_back(struct redlatch_cancel *cancel) {
    redlatch_lock_release_as(&cancel->lock, cancel->call.operation.owner);
}

static const struct wait_kind acquire = {"acquire", prepare, give_back};

int redlatch_lock_acquire_as(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                             redlatch_cancel *cancel, int64_t slice_ms) {
    int status = guard_lock(lock);
    if (status != REDLATCH_OK && !(status == REDLATCH_CLOSED && cancel && cancel->sliced)) {
        return status;
    }
    if ((status = acquire_check(lease_ms, wait_ms)) != REDLATCH_OK ||
        (status = check_duration("slice_ms", slice_ms, 0, true)) != REDLATCH_OK) {
        return status;
    }
    struct acquire_arguments arguments = {lock, owner, lease_ms};
    struct wait wait = {lock->client, &acquire, &arguments, wait_ms};
    return wait_run(&wait, cancel, slice_ms, NULL);
}

int redlatch_lock_acquire(redlatch_lock *lock, int64_t wait_ms) {
    return redlatch_lock_acquire_as(lock, 0, REDLATCH_LEASE_OF_LOCK, wait_ms, NULL, REDLATCH_FOREVER);
}

int redlatch_lock_try_acquire(redlatch_lock *lock) {
    return redlatch_lock_acquire(lock, 0);
}
