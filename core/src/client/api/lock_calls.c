/* The blocking calls on locks, except acquires. The arguments are checked here; the lock's operations do the rest.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "errors.h"
#include "guard.h"
#include "key_template.h"
#include "lock.h"
#include "lock_operations.h"
#include "options.h"
#include "owners.h"
#include "single_lock.h"

int redlatch_lock_new(redlatch_client *handle, int kind, const char *name, size_t name_size,
                      const redlatch_lock_options *given, redlatch_lock **lock_out) {
    int status = guard_client(handle);
    if (status != REDLATCH_OK) {
        return status;
    }
    if (!lock_out) {
        return fail_with(REDLATCH_INVALID, "lock_out is NULL: expected a pointer to set");
    }
    if (kind == REDLATCH_GROUP) {
        return fail_with(REDLATCH_INVALID, "kind is REDLATCH_GROUP: expected redlatch_group_lock_new for it");
    }
    redlatch_lock_options options;
    if ((status = lock_options_of(kind, given, &options)) != REDLATCH_OK ||
        (status = check_name(handle->client, name, name_size)) != REDLATCH_OK) {
        return status;
    }
    struct key key;
    status = key_of_name(&options, name, name_size, &key);
    if (status == REDLATCH_OK) {
        status = check_name(handle->client, key.bytes, key.size);
    }
    if (status == REDLATCH_OK) {
        struct named named = {key.bytes, key.size, NULL, 0};
        status = single_lock_new(handle->client, kind, &named, &options, lock_out);
    }
    free(key.made);
    return status;
}

void redlatch_lock_free(redlatch_lock *lock) {
    if (lock && guard_lock_handle(lock) == REDLATCH_OK) {
        lock->operations->free(lock);
    }
}

int redlatch_lock_release(redlatch_lock *lock) {
    return redlatch_lock_release_with(lock, 0, REDLATCH_CONFIRM_OF_LOCK);
}

int redlatch_lock_release_as(redlatch_lock *lock, uint64_t owner) {
    return redlatch_lock_release_with(lock, owner, REDLATCH_CONFIRM_OF_LOCK);
}

int redlatch_lock_release_with(redlatch_lock *lock, uint64_t owner, int32_t confirm) {
    bool confirmed;
    int status = guard_lock(lock);
    if (status != REDLATCH_OK || (status = lock_check_confirm(lock, confirm, &confirmed)) != REDLATCH_OK ||
        (status = check_owner("owner", owner)) != REDLATCH_OK ||
        (status = lock_check_inherited(lock, owner, "release")) != REDLATCH_OK) {
        return status;
    }
    return confirmed ? lock->operations->release(lock, owner) : single_lock_release_unconfirmed(lock, owner);
}

int redlatch_lock_extend(redlatch_lock *lock, uint64_t owner, int64_t lease_ms) {
    int status = guard_lock(lock);
    if (status != REDLATCH_OK || (status = check_duration("lease_ms", lease_ms, 1, false)) != REDLATCH_OK ||
        (status = check_owner("owner", owner)) != REDLATCH_OK ||
        (status = lock_check_inherited(lock, owner, "extend")) != REDLATCH_OK) {
        return status;
    }
    return lock->operations->extend(lock, owner, lease_ms);
}

int redlatch_lock_leave(redlatch_lock *lock, uint64_t owner) {
    int status = guard_lock(lock);
    if (status != REDLATCH_OK || (status = check_owner("owner", owner)) != REDLATCH_OK ||
        (status = lock_check_inherited(lock, owner, "leave")) != REDLATCH_OK) {
        return status;
    }
    return lock->operations->leave(lock, owner);
}

int redlatch_lock_force_release(redlatch_lock *lock, int32_t *released_out) {
    int status = guard_lock(lock);
    return status != REDLATCH_OK ? status : lock->operations->force_release(lock, released_out);
}

int redlatch_lock_query(redlatch_lock *lock, redlatch_lock_state *state_out) {
    struct lock_answer answer;
    int status = guard_lock(lock);
    if (status != REDLATCH_OK || (status = answer_check(state_out, "state_out")) != REDLATCH_OK ||
        (status = lock->operations->query(lock, &answer)) != REDLATCH_OK) {
        return status;
    }
    redlatch_lock_state state;
    lock_state_of(&answer, &state);
    return answer_write(state_out, &state, sizeof state, "state_out");
}

int redlatch_lock_hold_status(redlatch_lock *lock, uint64_t owner, redlatch_hold *hold_out) {
    int status = guard_lock(lock);
    if (status != REDLATCH_OK || (status = check_owner("owner", owner)) != REDLATCH_OK ||
        (status = lock_check_inherited(lock, owner, "hold of")) != REDLATCH_OK) {
        return status;
    }
    redlatch_hold hold = {.state = REDLATCH_NOT_HELD};
    lock->operations->hold_status(lock, owner, &hold);
    return answer_write(hold_out, &hold, sizeof hold, "hold_out");
}
