/* Acquiring: at once, with patience, in slices, and cancelled from elsewhere.
 * SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "errors.h"
#include "lock.h"
#include "options.h"

int acquire_check(int64_t lease_ms, int64_t wait_ms) {
    if (lease_ms != REDLATCH_RENEWED && lease_ms != REDLATCH_LEASE_OF_LOCK &&
        check_duration("lease_ms", lease_ms, 1, false) != REDLATCH_OK) {
        return REDLATCH_INVALID;
    }
    return check_duration("wait_ms", wait_ms, 0, true);
}

void acquire_prepare(struct call *call, const struct redlatch_lock *lock, int64_t lease_ms, int64_t wait_ms,
                     int64_t now) {
    struct operation *operation = &call->operation;
    operation->lease_ms = lease_ms == REDLATCH_LEASE_OF_LOCK ? lock->lease_ms : lease_ms;
    call_wait_for(call, wait_ms, now);
}

/* Of a parent process, which shares its descriptor, and whose client the wait it names belongs to. */
static bool is_inherited(const struct redlatch_cancel *cancel) {
    return cancel->fork_generation != system_fork_generation();
}

int guard_cancel(const struct redlatch_cancel *cancel) {
    if (!cancel || atomic_load(&cancel->magic) != MAGIC_CANCEL) {
        return fail_with(REDLATCH_BAD_HANDLE, "cancel is %s: expected one that redlatch_cancel_new made",
                         cancel ? "freed or of another kind" : "NULL");
    }
    return is_inherited(cancel) ? fail_plain(REDLATCH_FORKED) : REDLATCH_OK;
}

void cancel_renew(struct redlatch_cancel *cancel) {
    if (atomic_exchange(&cancel->word, 0) & CANCEL_FIRED) {
        system_unsignal(cancel->signal);
    }
    cancel->sliced = false;
    atomic_store(&cancel->in_use, 0);
}

/* The answer of a wait that is over. The cancel object is as new afterwards, and somebody else's. With the mutex. */
static int wait_over(const struct redlatch_lock *lock, struct call *call, int64_t wait_ms) {
    struct redlatch_cancel *cancel = call->cancel;
    int status = call->operation.status;
    if (status != REDLATCH_OK) {
        lock_failed(lock, "acquire", status, wait_ms);
    }
    if (cancel) {
        cancel_renew(cancel);
    }
    return status;
}

/* Begins the wait; the mutex is held on OK. */
static int begin(struct redlatch_lock *lock, struct call *call, uint64_t owner, int64_t lease_ms, int64_t wait_ms) {
    struct client *client = lock->client;
    int status = enter_call(client);
    if (status != REDLATCH_OK) {
        return status;
    }
    status = lock_prepare(call, lock, OPERATION_ACQUIRE, owner);
    if (status == REDLATCH_OK && !keeper_start(client)) {
        status = fail_with(REDLATCH_SYSTEM, "no thread to be had from the system: expected one to renew leases");
    }
    if (status != REDLATCH_OK) {
        leave_call(client);
        return status;
    }
    int64_t now = system_now();
    acquire_prepare(call, lock, lease_ms, wait_ms, now);
    drive_start(call, now);
    return REDLATCH_OK;
}

static int acquire_plain(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms) {
    struct call call;
    call_init(&call, lock->client, NULL);
    int status = begin(lock, &call, owner, lease_ms, wait_ms);
    if (status != REDLATCH_OK) {
        return status;
    }
    drive(&call);
    status = wait_over(lock, &call, wait_ms);
    leave_call(lock->client);
    return status;
}

static int go_on(struct redlatch_cancel *cancel, int64_t slice_ms) {
    struct call *call = &cancel->call;
    struct client *client = call->client;
    struct resource *resource = cancel->lock.resource;
    bool was_sliced = cancel->sliced;
    drive_until(call, slice_ms == REDLATCH_FOREVER ? NEVER : system_now() + slice_ms * MILLISECOND);
    int status = REDLATCH_AGAIN;
    bool over = call->operation.phase == PHASE_DONE;
    if (over) {
        status = wait_over(&cancel->lock, call, cancel->wait_ms);
    } else {
        cancel->sliced = true;
        atomic_store(&cancel->in_use, 0);
    }
    if (!over && !was_sliced) {
        client_keep(client);
        resource_keep(resource);
    } else if (over && was_sliced) {
        resource_drop(&client->engine, resource);
    }
    leave_call(client);
    if (over && was_sliced) {
        client_drop(client);
    }
    return status;
}

