/* Waits that can be cancelled, and resumable waits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "resumable_wait.h"

#include "client_lock.h"
#include "composite.h"
#include "composite_holds.h"
#include "drive.h"
#include "errors.h"
#include "explain.h"
#include "failures.h"
#include "outputs.h"

int guard_cancel(const struct redlatch_cancel *cancel) {
    if (!cancel || atomic_load(&cancel->magic) != MAGIC_CANCEL) {
        return fail_bad_handle(cancel, "cancel", "redlatch_cancel_new");
    }
    return cancel->fork_generation != system_fork_generation() ? fail_plain(REDLATCH_FORKED) : REDLATCH_OK;
}

int cancel_claim(struct redlatch_cancel *cancel) {
    int status = cancel ? guard_cancel(cancel) : REDLATCH_OK;
    if (status == REDLATCH_OK && cancel && atomic_exchange(&cancel->in_use, 1)) {
        return fail_plain(REDLATCH_IN_USE);
    }
    return status;
}

void cancel_finish(struct redlatch_cancel *cancel) {
    if (!cancel) {
        return;
    }
    if ((atomic_exchange(&cancel->futex, 0) & CANCEL_FIRED) && cancel->signal.fd >= 0) {
        system_unsignal(cancel->signal.fd);
    }
    atomic_store(&cancel->in_use, 0);
}

int resumable_result(struct request *request, int64_t wait_ms) {
    const struct operation *operation = &request->operation;
    struct finding finding;
    if (operation->status == REDLATCH_OK) {
        composite_note_granted(request->composite, operation->owner);
        return REDLATCH_OK;
    }
    request->finding = explain(request->client, operation, request->cancel, operation->status, wait_ms, &finding);
    operation_failed(request, wait_ms);
    request->finding = NULL;
    return operation->status;
}

/* Starts or goes on with a wait for one operation of one client. */
static int advance(struct redlatch_wait *wait, int64_t until) {
    struct client *client = wait->target.client;
    if (wait->started) {
        client_lock(client); /* even if the client was closed meanwhile: then the wait has ended with CLOSED */
        client->callers++;
    } else {
        int status = wait->start(wait);
        if (status != REDLATCH_OK) {
            return status;
        }
        wait->started = true;
    }
    drive_until(&wait->request, until);
    bool over = wait->request.operation.phase == PHASE_DONE;
    int status = over ? resumable_result(&wait->request, wait->wait_ms) : REDLATCH_AGAIN;
    client_leave(client);
    return status;
}

struct redlatch_wait *wait_new(const struct target *target, struct redlatch_cancel *cancel, int64_t wait_ms,
                               redlatch_wait *const *wait_out, int *status_out) {
    if (!wait_out) {
        *status_out = fail_with(REDLATCH_INVALID, "wait_out is NULL: expected a pointer to set");
        return NULL;
    }
    if ((*status_out = cancel_claim(cancel)) != REDLATCH_OK) {
        return NULL;
    }
    struct redlatch_wait *wait = handle_new_wait();
    if (!wait) {
        cancel_finish(cancel);
        *status_out = fail_plain(REDLATCH_NO_MEMORY);
        return NULL;
    }
    wait->fork_generation = system_fork_generation();
    wait->status = REDLATCH_AGAIN;
    wait->target = *target;
    wait->wait_ms = wait_ms;
    wait->advance = advance;
    wait->own_cancel.signal = SYSTEM_NO_SIGNAL;
    wait->cancel = cancel ? cancel : &wait->own_cancel;
    request_init(&wait->request, client_keep(target->client), wait->cancel);
    client_lock(target->client);
    resource_keep(target->resource);
    client_unlock(target->client);
    composite_keep(target->composite);
    return wait;
}

void wait_destroy(struct redlatch_wait *wait) {
    const struct target target = wait->target;
    bool inherited = wait->fork_generation != system_fork_generation();
    handle_free_wait(wait);
    if (inherited) {
        return; /* in this process a mutex of the client may be locked for ever */
    }
    client_lock(target.client);
    resource_drop(&target.client->engine, target.resource);
    client_finish_step(target.client, system_now());
    client_unlock(target.client);
    composite_drop(target.composite);
    client_drop(target.client);
}
