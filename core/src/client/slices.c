/* Cancel objects, and the waits that they name: driven in slices, resumed, ended when nobody asks for them any more.
 * SPDX-License-Identifier: Apache-2.0 */
#include "slices.h"

#include <unistd.h>

#include "explain.h"
#include "failures.h"
#include "joint_calls.h"
#include "joint_holds.h"
#include "joint_words.h"
#include "options.h"

/* Of a parent process, which shares its descriptor, and whose client the wait it names belongs to. */
static bool is_inherited(const struct redlatch_cancel *cancel) {
    return cancel->fork_generation != system_fork_generation();
}

static int guard_cancel(const struct redlatch_cancel *cancel) {
    if (!cancel || atomic_load(&cancel->magic) != MAGIC_CANCEL) {
        return fail_with(REDLATCH_BAD_HANDLE, "cancel is %s: expected one that redlatch_cancel_new made",
                         cancel ? "freed or of another kind" : "NULL");
    }
    return is_inherited(cancel) ? fail_plain(REDLATCH_FORKED) : REDLATCH_OK;
}

int slices_check(const struct redlatch_cancel *cancel, int64_t slice_ms) {
    int status = check_duration("slice_ms", slice_ms, 0, true);
    if (status != REDLATCH_OK) {
        return status;
    }
    if (!cancel && slice_ms != REDLATCH_FOREVER) {
        return fail_with(REDLATCH_INVALID, "slice_ms is %lld without a cancel object: expected -1 (for ever)",
                         (long long)slice_ms);
    }
    return cancel ? guard_cancel(cancel) : REDLATCH_OK;
}

int slices_claim(struct redlatch_cancel *cancel, uint8_t kind, struct client *client) {
    if (atomic_exchange(&cancel->in_use, 1)) {
        return fail_plain(REDLATCH_IN_USE);
    }
    if (cancel->sliced && cancel->call.operation.kind != kind) {
        slices_give_back(cancel);
        return fail_plain(REDLATCH_IN_USE);
    }
    if (cancel->sliced) {
        return REDLATCH_AGAIN;
    }
    call_init(&cancel->call, client, cancel);
    cancel->give_back = NULL;
    cancel->id_out = NULL;
    return REDLATCH_OK;
}

void slices_give_back(struct redlatch_cancel *cancel) {
    atomic_store(&cancel->in_use, 0);
}

int slices_answer(const struct redlatch_lock *lock, struct call *call, int64_t wait_ms) {
    const struct operation *operation = &call->operation;
    struct finding finding;
    if (operation->status != REDLATCH_OK) {
        call->finding = explain(lock->client, operation, call->cancel, operation->status, wait_ms, &finding);
    }
    if (operation->status == REDLATCH_OK && lock->joint) {
        joint_note_granted(lock->joint, operation->owner, joint_hold_new(lock->joint));
    }
    if (operation->status != REDLATCH_OK && operation->set) {
        joint_failed_as_set(lock, call, wait_ms);
    } else if (operation->status != REDLATCH_OK) {
        lock_failed(lock, call, verb_of(operation), operation->status, wait_ms);
    }
    call->finding = NULL;
    return operation->status;
}

void slices_renew(struct redlatch_cancel *cancel) {
    if (atomic_exchange(&cancel->word, 0) & CANCEL_FIRED) {
        system_unsignal(cancel->signal);
    }
    cancel->sliced = false;
    slices_give_back(cancel);
}

int slices_go_on(struct redlatch_cancel *cancel, int64_t slice_ms) {
    struct call *call = &cancel->call;
    struct client *client = call->client;
    struct resource *resource = cancel->lock.resource;
    struct joint *joint = cancel->lock.joint;
    bool was_sliced = cancel->sliced;
    drive_until(call, slice_ms == REDLATCH_FOREVER ? NEVER : system_now() + slice_ms * MILLISECOND);
    int status = REDLATCH_AGAIN;
    bool over = call->operation.phase == PHASE_DONE;
    if (over) {
        status = slices_answer(&cancel->lock, call, cancel->wait_ms);
        if (status == REDLATCH_OK && cancel->id_out) {
            *cancel->id_out = call->operation.serial;
        }
        slices_renew(cancel);
    } else {
        cancel->sliced = true;
        slices_give_back(cancel);
    }
    if (!over && !was_sliced) {
        client_keep(client);
        resource_keep(resource);
        if (joint) {
            joint_keep(joint);
        }
    } else if (over && was_sliced) {
        resource_drop(&client->engine, resource);
        client_settle(client, system_now());
    }
    leave_call(client);
    if (over && was_sliced) {
        if (joint) {
            joint_drop(joint);
        }
        client_drop(client);
    }
    return status;
}

int slices_resume(struct redlatch_cancel *cancel, int64_t slice_ms) {
    struct client *client = cancel->call.client;
    if (cancel->run) {
        return joint_go_on(cancel, slice_ms);
    }
    client_lock(client); /* also of a client that was closed meanwhile: the wait has ended with CLOSED then */
    client->calls++;
    return slices_go_on(cancel, slice_ms);
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
    struct joint *joint = cancel->lock.joint ? joint_keep(cancel->lock.joint) : NULL;
    uint64_t owner = cancel->run ? cancel->run->owner : cancel->call.operation.owner;
    bool holds = cancel->call.operation.kind == OPERATION_ACQUIRE;
    client_lock(client);
    resource_keep(cancel->lock.resource);
    client_unlock(client);
    redlatch_cancel_fire(cancel);
    atomic_store(&cancel->in_use, 1);
    cancel->id_out = NULL;
    if (slices_resume(cancel, REDLATCH_FOREVER) == REDLATCH_OK && holds) { /* granted just before: nobody wants it */
        if (cancel->give_back) {
            cancel->give_back(cancel);
        } else {
            redlatch_lock_release_as(&cancel->lock, owner);
        }
    }
    client_lock(client);
    resource_drop(&client->engine, cancel->lock.resource);
    client_settle(client, system_now());
    client_unlock(client);
    if (joint) {
        joint_drop(joint);
    }
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
