/* Releases and extends a hold of any process by its owner id. The data of the name tell its kind.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "found.h"

/* Returns the kind of the handle that releases a party of a name. Returns 0 if there is none. */
static int kind_of_party(int detected_kind, int role) {
    switch (detected_kind) {
    case REDLATCH_DETECTED_MUTEX:
    case REDLATCH_DETECTED_FENCED:
        return REDLATCH_MUTEX;
    case REDLATCH_DETECTED_FAIR:
        return REDLATCH_FAIR; /* its release notifies the first waiter of the server queue */
    case REDLATCH_DETECTED_PLAIN:
        return REDLATCH_PLAIN;
    case REDLATCH_DETECTED_READ_WRITE:
        return role == REDLATCH_WRITER ? REDLATCH_WRITE : REDLATCH_READ;
    default:
        return 0;
    }
}

static int change_lock(redlatch_client *client, const struct found *found, int kind, const char *owner,
                       int64_t lease_ms, bool *done_out) {
    redlatch_lock *lock;
    int32_t done = 0;
    int status = redlatch_lock_new(client, kind, found->name, (size_t)found->facts.name_size, NULL, &lock);
    if (status == REDLATCH_OK) {
        status = lease_ms ? redlatch_lock_extend_owner(lock, owner, lease_ms, &done)
                          : redlatch_lock_release_owner(lock, owner, &done);
        redlatch_lock_free(lock);
    }
    *done_out = *done_out || done;
    return status;
}

static int change_permit(redlatch_client *client, const struct found *found, const char *id, int64_t lease_ms,
                         bool *done_out) {
    redlatch_permit_semaphore *permits;
    size_t size = (size_t)found->facts.name_size;
    int status = redlatch_permit_semaphore_new(client, found->name, size, NULL, &permits);
    if (status == REDLATCH_OK) {
        status = lease_ms ? redlatch_permit_semaphore_update_lease(permits, id, lease_ms)
                          : redlatch_permit_semaphore_release(permits, id);
        redlatch_permit_semaphore_free(permits);
    }
    *done_out = status == REDLATCH_OK;
    return status == REDLATCH_NOT_OWNED || status == REDLATCH_LOST ? REDLATCH_OK : status;
}

int owner_change(redlatch_client *client, const struct found *found, const char *owner, int64_t lease_ms,
                 bool *done_out) {
    redlatch_party party;
    int status = REDLATCH_OK;
    *done_out = false;
    for (uint64_t i = 0; status == REDLATCH_OK && found_party(found, i, &party); i++) {
        int kind = kind_of_party(found->facts.detected_kind, party.role);
        bool is_permit = found->facts.detected_kind == REDLATCH_DETECTED_PERMIT_SEMAPHORE;
        if (party.role == REDLATCH_WAITER || strcmp(party.owner, owner) != 0 || (!kind && !is_permit)) {
            continue;
        }
        status = is_permit ? change_permit(client, found, owner, lease_ms, done_out)
                           : change_lock(client, found, kind, owner, lease_ms, done_out);
    }
    return status;
}
