/* Releasing and extending the hold of an owner of any process, who is named by the id on the server.
 * SPDX-License-Identifier: Apache-2.0 */
#include "errors.h"
#include "options.h"
#include "single_lock.h"

static int check_named(const struct redlatch_lock *lock, const char *owner) {
    int status = guard_lock(lock);
    if (status != REDLATCH_OK) {
        return status;
    }
    if (!owner || !*owner) {
        return fail_with(REDLATCH_INVALID, "owner is %s: expected an owner id as a report has it",
                         owner ? "empty" : "NULL");
    }
    if (lock->composite || lock->set || lock->kind == REDLATCH_GROUP) {
        return fail_with(REDLATCH_UNSUPPORTED, "the lock has several names or values: expected a lock of one name");
    }
    return REDLATCH_OK;
}

int redlatch_lock_release_owner(redlatch_lock *lock, const char *owner, int32_t *released_out) {
    int64_t result;
    int status = check_named(lock, owner);
    if (status != REDLATCH_OK ||
        (status = single_lock_of_owner(lock, OPERATION_RELEASE_OWNER, owner, 0, &result)) != REDLATCH_OK) {
        return status;
    }
    if (result == RESULT_UNKNOWN) {
        return fail_with(REDLATCH_NO_REPLY,
                         "release the hold of %s: the connection broke before the reply, and now there is no such hold",
                         owner);
    }
    if (released_out) {
        *released_out = (int32_t)result;
    }
    return REDLATCH_OK;
}

int redlatch_lock_extend_owner(redlatch_lock *lock, const char *owner, int64_t lease_ms, int32_t *extended_out) {
    int64_t result;
    int status = check_named(lock, owner);
    if (status != REDLATCH_OK || (status = check_duration("lease_ms", lease_ms, 1, false)) != REDLATCH_OK ||
        (status = single_lock_of_owner(lock, OPERATION_EXTEND_OWNER, owner, lease_ms, &result)) != REDLATCH_OK) {
        return status;
    }
    if (extended_out) {
        *extended_out = (int32_t)result;
    }
    return REDLATCH_OK;
}
