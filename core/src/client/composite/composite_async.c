/* Asynchronous calls on multi locks and RedLocks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "composite_async.h"

#include <stdlib.h>

#include "background_thread.h"
#include "client_lock.h"
#include "composite.h"
#include "composite_blocking.h"
#include "composite_errors.h"
#include "composite_explain.h"
#include "composite_holds.h"
#include "composite_op.h"
#include "drive.h"
#include "errors.h"
#include "failures.h"
#include "multi.h"
#include "outputs.h"
#include "subrequest.h"

/* Makes the operation, and the request whose event will report its end. Returns NULL if there was no memory. */
static struct composite_op *new_op(const struct redlatch_lock *lock, const struct lock_start *what) {
    struct composite_op *op = composite_op_new(lock, what->owner, what->lease_ms, what->wait_ms, NULL);
    struct request *done = op ? calloc(1, sizeof *done) : NULL;
    if (!done) {
        if (op) {
            composite_op_free(op);
            fail_plain(REDLATCH_NO_MEMORY);
        }
        return NULL;
    }
    request_init(done, lock->client, NULL);
    done->operation.kind = what->kind;
    done->operation.asynchronous = true;
    if (what->kind == OPERATION_QUERY || what->kind == OPERATION_FORCE) {
        op->owner = 0; /* these have no owner */
    }
    done->operation.owner = op->owner;
    done->operation.resource = lock->resource;
    done->op = op;
    op->done = done;
    op->kind = what->kind;
    op->first = lock->client;
    op->named_owner = true;
    return op;
}

int composite_start(const struct redlatch_lock *lock, const struct lock_start *what, uint64_t tag) {
    struct client *client = lock->client;
    struct composite_op *op = new_op(lock, what);
    if (!op) {
        return REDLATCH_NO_MEMORY;
    }
    op->done->tag = tag;
    op->done->event = what->event;
    int status = client_enter(client);
    if (status == REDLATCH_OK && !background_start(client)) {
        client_leave(client);
        status = fail_with(REDLATCH_SYSTEM, "no thread can be started: expected one that renews leases");
    } else if (status == REDLATCH_OK) {
        resource_keep(lock->resource);
        op->next = client->composite_ops;
        client->composite_ops = op; /* and due at once: its timer is 0 */
        client_leave(client);
        system_signal(&client->background_signal);
        return REDLATCH_OK;
    }
    free(op->done);
    composite_op_free(op);
    return status;
}

/* ------------------------------------------------------------------------------------------------------ stepping -- */

/* Keeps the error text of a failure for the event. */
static void note_error_text(struct composite_op *op, int status) {
    struct client *client = op->first;
    error_text_swap(&op->error);
    if (status == REDLATCH_INTERNAL && atomic_load(&client->broken)) {
        fail_broken(client);
    } else if (op->kind == OPERATION_ACQUIRE) {
        composite_acquire_failed(op, true);
    } else if (op->subrequests) {
        composite_subrequests_failed(op->composite, op->subrequests, op->subrequest_count,
                                     verb_of(&op->done->operation), status, true);
    } else {
        fail_plain(status);
    }
    error_text_swap(&op->error);
}

/* Reports the end by an event. */
static void complete(struct composite_op *op, int status) {
    struct client *client = op->first;
    struct request *done = op->done;
    uint64_t owner = op->owner;
    if (status != REDLATCH_OK) {
        note_error_text(op, status);
    }
    composite_explain_end(op);
    if (op->kind == OPERATION_ACQUIRE && status == REDLATCH_OK) {
        composite_note_granted(op->composite, owner);
    }
    done->operation.serial = composite_serial(op->composite, owner);
    if (op->kind == OPERATION_RELEASE) {
        composite_note_released(op->composite, owner, status);
    }
    done->operation.status = status;
    client_lock(client);
    op->over = true;
    op->claim_by = NEVER;
    if (op->kind == OPERATION_ACQUIRE && status == REDLATCH_OK) {
        op->claim_by = system_now() + client->engine.settings.claim_timeout_ms * MILLISECOND;
    }
    list_append(&client->engine.finished, &done->operation.link);
    client_finish_step(client, system_now());
    client_unlock(client);
}

/* Gives back a grant that nobody collects. */
static void give_back(struct composite_op *op) {
    composite_note_released(op->composite, op->owner, REDLATCH_OK);
    composite_op_give_back(op);
}

/* Ends the time in which a grant may be collected. */
static void end_claim(struct composite_op *op) {
    struct client *client = op->first;
    client_lock(client);
    bool late = !op->collected;
    if (late) {
        op->done->operation.status = REDLATCH_UNCLAIMED;
    }
    op->claim_by = NEVER;
    client_unlock(client);
    if (late) {
        give_back(op);
    }
}

