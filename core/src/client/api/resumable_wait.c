/* Waits that cancel objects name: driven in slices, and resumed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "resumable_wait.h"

#include <unistd.h>

#include "client_lock.h"
#include "composite.h"
#include "composite_errors.h"
#include "composite_holds.h"
#include "drive.h"
#include "errors.h"
#include "explain.h"
#include "failures.h"
#include "options.h"
#include "outputs.h"

bool cancel_is_inherited(const struct redlatch_cancel *cancel) {
    return cancel->fork_generation != system_fork_generation();
}

int guard_cancel(const struct redlatch_cancel *cancel) {
    if (!cancel || atomic_load(&cancel->magic) != MAGIC_CANCEL) {
        return fail_with(REDLATCH_BAD_HANDLE, "cancel is %s: expected one that redlatch_cancel_new made",
                         cancel ? "freed or of another type" : "NULL");
    }
    return cancel_is_inherited(cancel) ? fail_plain(REDLATCH_FORKED) : REDLATCH_OK;
}

int resumable_check(const struct redlatch_cancel *cancel, int64_t max_block_ms) {
    int status = check_duration("max_block_ms", max_block_ms, 0, true);
    if (status != REDLATCH_OK) {
        return status;
    }
    if (!cancel && max_block_ms != REDLATCH_FOREVER) {
        return fail_with(REDLATCH_INVALID, "max_block_ms is %lld without a cancel object: expected -1 (for ever)",
                         (long long)max_block_ms);
    }
    return cancel ? guard_cancel(cancel) : REDLATCH_OK;
}

int resumable_claim(struct redlatch_cancel *cancel, uint8_t kind, struct client *client) {
    if (atomic_exchange(&cancel->in_use, 1)) {
        return fail_plain(REDLATCH_IN_USE);
    }
    if (cancel->resumable && cancel->request.operation.kind != kind) {
        resumable_give_back(cancel);
        return fail_plain(REDLATCH_IN_USE);
    }
    if (cancel->resumable) {
        return REDLATCH_AGAIN;
    }
    request_init(&cancel->request, client, cancel);
    cancel->give_back = NULL;
    cancel->id_out = NULL;
    return REDLATCH_OK;
}

void resumable_give_back(struct redlatch_cancel *cancel) {
    atomic_store(&cancel->in_use, 0);
}

int resumable_result(const struct redlatch_lock *lock, struct request *request, int64_t wait_ms) {
    const struct operation *operation = &request->operation;
    struct finding finding;
    if (operation->status != REDLATCH_OK) {
        request->finding = explain(lock->client, operation, request->cancel, operation->status, wait_ms, &finding);
    }
    if (operation->status == REDLATCH_OK && lock->composite) {
        composite_note_granted(lock->composite, operation->owner, composite_hold_new(lock->composite));
    }
    if (operation->status != REDLATCH_OK && operation->set) {
        composite_failed_as_set(lock, request, wait_ms);
    } else if (operation->status != REDLATCH_OK) {
        lock_request_failed(lock, request, verb_of(operation), operation->status, wait_ms);
    }
    request->finding = NULL;
    return operation->status;
}

void resumable_reset(struct redlatch_cancel *cancel) {
    if (atomic_exchange(&cancel->futex, 0) & CANCEL_FIRED) {
        system_unsignal(cancel->signal);
    }
    cancel->resumable = false;
    resumable_give_back(cancel);
}

int resumable_continue(struct redlatch_cancel *cancel, int64_t max_block_ms) {
    struct request *request = &cancel->request;
    struct client *client = request->client;
    struct resource *resource = cancel->lock.resource;
    struct composite *composite = cancel->lock.composite;
    bool was_resumable = cancel->resumable;
    drive_until(request, max_block_ms == REDLATCH_FOREVER ? NEVER : system_now() + max_block_ms * MILLISECOND);
    int status = REDLATCH_AGAIN;
    bool over = request->operation.phase == PHASE_DONE;
    if (over) {
        status = resumable_result(&cancel->lock, request, cancel->wait_ms);
        if (status == REDLATCH_OK && cancel->id_out) {
            *cancel->id_out = request->operation.serial;
        }
        resumable_reset(cancel);
    } else {
        cancel->resumable = true;
        resumable_give_back(cancel);
    }
    if (!over && !was_resumable) {
        client_keep(client);
        resource_keep(resource);
        if (composite) {
            composite_keep(composite);
        }
    } else if (over && was_resumable) {
        resource_drop(&client->engine, resource);
        client_finish_step(client, system_now());
    }
    client_leave(client);
    if (over && was_resumable) {
        if (composite) {
            composite_drop(composite);
        }
        client_drop(client);
    }
    return status;
}

int resumable_resume(struct redlatch_cancel *cancel, int64_t max_block_ms) {
    struct client *client = cancel->request.client;
    if (cancel->op) {
        return cancel->resume(cancel, max_block_ms);
    }
    client_lock(client); /* also of a client that was closed meanwhile: the wait has ended with CLOSED then */
    client->callers++;
    return resumable_continue(cancel, max_block_ms);
}
