/* The blocking calls on locks, acquires apart: check, enter, drive, leave.
 * SPDX-License-Identifier: Apache-2.0 */
#include "client_lock.h"
#include "composite.h"
#include "composite_blocking.h"
#include "composite_errors.h"
#include "composite_holds.h"
#include "composite_status.h"
#include "drive.h"
#include "explain.h"
#include "failures.h"
#include "lease.h"
#include "lock.h"
#include "options.h"
#include "outputs.h"
#include "owners.h"
#include "preallocate.h"

void redlatch_lock_free(redlatch_lock *lock) {
    if (!lock || guard_lock_handle(lock) != REDLATCH_OK) {
        return;
    }
    struct client *client = lock->client;
    if (lock->composite) {
        composite_free(lock);
        return;
    }
    if (client->fork_generation == system_fork_generation()) {
        client_lock(client);
        int64_t now = system_now();
        struct hold *hold = lock->owner ? resource_hold_of(lock->resource, lock->kind, lock->owner) : NULL;
        if (hold && !atomic_load(&client->closed)) {
            client_preallocate(client, OPERATION_RELEASE); /* without memory the lease runs out */
            engine_give_back(&client->engine, hold, now);
            if (hold->stage == HOLD_GONE) { /* lost, and now nobody is left to be told by release */
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

/* A call that does not wait for others, driven to its end. */
static int simple_request(redlatch_lock *lock, struct request *request, uint8_t kind, uint64_t owner) {
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
        }
        if (status != REDLATCH_OK && request->operation.set) {
            composite_failed_as_set(lock, request, 0);
        } else if (status != REDLATCH_OK) {
            lock_request_failed(lock, request, verb_of(&request->operation), status, 0);
        }
        request->finding = NULL;
    }
    client_leave(client);
    return status;
}

int redlatch_lock_release(redlatch_lock *lock) {
    return redlatch_lock_release_as(lock, 0);
}

int redlatch_lock_release_as(redlatch_lock *lock, uint64_t owner) {
    int status = guard_lock(lock);
    if (status != REDLATCH_OK || (status = check_owner("owner", owner)) != REDLATCH_OK) {
        return status;
    }
    if (lock->composite && !composite_is_one_set(lock->composite)) {
        return composite_release(lock, owner);
    }
    struct request request;
    request_init(&request, lock->client, NULL);
    status = simple_request(lock, &request, OPERATION_RELEASE, owner);
    if (lock->composite) {
        composite_note_released(lock->composite, request.operation.owner, status);
    }
    return status;
}

int redlatch_lock_extend(redlatch_lock *lock, uint64_t owner, int64_t lease_ms) {
    int status = guard_lock(lock);
    if (status != REDLATCH_OK || (status = check_duration("lease_ms", lease_ms, 1, false)) != REDLATCH_OK ||
        (status = check_owner("owner", owner)) != REDLATCH_OK) {
        return status;
    }
    if (lock->composite) {
        return composite_extend(lock, owner, lease_ms);
    }
    struct request request;
    request_init(&request, lock->client, NULL);
    request.operation.lease_ms = lease_ms;
    return simple_request(lock, &request, OPERATION_EXTEND, owner);
}

int redlatch_lock_force_release(redlatch_lock *lock, int32_t *released_out) {
    int status = guard_lock(lock);
    if (status != REDLATCH_OK) {
        return status;
    }
    if (lock->composite) {
        return composite_force_release(lock, released_out);
    }
    struct request request;
    request_init(&request, lock->client, NULL);
    status = simple_request(lock, &request, OPERATION_FORCE, 0);
    if (status == REDLATCH_OK && released_out) {
        *released_out = request.operation.forced;
    }
    return status;
}

int redlatch_lock_query(redlatch_lock *lock, redlatch_lock_state *state_out) {
    int status = guard_lock(lock);
    if (status != REDLATCH_OK || (status = answer_check(state_out, "state_out")) != REDLATCH_OK) {
        return status;
    }
    struct request request;
    request_init(&request, lock->client, NULL);
    status = lock->composite ? composite_query(lock, &request.answer)
                             : simple_request(lock, &request, OPERATION_QUERY, 0);
    if (status != REDLATCH_OK) {
        return status;
    }
    redlatch_lock_state state;
    lock_state_of(&request.answer, &state);
    return answer_write(state_out, &state, sizeof state, "state_out");
}

int redlatch_lock_hold_status(redlatch_lock *lock, uint64_t owner, redlatch_hold *hold_out) {
    int status = guard_lock(lock);
    if (status != REDLATCH_OK || (status = check_owner("owner", owner)) != REDLATCH_OK) {
        return status;
    }
    struct client *client = lock->client;
    redlatch_hold answer = {.state = REDLATCH_NOT_HELD};
    if (lock->composite) {
        uint64_t number = lock_owner(lock, owner);
        composite_hold_status(lock->composite, number, &answer);
        uint64_t serial = answer.state == REDLATCH_NOT_HELD ? 0 : composite_serial(lock->composite, number);
        answer.serial = serial ? serial : answer.serial;
        return answer_write(hold_out, &answer, sizeof answer, "hold_out");
    }
    client_lock(client);
    int64_t now = system_now();
    struct hold *hold = engine_hold_of(&client->engine, lock->resource, lock->kind, lock_owner(lock, owner), now);
    if (hold) {
        answer.state = hold_state_at(hold, now);
        answer.reason = hold->reason;
        answer.count = hold->count;
        answer.remaining_ms = answer.state == REDLATCH_GONE ? 0 : (hold->deadline - now) / MILLISECOND;
        answer.serial = hold->serial;
        answer.token = hold->token;
        owner_text(&client->engine, hold->id, answer.owner);
    }
    client_finish_step(client, now);
    client_unlock(client);
    return answer_write(hold_out, &answer, sizeof answer, "hold_out");
}
