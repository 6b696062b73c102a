/* Locks of one name: their operations, blocking, resumable and started.
 * SPDX-License-Identifier: Apache-2.0 */
#include "single_lock.h"

#include "background_thread.h"
#include "client_lock.h"
#include "composite.h"
#include "drive.h"
#include "errors.h"
#include "explain.h"
#include "failures.h"
#include "guard.h"
#include "lease.h"
#include "outputs.h"
#include "preallocate.h"
#include "resumable_wait.h"
#include "started.h"

/* ------------------------------------------------------------------------------------------------------ acquires -- */

/* Sets lease and deadline of an acquire. With the mutex, after lock_prepare. */
static void prepare_acquire(struct request *request, const struct redlatch_lock *lock, int64_t lease_ms,
                            int64_t wait_ms, int64_t now) {
    request->operation.lease_ms = lease_ms == REDLATCH_LEASE_OF_LOCK ? lock->lease_ms : lease_ms;
    request_set_wait(request, wait_ms, now);
}

/* Starts an acquire. If it returns OK, the mutex is held. `named`: the owner does not end with the calling thread. */
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
    prepare_acquire(request, lock, lease_ms, wait_ms, now);
    drive_start(request, now);
    return REDLATCH_OK;
}

int single_lock_acquire(const struct redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                        struct redlatch_cancel *cancel) {
    struct request request;
    request_init(&request, lock->client, cancel);
    int status = begin(lock, &request, owner, lock_owner_is_named(lock, owner), lease_ms, wait_ms);
    if (status != REDLATCH_OK) {
        return status;
    }
    drive(&request);
    status = resumable_result(&request, wait_ms);
    client_leave(lock->client);
    return status;
}

static int start_wait(struct redlatch_wait *wait) {
    return begin(&wait->lock, &wait->request, wait->owner, wait->named_owner, wait->lease_ms, wait->wait_ms);
}

void single_lock_prepare_wait(struct redlatch_wait *wait) {
    wait->start = start_wait;
}

/* --------------------------------------------------------------------------------- calls that wait for no owner -- */

/* Carries out an operation that does not wait for others, and waits for its end. */
static int simple_request(const struct redlatch_lock *lock, struct request *request, uint8_t kind, uint64_t owner) {
    struct client *client = lock->client;
    int status = client_enter(client);
    if (status != REDLATCH_OK) {
        return status;
    }
    status = lock_prepare(request, lock, kind, owner);
    if (status == REDLATCH_OK) {
        int64_t now = system_now();
        request->operation.wait_until = now + client->command_timeout;
        drive_start(request, now);
        status = drive(request);
        struct finding finding;
        if (status != REDLATCH_OK) {
            request->finding = explain(client, &request->operation, request->cancel, status, 0, &finding);
            operation_failed(request, 0);
        }
        request->finding = NULL;
    }
    client_leave(client);
    return status;
}

int single_lock_release_of(const struct redlatch_lock *lock, uint64_t owner, uint64_t *owner_out) {
    struct request request;
    request_init(&request, lock->client, NULL);
    int status = simple_request(lock, &request, OPERATION_RELEASE, owner);
    *owner_out = request.operation.owner;
    return status;
}

int single_lock_release_unconfirmed(const struct redlatch_lock *lock, uint64_t owner) {
    struct request request;
    request_init(&request, lock->client, NULL);
    request.operation.unconfirmed = true;
    return simple_request(lock, &request, OPERATION_RELEASE, owner);
}

static int release(const struct redlatch_lock *lock, uint64_t owner) {
    return single_lock_release_of(lock, owner, &owner);
}

static int extend(const struct redlatch_lock *lock, uint64_t owner, int64_t lease_ms) {
    struct request request;
    request_init(&request, lock->client, NULL);
    request.operation.lease_ms = lease_ms;
    return simple_request(lock, &request, OPERATION_EXTEND, owner);
}

static int leave(const struct redlatch_lock *lock, uint64_t owner) {
    struct client *client = lock->client;
    client_lock(client);
    int64_t now = system_now();
    struct hold *hold = engine_hold_of(&client->engine, lock->resource, lock->kind, lock_owner(lock, owner), now);
    bool held = hold && hold->stage == HOLD_ALIVE;
    int reason = hold && hold->stage == HOLD_GONE ? hold->reason : REDLATCH_REASON_NONE;
    if (held) {
        engine_leave(&client->engine, hold, now);
    }
    client_finish_step(client, now);
    client_unlock(client);
    if (reason != REDLATCH_REASON_NONE) {
        return fail_for(fail_with(REDLATCH_LOST, "leave the lock: it was lost: %s", reason_text(reason)), reason);
    }
    return held ? REDLATCH_OK : fail_with(REDLATCH_NOT_OWNED, "leave the lock: this owner does not hold it");
}

