/* The operations of multi locks and RedLocks as lock handles.
 * SPDX-License-Identifier: Apache-2.0 */
#include "composite_lock.h"

#include "client_lock.h"
#include "composite.h"
#include "composite_async.h"
#include "composite_blocking.h"
#include "composite_holds.h"
#include "composite_status.h"
#include "errors.h"
#include "guard.h"
#include "outputs.h"
#include "preallocate.h"
#include "single_lock.h"

/* Gives back what a handle that is itself an owner holds of a client's members. */
static void give_back(const struct composite_group *group, uint64_t owner) {
    struct client *client = group->client;
    client_lock(client);
    int64_t now = system_now();
    for (uint32_t i = 0; i < group->set->count && !atomic_load(&client->closed); i++) {
        const struct set_member *member = &group->set->members[i];
        struct hold *hold = resource_hold_of(member->resource, member->lock_kind, owner);
        if (hold) {
            client_preallocate(client, OPERATION_RELEASE); /* without memory the lease runs out */
            engine_give_back(&client->engine, hold, now);
            if (hold->stage == HOLD_GONE) { /* lost, and nobody will release it */
                engine_forget_lost(&client->engine, hold, now);
            }
        }
    }
    client_finish_step(client, now);
    client_unlock(client);
}

static void free_handle(struct redlatch_lock *lock) {
    struct composite *composite = lock->composite;
    struct client *client = lock->client;
    bool ours = client_adopt(client);
    for (uint32_t i = 0; lock->owner && ours && i < composite->group_count; i++) {
        if (client_adopt(composite->groups[i].client)) {
            give_back(&composite->groups[i], lock->owner);
        }
    }
    handle_free_lock(lock);
    composite_drop(composite);
    client_drop(client);
}

static void hold_status(const struct redlatch_lock *lock, uint64_t owner, redlatch_hold *hold_out) {
    owner = lock_owner(lock, owner);
    composite_hold_status(lock->composite, owner, hold_out);
    uint64_t serial = hold_out->state == REDLATCH_NOT_HELD ? 0 : composite_serial(lock->composite, owner);
    hold_out->serial = serial ? serial : hold_out->serial;
}

/* Releases a set: one operation acquires or releases all names of one client. */
static int release_set(const struct redlatch_lock *lock, uint64_t owner) {
    int status = single_lock_release_of(lock, owner, &owner);
    composite_note_released(lock->composite, owner, status);
    return status;
}

static int start_set(const struct redlatch_lock *lock, const struct lock_start *what, uint64_t tag) {
    bool as_set = what->kind == OPERATION_ACQUIRE || what->kind == OPERATION_RELEASE;
    return as_set ? single_lock_start(lock, what, tag) : composite_start(lock, what, tag);
}

static int leave(const struct redlatch_lock *lock, uint64_t owner) {
    (void)lock;
    (void)owner;
    return fail_with(REDLATCH_UNSUPPORTED, "leave the lock: it has several names: expected a lock of one name");
}

static const struct lock_operations of_one_client = {.free = free_handle,
                                                     .acquire = single_lock_acquire,
                                                     .prepare_wait = single_lock_prepare_wait,
                                                     .release = release_set,
                                                     .extend = composite_extend,
                                                     .leave = leave,
                                                     .force_release = composite_force_release,
                                                     .query = composite_query,
                                                     .hold_status = hold_status,
                                                     .start = start_set};

static const struct lock_operations of_several_clients = {.free = free_handle,
                                                          .acquire = composite_acquire,
                                                          .prepare_wait = composite_prepare_wait,
                                                          .release = composite_release,
                                                          .extend = composite_extend,
                                                          .leave = leave,
                                                          .force_release = composite_force_release,
                                                          .query = composite_query,
                                                          .hold_status = hold_status,
                                                          .start = composite_start};

const struct lock_operations *composite_operations(const struct composite *composite, struct name_set **set_out) {
    bool one_client = composite->group_count == 1;
    *set_out = one_client ? composite->groups[0].set : NULL;
    return one_client ? &of_one_client : &of_several_clients;
}
