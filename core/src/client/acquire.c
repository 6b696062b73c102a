/* Acquiring: at once, with patience, and so that it can be cancelled.
 * SPDX-License-Identifier: Apache-2.0 */
#include "errors.h"
#include "joint_calls.h"
#include "options.h"
#include "owners.h"
#include "slices.h"

int acquire_check(int64_t lease_ms, int64_t wait_ms) {
    if (lease_ms != REDLATCH_RENEWED && lease_ms != REDLATCH_LEASE_OF_LOCK &&
        check_duration("lease_ms", lease_ms, 1, false) != REDLATCH_OK) {
        return REDLATCH_INVALID;
    }
    return check_duration("wait_ms", wait_ms, 0, true);
}

void acquire_prepare(struct call *call, const struct redlatch_lock *lock, int64_t lease_ms, int64_t wait_ms,
                     int64_t now) {
    struct operation *operation = &call->operation;
    operation->lease_ms = lease_ms == REDLATCH_LEASE_OF_LOCK ? lock->lease_ms : lease_ms;
    call_wait_for(call, wait_ms, now);
}

/* Begins the wait; the mutex is held on OK. */
static int begin(struct redlatch_lock *lock, struct call *call, uint64_t owner, int64_t lease_ms, int64_t wait_ms) {
    struct client *client = lock->client;
    int status = enter_call(client);
    if (status != REDLATCH_OK) {
        return status;
    }
    status = lock_prepare(call, lock, OPERATION_ACQUIRE, owner);
    if (status == REDLATCH_OK && !keeper_start(client)) {
        status = fail_with(REDLATCH_SYSTEM, "no thread to be had from the system: expected one to renew leases");
    }
    if (status != REDLATCH_OK) {
        leave_call(client);
        return status;
    }
    int64_t now = system_now();
    acquire_prepare(call, lock, lease_ms, wait_ms, now);
    drive_start(call, now);
    return REDLATCH_OK;
}

static int acquire_plain(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms) {
    struct call call;
    call_init(&call, lock->client, NULL);
    int status = begin(lock, &call, owner, lease_ms, wait_ms);
    if (status != REDLATCH_OK) {
        return status;
    }
    drive(&call);
    status = slices_answer(lock, &call, wait_ms);
    leave_call(lock->client);
    return status;
}

int redlatch_lock_acquire_as(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                             redlatch_cancel *cancel, int64_t slice_ms) {
    int status = guard_lock(lock);
    if (status != REDLATCH_OK && !(status == REDLATCH_CLOSED && cancel && cancel->sliced)) {
        return status;
    }
    if ((status = acquire_check(lease_ms, wait_ms)) != REDLATCH_OK ||
        (status = slices_check(cancel, slice_ms)) != REDLATCH_OK ||
        (!(cancel && cancel->sliced) && (status = check_owner("owner", owner)) != REDLATCH_OK)) {
        return status;
    }
    bool several = lock->joint && !joint_is_one_set(lock->joint);
    if (several && lock_owner(lock, owner) == 0) {
        return fail_with(REDLATCH_SYSTEM, "no thread key to be had from the system");
    }
    if (!cancel && several) {
        return joint_acquire(lock, owner, lease_ms, wait_ms, NULL, slice_ms);
    }
    if (!cancel) {
        return acquire_plain(lock, owner, lease_ms, wait_ms);
    }
    if ((status = slices_claim(cancel, OPERATION_ACQUIRE, lock->client)) != REDLATCH_OK) {
        return status == REDLATCH_AGAIN ? slices_resume(cancel, slice_ms) : status;
    }
    if (several) {
        return joint_acquire(lock, owner, lease_ms, wait_ms, cancel, slice_ms);
    }
    cancel->lock = *lock;
    cancel->wait_ms = wait_ms;
    status = begin(lock, &cancel->call, owner, lease_ms, wait_ms);
    if (status != REDLATCH_OK) {
        slices_give_back(cancel);
        return status;
    }
    return slices_go_on(cancel, slice_ms);
}

int redlatch_lock_acquire(redlatch_lock *lock, int64_t wait_ms) {
    return redlatch_lock_acquire_as(lock, 0, REDLATCH_LEASE_OF_LOCK, wait_ms, NULL, REDLATCH_FOREVER);
}

int redlatch_lock_try_acquire(redlatch_lock *lock) {
    return redlatch_lock_acquire(lock, 0);
}
