/* Acquiring: at once, with deadline, so that it can be cancelled, and as a wait that is resumed.
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

/* Starts the operation; the mutex is held on OK. `named`: the owner does not end with the calling thread. */
static int begin(const struct redlatch_lock *lock, struct request *request, uint64_t owner, bool named,
                 int64_t lease_ms, int64_t wait_ms) {
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
    request->operation.named_owner = named;
    acquire_prepare(request, lock, lease_ms, wait_ms, now);
    drive_start(request, now);
    return REDLATCH_OK;
}

static bool is_named(const struct redlatch_lock *lock, uint64_t owner) {
    return owner != 0 || lock->owner != 0;
}

static int acquire_single(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                          struct redlatch_cancel *cancel) {
    struct request request;
    request_init(&request, lock->client, cancel);
    int status = begin(lock, &request, owner, is_named(lock, owner), lease_ms, wait_ms);
    if (status != REDLATCH_OK) {
        return status;
    }
    drive(&request);
    status = resumable_result(lock, &request, wait_ms);
    client_leave(lock->client);
    return status;
}

/* Of several clients, so that one operation will not do. */
static bool is_over_clients(const struct redlatch_lock *lock) {
    return lock->composite && !composite_is_one_set(lock->composite);
}

static int check_arguments(const struct redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms) {
    int status = guard_lock(lock);
    if (status != REDLATCH_OK || (status = acquire_check(lease_ms, wait_ms)) != REDLATCH_OK ||
        (status = check_owner("owner", owner)) != REDLATCH_OK) {
        return status;
    }
    return is_over_clients(lock) && lock_owner(lock, owner) == 0
               ? fail_with(REDLATCH_SYSTEM, "no key for thread-specific data is left: expected one for owners")
               : REDLATCH_OK;
}

int redlatch_lock_acquire_as(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                             redlatch_cancel *cancel) {
    int status = check_arguments(lock, owner, lease_ms, wait_ms);
    if (status != REDLATCH_OK || (status = cancel_claim(cancel)) != REDLATCH_OK) {
        return status;
    }
    status = is_over_clients(lock) ? composite_acquire(lock, owner, lease_ms, wait_ms, cancel)
                                   : acquire_single(lock, owner, lease_ms, wait_ms, cancel);
    cancel_finish(cancel);
    return status;
}

static int start(struct redlatch_wait *wait) {
    return begin(&wait->lock, &wait->request, wait->owner, wait->named_owner, wait->lease_ms, wait->wait_ms);
}

static void give_back(struct redlatch_wait *wait) {
    redlatch_lock_release_as(&wait->lock, wait->owner);
}

int redlatch_lock_begin_acquire(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                                redlatch_cancel *cancel, redlatch_wait **wait_out) {
    int status = check_arguments(lock, owner, lease_ms, wait_ms);
    struct redlatch_wait *wait = status == REDLATCH_OK ? wait_new(lock, cancel, wait_ms, wait_out, &status) : NULL;
    if (!wait) {
        return status;
    }
    wait->owner = lock_owner(lock, owner);
    wait->named_owner = is_named(lock, owner);
    wait->lease_ms = lease_ms;
    wait->start = start;
    wait->give_back = give_back;
    if (is_over_clients(lock)) {
        wait->advance = composite_advance;
    }
    *wait_out = wait;
    return REDLATCH_OK;
}

int redlatch_lock_acquire(redlatch_lock *lock, int64_t wait_ms) {
    return redlatch_lock_acquire_as(lock, 0, REDLATCH_LEASE_OF_LOCK, wait_ms, NULL);
}

int redlatch_lock_try_acquire(redlatch_lock *lock) {
    return redlatch_lock_acquire(lock, 0);
}
