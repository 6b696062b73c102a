/* Acquiring: at once, with deadline, and so that it can be cancelled.
 * SPDX-License-Identifier: Apache-2.0 */
#include "acquire.h"

#include "background_thread.h"
#include "client_lock.h"
#include "composite.h"
#include "composite_blocking.h"
#include "drive.h"
#include "errors.h"
#include "lock.h"
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

void acquire_prepare(struct request *request, const struct redlatch_lock *lock, int64_t lease_ms, int64_t wait_ms,
                     int64_t now) {
    struct operation *operation = &request->operation;
    operation->lease_ms = lease_ms == REDLATCH_LEASE_OF_LOCK ? lock->lease_ms : lease_ms;
    request_set_wait(request, wait_ms, now);
}

/* Begins the wait; the mutex is held on OK. */
static int begin(struct redlatch_lock *lock, struct request *request, uint64_t owner, int64_t lease_ms,
                 int64_t wait_ms) {
    struct client *client = lock->client;
    int status = client_enter(client);
    if (status != REDLATCH_OK) {
        return status;
    }
    status = lock_prepare(request, lock, OPERATION_ACQUIRE, owner);
    if (status == REDLATCH_OK && !background_start(client)) {
        status = fail_with(REDLATCH_SYSTEM, "no thread can be started: expected one that renews leases");
    }
    if (status != REDLATCH_OK) {
        client_leave(client);
        return status;
    }
    int64_t now = system_now();
    acquire_prepare(request, lock, lease_ms, wait_ms, now);
    drive_start(request, now);
    return REDLATCH_OK;
}

static int acquire_plain(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms) {
    struct request request;
    request_init(&request, lock->client, NULL);
    int status = begin(lock, &request, owner, lease_ms, wait_ms);
    if (status != REDLATCH_OK) {
        return status;
    }
    drive(&request);
    status = resumable_result(lock, &request, wait_ms);
    client_leave(lock->client);
    return status;
}

int redlatch_lock_acquire_as(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                             redlatch_cancel *cancel, int64_t max_block_ms) {
    int status = guard_lock(lock);
    if (status != REDLATCH_OK && !(status == REDLATCH_CLOSED && cancel && cancel->resumable)) {
        return status;
    }
    if ((status = acquire_check(lease_ms, wait_ms)) != REDLATCH_OK ||
        (status = resumable_check(cancel, max_block_ms)) != REDLATCH_OK ||
        (!(cancel && cancel->resumable) && (status = check_owner("owner", owner)) != REDLATCH_OK)) {
        return status;
    }
    bool several = lock->composite && !composite_is_one_set(lock->composite);
    if (several && lock_owner(lock, owner) == 0) {
        return fail_with(REDLATCH_SYSTEM, "no key for thread-specific data is left: expected one for owners");
    }
    if (!cancel && several) {
        return composite_acquire(lock, owner, lease_ms, wait_ms, NULL, max_block_ms);
    }
    if (!cancel) {
        return acquire_plain(lock, owner, lease_ms, wait_ms);
    }
    if ((status = resumable_claim(cancel, OPERATION_ACQUIRE, lock->client)) != REDLATCH_OK) {
        return status == REDLATCH_AGAIN ? resumable_resume(cancel, max_block_ms) : status;
    }
    if (several) {
        return composite_acquire(lock, owner, lease_ms, wait_ms, cancel, max_block_ms);
    }
    cancel->lock = *lock;
    cancel->wait_ms = wait_ms;
    status = begin(lock, &cancel->request, owner, lease_ms, wait_ms);
    if (status != REDLATCH_OK) {
        resumable_give_back(cancel);
        return status;
    }
    return resumable_continue(cancel, max_block_ms);
}

int redlatch_lock_acquire(redlatch_lock *lock, int64_t wait_ms) {
    return redlatch_lock_acquire_as(lock, 0, REDLATCH_LEASE_OF_LOCK, wait_ms, NULL, REDLATCH_FOREVER);
}

int redlatch_lock_try_acquire(redlatch_lock *lock) {
    return redlatch_lock_acquire(lock, 0);
}
