/* Cancel objects, and the end of a wait that one names and nobody asks for any more.
 * SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "client_lock.h"
#include "composite.h"
#include "composite_op.h"
#include "errors.h"
#include "outputs.h"
#include "resumable_wait.h"

int redlatch_cancel_new(redlatch_cancel **cancel_out) {
    if (!cancel_out) {
        return fail_with(REDLATCH_INVALID, "cancel_out is NULL: expected a pointer to set");
    }
    struct redlatch_cancel *cancel = handle_new_cancel();
    if (!cancel) {
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    cancel->fork_generation = system_fork_generation();
    cancel->signal = system_signal_new();
    if (cancel->signal < 0) {
        handle_free_cancel(cancel);
        return fail_with(REDLATCH_SYSTEM, "no descriptor can be opened: expected one for the cancel object");
    }
    *cancel_out = cancel;
    return REDLATCH_OK;
}

int redlatch_cancel_fire(redlatch_cancel *cancel) {
    if (!cancel || atomic_load(&cancel->magic) != MAGIC_CANCEL) {
        return REDLATCH_BAD_HANDLE; /* a signal handler may be here: no text */
    }
    if (cancel_is_inherited(cancel)) {
        return REDLATCH_FORKED;
    }
    atomic_fetch_or(&cancel->futex, CANCEL_FIRED);
    system_wake(&cancel->futex);
    system_signal(cancel->signal);
    return REDLATCH_OK;
}

/* Ends a wait that nobody will ask for again. */
static void end_resumable(struct redlatch_cancel *cancel) {
    struct client *client = client_keep(cancel->request.client);
    struct composite *composite = cancel->lock.composite ? composite_keep(cancel->lock.composite) : NULL;
    uint64_t owner = cancel->op ? cancel->op->owner : cancel->request.operation.owner;
    bool holds = cancel->request.operation.kind == OPERATION_ACQUIRE;
    client_lock(client);
    resource_keep(cancel->lock.resource);
    client_unlock(client);
    redlatch_cancel_fire(cancel);
    atomic_store(&cancel->in_use, 1);
    cancel->id_out = NULL;
    if (resumable_resume(cancel, REDLATCH_FOREVER) == REDLATCH_OK && holds) { /* granted just before: nobody wants it */
        if (cancel->give_back) {
            cancel->give_back(cancel);
        } else {
            redlatch_lock_release_as(&cancel->lock, owner);
        }
    }
    client_lock(client);
    resource_drop(&client->engine, cancel->lock.resource);
    client_finish_step(client, system_now());
    client_unlock(client);
    if (composite) {
        composite_drop(composite);
    }
    client_drop(client);
}

void redlatch_cancel_free(redlatch_cancel *cancel) {
    int status = cancel ? guard_cancel(cancel) : REDLATCH_BAD_HANDLE;
    if (status == REDLATCH_BAD_HANDLE) {
        return;
    }
    if (cancel->resumable && status == REDLATCH_OK) {
        end_resumable(cancel);
    }
    close(cancel->signal);
    handle_free_cancel(cancel);
}