static void step_acquire(struct composite_op *op, int64_t now) {
    if (!op->given_up && (atomic_load(&op->cancelled) || now >= op->wait_until)) {
        composite_op_give_up(op, atomic_load(&op->cancelled) ? REDLATCH_CANCELLED : REDLATCH_TIMEOUT);
    }
    for (uint32_t i = 0; i <= op->composite->group_count; i++) {
        if (op->group_requests[i].active && subrequest_collect(&op->group_requests[i])) {
            composite_op_take(op, &op->group_requests[i]);
        }
    }
    if (composite_op_step(op) && !composite_explain_start(op)) {
        complete(op, op->multi.status);
    }
}

static void step(struct composite_op *op, int64_t now) {
    if (op->over) {
        if (now >= op->claim_by) {
            end_claim(op);
        }
    } else if (op->explanation) {
        if (composite_explain_step(op)) {
            complete(op, op->multi.status);
        }
    } else if (op->kind == OPERATION_ACQUIRE) {
        step_acquire(op, now);
    } else {
        int status;
        if (composite_subrequests_step(op, now, &status)) {
            complete(op, status);
        }
    }
}

static int64_t due(const struct composite_op *op) {
    if (atomic_load(&op->posted)) {
        return 0;
    }
    if (op->over) {
        return op->claim_by;
    }
    if (op->explanation) {
        return NEVER; /* the end of its request is posted */
    }
    int64_t timer = op->kind == OPERATION_ACQUIRE ? multi_timer(&op->multi) : op->subrequests_until;
    int64_t deadline = op->given_up || op->kind != OPERATION_ACQUIRE ? NEVER : op->wait_until;
    return timer < deadline ? timer : deadline;
}

int64_t composite_next_time(const struct client *client) {
    int64_t next = NEVER;
    for (const struct composite_op *op = client->composite_ops; op; op = op->next) {
        int64_t at = op->over && op->collected ? 0 : due(op);
        next = at < next ? at : next;
    }
    return next;
}

/* Takes the operations that are over and collected off the list. */
static struct composite_op *take_over(struct client *client) {
    struct composite_op *over = NULL;
    client_lock(client);
    for (struct composite_op **link = &client->composite_ops; *link;) {
        struct composite_op *op = *link;
        if (op->over && op->collected) {
            *link = op->next;
            op->next = over;
            over = op;
        } else {
            link = &op->next;
        }
    }
    client_unlock(client);
    return over;
}

void composite_step_all(struct client *client) {
    client_lock(client);
    struct composite_op *op = client->composite_ops; /* others are put before it, and only this thread takes them off */
    client_unlock(client);
    for (; op; op = op->next) {
        int64_t now = system_now();
        if (now >= due(op)) {
            atomic_store(&op->posted, false);
            step(op, now);
        }
    }
    for (struct composite_op *over = take_over(client), *next; over; over = next) {
        next = over->next;
        composite_op_free(over);
    }
}

void composite_cancel(struct client *client, uint64_t tag) {
    for (struct composite_op *op = client->composite_ops; op; op = op->next) {
        if (op->kind == OPERATION_ACQUIRE && !op->over && op->done->tag == tag) {
            atomic_store(&op->cancelled, true);
            atomic_store(&op->posted, true);
            system_signal(&client->background_signal);
        }
    }
}

void composite_collected(struct composite_op *op) {
    op->collected = true;
    if (op->first->background_started) {
        system_signal(&op->first->background_signal);
    }
}

void composite_end_broken(struct client *client) {
    client_lock(client);
    struct composite_op *op = client->composite_ops;
    client_unlock(client);
    for (; op; op = op->next) {
        if (!op->over) {
            composite_op_end(op);
            complete(op, REDLATCH_INTERNAL);
        }
    }
}

/* Ends an operation at the close of its first client. The releases of the other clients go on. */
static void discard_active(struct composite_op *op) {
    struct client *client = op->first;
    if (op->kind == OPERATION_RELEASE && !op->subrequests) { /* the background thread has not started it */
        int status;
        composite_subrequests_step(op, system_now(), &status);
    }
    composite_op_end(op);
    composite_explain_end(op);
    client_lock(client);
    resource_drop(&client->engine, op->done->operation.resource);
    client_finish_step(client, system_now());
    client_unlock(client);
    free(op->done);
}

void composite_discard_ops(struct client *client) {
    struct composite_op *op = client->composite_ops;
    client->composite_ops = NULL;
    for (struct composite_op *next; op; op = next) {
        next = op->next;
        if (!op->over) {
            discard_active(op);
        } else if (!op->collected) {
            op->done->op = NULL; /* its event is still queued */
            if (op->claim_by != NEVER) {
                give_back(op);
            }
        }
        composite_op_free(op);
    }
}
