/* Blocking waits of every kind: with patience, in slices, and cancelled from elsewhere.
 * SPDX-License-Identifier: Apache-2.0 */
#include "waits.h"

#include <unistd.h>

#include "errors.h"

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
static int wait_over(struct call *call, const char *verb, int64_t wait_ms, uint64_t *id_out) {
    struct redlatch_cancel *cancel = call->cancel;
    const struct resource *resource = call->operation.resource;
    int status = call->operation.status;
    if (status != REDLATCH_OK) {
        call_failed(call->client, verb, resource->name, resource->name_size, status, wait_ms);
    } else if (id_out) {
        *id_out = call->operation.id;
    }
    if (cancel) {
        cancel_renew(cancel);
    }
    return status;
}

/* Begins the wait; the mutex is held on OK. */
static int begin(struct call *call, const struct wait *wait) {
    struct client *client = call->client;
    int status = enter_call(client);
    if (status != REDLATCH_OK) {
        return status;
    }
    status = wait->kind->prepare(call, wait->arguments);
    if (status == REDLATCH_OK && !keeper_start(client)) {
        status = fail_with(REDLATCH_SYSTEM, "no thread to be had from the system: expected one to renew leases");
    }
    if (status != REDLATCH_OK) {
        leave_call(client);
        return status;
    }
    int64_t now = system_now();
    call_wait_for(call, wait->wait_ms, now);
    drive_start(call, now);
    return REDLATCH_OK;
}

static int wait_plain(const struct wait *wait, uint64_t *id_out) {
    struct call call;
    call_init(&call, wait->client, NULL);
    int status = begin(&call, wait);
    if (status != REDLATCH_OK) {
        return status;
    }
    drive(&call);
    status = wait_over(&call, wait->kind->verb, wait->wait_ms, id_out);
    leave_call(wait->client);
    return status;
}

static int go_on(struct redlatch_cancel *cancel, int64_t slice_ms, uint64_t *id_out) {
    struct call *call = &cancel->call;
    struct client *client = call->client;
    struct resource *resource = call->operation.resource;
    bool was_sliced = cancel->sliced;
    drive_until(call, slice_ms == REDLATCH_FOREVER ? NEVER : system_now() + slice_ms * MILLISECOND);
    int status = REDLATCH_AGAIN;
    bool over = call->operation.phase == PHASE_DONE;
    if (over) {
        status = wait_over(call, cancel->wait_kind->verb, cancel->wait_ms, id_out);
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

static int resume(struct redlatch_cancel *cancel, int64_t slice_ms, uint64_t *id_out) {
    struct client *client = cancel->call.client;
    client_lock(client); /* also of a client that was closed meanwhile: the wait has ended with CLOSED then */
    client->calls++;
    return go_on(cancel, slice_ms, id_out);
}

int wait_run(const struct wait *wait, struct redlatch_cancel *cancel, int64_t slice_ms, uint64_t *id_out) {
    int status;
    if (!cancel) {
        return slice_ms == REDLATCH_FOREVER
                   ? wait_plain(wait, id_out)
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
        return resume(cancel, slice_ms, id_out);
    }
    call_init(&cancel->call, wait->client, cancel);
    cancel->wait_kind = wait->kind;
    cancel->wait_ms = wait->wait_ms;
    status = begin(&cancel->call, wait);
    if (status != REDLATCH_OK) {
        atomic_store(&cancel->in_use, 0);
        return status;
    }
    return go_on(cancel, slice_ms, id_out);
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
    struct resource *resource = cancel->call.operation.resource;
    client_lock(client);
    resource_keep(resource);
    client_unlock(client);
    redlatch_cancel_fire(cancel);
    atomic_store(&cancel->in_use, 1);
    if (resume(cancel, REDLATCH_FOREVER, NULL) == REDLATCH_OK) { /* granted just before: nobody wants it */
        cancel->wait_kind->give_back(cancel);
    }
    client_lock(client);
    resource_drop(&client->engine, resource);
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
