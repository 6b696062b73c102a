/* The members of multi locks and RedLocks: counting, and the end of a handle.
 * SPDX-License-Identifier: Apache-2.0 */
#include "composite.h"

#include <stdlib.h>

#include "client_lock.h"
#include "composite_holds.h"
#include "outputs.h"
#include "preallocate.h"

void composite_dispose(struct composite *composite) {
    for (uint32_t i = 0; i < composite->group_count; i++) {
        free(composite->groups[i].set);
    }
    free(composite);
}

struct composite *composite_keep(struct composite *composite) {
    atomic_fetch_add(&composite->references, 1);
    return composite;
}

void composite_drop(struct composite *composite) {
    if (atomic_fetch_sub(&composite->references, 1) > 1) {
        return;
    }
    if (composite->first->fork_generation == system_fork_generation()) {
        composite_forget_holds(composite);
    }
    for (uint32_t i = 0; i < composite->group_count; i++) {
        struct composite_group *group = &composite->groups[i];
        if (group->client->fork_generation == system_fork_generation()) {
            client_lock(group->client);
            for (uint32_t j = 0; j < group->set->count; j++) {
                resource_drop(&group->client->engine, group->set->members[j].resource);
            }
            client_finish_step(group->client, system_now());
            client_unlock(group->client);
        }
        client_drop(group->client);
    }
    composite_dispose(composite);
}

/* What a handle that is itself the owner held of a client's members. */
static void give_back(const struct composite_group *group, uint64_t owner) {
    struct client *client = group->client;
    client_lock(client);
    int64_t now = system_now();
    bool lost = false;
    for (uint32_t i = 0; i < group->set->count && !atomic_load(&client->closed); i++) {
        const struct set_member *member = &group->set->members[i];
        struct hold *hold = resource_hold_of(member->resource, member->lock_kind, owner);
        if (hold) {
            client_preallocate(client, OPERATION_RELEASE); /* without memory the lease runs out */
            engine_give_back(&client->engine, hold, now);
            lost = lost || hold->stage == HOLD_GONE;
        }
    }
    if (lost) { /* and now nobody is left to be told by release */
        engine_owner_end(&client->engine, owner, now);
    }
    client_finish_step(client, now);
    client_unlock(client);
}

void composite_free(struct redlatch_lock *lock) {
    struct composite *composite = lock->composite;
    struct client *client = lock->client;
    bool ours = client->fork_generation == system_fork_generation();
    for (uint32_t i = 0; lock->owner && ours && i < composite->group_count; i++) {
        give_back(&composite->groups[i], lock->owner);
    }
    handle_free_lock(lock);
    composite_drop(composite);
    client_drop(client);
}