static int force_release(const struct redlatch_lock *lock, int32_t *released_out) {
    struct request request;
    request_init(&request, lock->client, NULL);
    int status = simple_request(lock, &request, OPERATION_FORCE, 0);
    if (status == REDLATCH_OK && released_out) {
        *released_out = request.operation.forced;
    }
    return status;
}

int single_lock_of_owner(const struct redlatch_lock *lock, uint8_t kind, const char *owner_id, int64_t lease_ms,
                         int64_t *result_out) {
    struct request request;
    request_init(&request, lock->client, NULL);
    request.operation.owner_id = owner_id;
    request.operation.lease_ms = lease_ms;
    int status = simple_request(lock, &request, kind, 0);
    *result_out = request.operation.result;
    return status;
}

static int query(const struct redlatch_lock *lock, struct lock_answer *answer_out) {
    struct request request;
    request_init(&request, lock->client, NULL);
    int status = simple_request(lock, &request, OPERATION_QUERY, 0);
    *answer_out = request.answer;
    return status;
}

static void hold_status(const struct redlatch_lock *lock, uint64_t owner, redlatch_hold *hold_out) {
    struct client *client = lock->client;
    client_lock(client);
    int64_t now = system_now();
    struct hold *hold = engine_hold_of(&client->engine, lock->resource, lock->kind, lock_owner(lock, owner), now);
    if (hold) {
        hold_out->state = hold_state_at(hold, now);
        hold_out->reason = hold->reason;
        hold_out->count = hold->count;
        hold_out->remaining_ms = hold_out->state == REDLATCH_GONE ? 0 : (hold->deadline - now) / MILLISECOND;
        hold_out->serial = hold->serial;
        hold_out->token = hold->token;
        owner_text(&client->engine, hold->id, hold_out->owner);
    }
    client_finish_step(client, now);
    client_unlock(client);
}

/* ------------------------------------------------------------------------------------------------- started calls -- */

int single_lock_start(const struct redlatch_lock *lock, const struct lock_start *what, uint64_t tag) {
    struct client *client = lock->client;
    int status;
    struct request *request = request_start_entered(client, what->event, tag, &status);
    if (!request) {
        return status;
    }
    int64_t now = system_now();
    status = lock_prepare(request, lock, what->kind, what->owner);
    request->operation.unconfirmed = what->unconfirmed;
    if (what->kind == OPERATION_ACQUIRE) {
        prepare_acquire(request, lock, what->lease_ms, what->wait_ms, now);
    } else {
        request->operation.lease_ms = what->lease_ms;
        request->operation.wait_until = now + client->command_timeout;
    }
    if (what->kind == OPERATION_QUERY || what->kind == OPERATION_FORCE) {
        request->operation.owner = 0; /* these have no owner */
    }
    composite_keep(lock->composite);
    status = request_start_prepared(request, status, now);
    if (status != REDLATCH_OK) {
        composite_drop(lock->composite);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------------- handles -- */

static void free_handle(struct redlatch_lock *lock) {
    struct client *client = lock->client;
    if (client_adopt(client)) {
        client_lock(client);
        int64_t now = system_now();
        struct hold *hold = lock->owner ? resource_hold_of(lock->resource, lock->kind, lock->owner) : NULL;
        if (hold && !atomic_load(&client->closed)) {
            client_preallocate(client, OPERATION_RELEASE); /* without memory nothing is sent: the lease runs out */
            engine_give_back(&client->engine, hold, now);
            if (hold->stage == HOLD_GONE) { /* lost, and nobody will release it */
                engine_forget_lost(&client->engine, hold, now);
            }
        }
        resource_drop(&client->engine, lock->resource);
        client_finish_step(client, now);
        client_unlock(client);
    }
    handle_free_lock(lock);
    client_drop(client);
}

static const struct lock_operations operations = {.free = free_handle,
                                                  .acquire = single_lock_acquire,
                                                  .prepare_wait = single_lock_prepare_wait,
                                                  .release = release,
                                                  .extend = extend,
                                                  .leave = leave,
                                                  .force_release = force_release,
                                                  .query = query,
                                                  .hold_status = hold_status,
                                                  .start = single_lock_start};

int single_lock_new(struct client *client, int kind, const struct named *named, const redlatch_lock_options *options,
                    redlatch_lock **lock_out) {
    int status = options->confirm_release ? REDLATCH_OK : lock_check_unconfirmed(client, NULL);
    if (status != REDLATCH_OK) {
        return status;
    }
    struct redlatch_lock *lock = handle_new_lock();
    client_lock(client);
    struct resource *resource = lock ? client_group_resource(client, (uint8_t)kind, named->name, named->size,
                                                             named->values, named->value_count)
                                     : NULL;
    client_unlock(client);
    if (!resource) {
        if (lock) {
            handle_free_lock(lock);
        }
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    lock_set_up(lock, client, resource, kind, options);
    lock->operations = &operations;
    *lock_out = lock;
    return REDLATCH_OK;
}
