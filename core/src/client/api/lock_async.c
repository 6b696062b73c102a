/* Starting calls on locks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "acquire.h"
#include "composite.h"
#include "composite_async.h"
#include "errors.h"
#include "lock.h"
#include "options.h"
#include "owners.h"
#include "started.h"

/* What is started, of a lock of whatever kind. */
struct start {
    uint8_t kind; /* enum operation_kind */
    int32_t event;
    uint64_t owner; /* 0: the lock's own */
    int64_t lease_ms;
    int64_t wait_ms;
};

/* Members that one operation does not serve all at once. */
static bool wants_op(const struct redlatch_lock *lock, uint8_t kind) {
    bool by_member = kind != OPERATION_ACQUIRE && kind != OPERATION_RELEASE;
    return lock->composite && (by_member || !composite_is_one_set(lock->composite));
}

static int start(redlatch_lock *lock, const struct start *what, uint64_t tag) {
    if (wants_op(lock, what->kind)) {
        return composite_start(lock, what->kind, what->owner, what->lease_ms, what->wait_ms, tag, what->event);
    }
    struct client *client = lock->client;
    int status;
    struct request *request = request_start_entered(client, what->event, tag, &status);
    if (!request) {
        return status;
    }
    int64_t now = system_now();
    status = lock_prepare(request, lock, what->kind, what->owner);
    if (what->kind == OPERATION_ACQUIRE) {
        acquire_prepare(request, lock, what->lease_ms, what->wait_ms, now);
    } else {
        request->operation.lease_ms = what->lease_ms;
        request->operation.wait_until = now + client->command_timeout;
    }
    if (what->kind == OPERATION_QUERY || what->kind == OPERATION_FORCE) {
        request->operation.owner = 0; /* for nobody in particular */
    }
    request->composite = lock->composite ? composite_keep(lock->composite) : NULL;
    status = request_start_prepared(request, status, now);
    if (status != REDLATCH_OK && lock->composite) {
        composite_drop(lock->composite);
    }
    return status;
}

/* The thread that starts a call need not be there when it is done. */
static int check_named(const struct redlatch_lock *lock, uint64_t owner) {
    return owner != 0 || lock->owner != 0
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
    struct start what = {.kind = OPERATION_ACQUIRE,
                         .event = REDLATCH_EVENT_ACQUIRED,
                         .owner = owner,
                         .lease_ms = lease_ms,
                         .wait_ms = wait_ms};
    return start(lock, &what, tag);
}

int redlatch_lock_start_release(redlatch_lock *lock, uint64_t owner, uint64_t tag) {
    int status = guard_lock(lock);
    if (status != REDLATCH_OK || (status = check_named(lock, owner)) != REDLATCH_OK) {
        return status;
    }
    struct start what = {.kind = OPERATION_RELEASE, .event = REDLATCH_EVENT_RELEASED, .owner = owner};
    return start(lock, &what, tag);
}

int redlatch_lock_start_extend(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, uint64_t tag) {
    int status = guard_lock(lock);
    if (status != REDLATCH_OK || (status = check_duration("lease_ms", lease_ms, 1, false)) != REDLATCH_OK ||
        (status = check_named(lock, owner)) != REDLATCH_OK) {
        return status;
    }
    struct start what = {
        .kind = OPERATION_EXTEND, .event = REDLATCH_EVENT_EXTENDED, .owner = owner, .lease_ms = lease_ms};
    return start(lock, &what, tag);
}

int redlatch_lock_start_query(redlatch_lock *lock, uint64_t tag) {
    int status = guard_lock(lock);
    struct start what = {.kind = OPERATION_QUERY, .event = REDLATCH_EVENT_ANSWERED};
    return status != REDLATCH_OK ? status : start(lock, &what, tag);
}

int redlatch_lock_start_force_release(redlatch_lock *lock, uint64_t tag) {
    int status = guard_lock(lock);
    struct start what = {.kind = OPERATION_FORCE, .event = REDLATCH_EVENT_ANSWERED};
    return status != REDLATCH_OK ? status : start(lock, &what, tag);
}