static int resume(struct redlatch_cancel *cancel, int64_t slice_ms) {
    struct client *client = cancel->call.client;
    client_lock(client); /* also of a client that was closed meanwhile: the wait has ended with CLOSED then */
    client->calls++;
    return go_on(cancel, slice_ms);
}

int redlatch_lock_acquire_as(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                             redlatch_cancel *cancel, int64_t slice_ms) {
    int status = guard_lock(lock);
    if (status != REDLATCH_OK && !(status == REDLATCH_CLOSED && cancel && cancel->sliced)) {
        return status;
    }
    if ((status = acquire_check(lease_ms, wait_ms)) != REDLATCH_OK ||
        (status = check_duration("slice_ms", slice_ms, 0, true)) != REDLATCH_OK) {
        return status;
    }
    if (!cancel) {
        return slice_ms == REDLATCH_FOREVER
                   ? acquire_plain(lock, owner, lease_ms, wait_ms)
                   : fail_with(REDLATCH_INVALID, "slice_ms is %lld without a cancel object: expected -1 (for ever)",
                               (long long)slice_ms);
    }
    if ((status = guard_cancel(cancel)) != REDLATCH_OK) {
        return status;
    }
    if (atomic_exchange(&cancel->in_use, 1)) {
        return fail_plain(REDLATCH_IN_USE);
    }
    if (cancel->sliced) {
        return resume(cancel, slice_ms);
    }
    call_init(&cancel->call, lock->client, cancel);
    cancel->lock = *lock;
    cancel->wait_ms = wait_ms;
    status = begin(lock, &cancel->call, owner, lease_ms, wait_ms);
    if (status != REDLATCH_OK) {
        atomic_store(&cancel->in_use, 0);
        return status;
    }
    return go_on(cancel, slice_ms);
}

int redlatch_lock_acquire(redlatch_lock *lock, int64_t wait_ms) {
    return redlatch_lock_acquire_as(lock, 0, REDLATCH_LEASE_OF_LOCK, wait_ms, NULL, REDLATCH_FOREVER);
}

int redlatch_lock_try_acquire(redlatch_lock *lock) {
    return redlatch_lock_acquire(lock, 0);
}

int redlatch_cancel_new(redlatch_cancel **cancel_out) {
    if (!cancel_out) {
        return fail_with(REDLATCH_INVALID, "cancel_out is NULL: expected where to put the object");
    }
    struct redlatch_cancel *cancel = handle_new_cancel();
    if (!cancel) {
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    cancel->fork_generation = system_fork_generation();
    cancel->signal = system_signal_new();
    if (cancel->signal < 0) {
        handle_free_cancel(cancel);
        return fail_with(REDLATCH_SYSTEM, "no descriptor to be had from the system");
    }
    *cancel_out = cancel;
    return REDLATCH_OK;
}

int redlatch_cancel_fire(redlatch_cancel *cancel) {
    if (!cancel || atomic_load(&cancel->magic) != MAGIC_CANCEL) {
        return REDLATCH_BAD_HANDLE; /* a signal handler may be here: no text */
    }
    if (is_inherited(cancel)) {
        return REDLATCH_FORKED;
    }
    atomic_fetch_or(&cancel->word, CANCEL_FIRED);
    system_wake(&cancel->word);
    system_signal(cancel->signal);
    return REDLATCH_OK;
}

/* Ends a wait that nobody will ask for again. */
static void end_sliced(struct redlatch_cancel *cancel) {
    struct client *client = client_keep(cancel->call.client);
    client_lock(client);
    resource_keep(cancel->lock.resource);
    client_unlock(client);
    redlatch_cancel_fire(cancel);
    atomic_store(&cancel->in_use, 1);
    if (resume(cancel, REDLATCH_FOREVER) == REDLATCH_OK) { /* granted just before: nobody wants it */
        redlatch_lock_release_as(&cancel->lock, cancel->call.operation.owner);
    }
    client_lock(client);
    resource_drop(&client->engine, cancel->lock.resource);
    client_settle(client, system_now());
    client_unlock(client);
    client_drop(client);
}

void redlatch_cancel_free(redlatch_cancel *cancel) {
    int status = cancel ? guard_cancel(cancel) : REDLATCH_BAD_HANDLE;
    if (status == REDLATCH_BAD_HANDLE) {
        return;
    }
    if (cancel->sliced && status == REDLATCH_OK) {
        end_sliced(cancel);
    }
    close(cancel->signal);
    handle_free_cancel(cancel);
}
