/* An acquire over several clients: carries out what its machine wants, on the caller's or the background thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "composite_op.h"

#include <stdlib.h>
#include <string.h>

#include "composite.h"
#include "composite_holds.h"
#include "composite_status.h"
#include "errors.h"
#include "lock.h"
#include "multi.h"
#include "subrequest.h"
#include "subrequests_wait.h"

/* How long an acquire waits for the releases of what it gives back. After that they go on in the background. */
enum { UNDO_WAIT_MS = 250 };

struct composite_op *composite_op_new(const struct redlatch_lock *lock, uint64_t owner, int64_t lease_ms,
                                      int64_t wait_ms, struct redlatch_cancel *cancel) {
    struct composite *composite = lock->composite;
    uint32_t count = composite->group_count;
    struct composite_op *op = calloc(1, sizeof *op);
    struct multi_group *groups = calloc(count, sizeof *groups);
    uint32_t *granted = calloc(count, sizeof *granted);
    struct subrequest *subrequests = calloc(count + 1, sizeof *subrequests);
    if (!op || !groups || !granted || !subrequests) {
        free(op);
        free(groups);
        free(granted);
        free(subrequests);
        fail_plain(REDLATCH_NO_MEMORY);
        return NULL;
    }
    int64_t now = system_now();
    op->composite = composite_keep(composite);
    op->owner = lock_owner(lock, owner);
    op->named_owner = lock_owner_is_named(lock, owner);
    op->lease_ms = lease_ms == REDLATCH_LEASE_OF_LOCK ? lock->lease_ms : lease_ms;
    op->max_hold_ms = lock->max_hold_ms;
    op->wait_ms = wait_ms;
    op->wait_until = wait_ms == REDLATCH_FOREVER ? NEVER : now + wait_ms * MILLISECOND;
    op->cancel = cancel;
    op->groups = groups;
    op->granted = granted;
    op->group_requests = subrequests;
    op->waiting_set = (struct subrequest_set){.subrequests = subrequests, .count = count + 1, .cancel = cancel};
    op->count_before = composite_count(composite, op->owner);
    uint64_t random; /* from the client's uuid, so that other clients draw another jitter */
    memcpy(&random, composite->first->engine.uuid, sizeof random);
    multi_init(&op->multi, groups, count, composite->quorum, random ^ (uint64_t)now ^ (op->owner << 32));
    op->multi.unreachable_timeout = lock->client->engine.settings.unreachable_timeout_ms * MILLISECOND;
    op->multi.non_blocking = wait_ms == 0;
    op->multi.brief = wait_ms > 0 && op->wait_until - now < BRIEF_WAIT;
    if (wait_ms == 0) {
        op->wait_until = now + lock->client->command_timeout;
    }
    return op;
}

void composite_op_free(struct composite_op *op) {
    composite_drop(op->composite);
    free(op->groups);
    free(op->granted);
    free(op->group_requests);
    free(op->subrequests);
    free(op);
}

/* ------------------------------------------------------------------------------------------------------- actions -- */

static void start_try(struct composite_op *op, uint32_t index) {
    const struct composite_group *group = &op->composite->groups[index];
    struct subrequest_spec spec = {.kind = OPERATION_ACQUIRE,
                                   .set = group->set,
                                   .owner = op->owner,
                                   .named_owner = op->named_owner,
                                   .lease_ms = op->lease_ms,
                                   .max_hold_ms = op->max_hold_ms,
                                   .non_blocking = true,
                                   .cancel = op->cancel,
                                   .op = op->done ? op : NULL};
    subrequest_start(&op->group_requests[index], group->client, &spec);
}

static void start_release(struct composite_op *op, uint32_t index) {
    const struct composite_group *group = &op->composite->groups[index];
    struct subrequest_spec spec = {.kind = OPERATION_RELEASE,
                                   .set = group->set,
                                   .owner = op->owner,
                                   .named_owner = op->named_owner,
                                   .max_hold_ms = REDLATCH_FOREVER,
                                   .wait_ms = UNDO_WAIT_MS,
                                   .op = op->done ? op : NULL};
    op->granted[index]--;
    subrequest_start(&op->group_requests[index], group->client, &spec);
}

static void start_watch(struct composite_op *op, const struct multi_action *action) {
    const struct composite_group *group = &op->composite->groups[action->group];
    struct subrequest_spec spec = {.kind = OPERATION_WATCH,
                                   .resource = group->set->members[action->member].resource,
                                   .lock_kind = group->set->members[action->member].lock_kind,
                                   .max_hold_ms = REDLATCH_FOREVER,
                                   .wait_ms = REDLATCH_FOREVER,
                                   .cancel = op->cancel,
                                   .op = op->done ? op : NULL};
    subrequest_start(&op->group_requests[op->composite->group_count], group->client, &spec);
}

/* Ends a try that is not waited for any more. It may have been granted a moment ago. */
static void end_try(struct composite_op *op, uint32_t index) {
    struct subrequest *subrequest = &op->group_requests[index];
    if (subrequest->active) {
        subrequest_abort(subrequest);
        op->granted[index] += subrequest->status == REDLATCH_OK;
    }
}

/* Releases in the background what a group was granted. */
static void give_back_rest(struct composite_op *op, uint32_t index) {
    while (op->granted[index] > 0) {
        start_release(op, index);
        if (op->group_requests[index].active) {
            subrequest_abort(&op->group_requests[index]);
        }
    }
}

static void tried(struct composite_op *op, uint32_t index) {
    struct subrequest *subrequest = &op->group_requests[index];
    bool granted = subrequest->status == REDLATCH_OK;
    op->granted[index] += granted;
    if (granted && op->composite->majority &&
        subrequest->count <= op->count_before) { /* the group lacks an earlier acquire: it needs another */
        start_try(op, index);
        if (!subrequest->active) {
            tried(op, index);
        }
        return;
    }
    if (!granted) {
        give_back_rest(op, index);
    }
    multi_tried(&op->multi, index, subrequest->status, subrequest->member, subrequest->deadline, system_now());
}

static void released(struct composite_op *op, uint32_t index) {
    while (op->granted[index] > 0) {
        start_release(op, index);
        if (op->group_requests[index].active) {
            return;
        }
    }
    multi_released(&op->multi, index);
}

void composite_op_take(struct composite_op *op, struct subrequest *subrequest) {
    uint32_t index = (uint32_t)(subrequest - op->group_requests);
    if (index == op->composite->group_count) {
        multi_watched(&op->multi, subrequest->status, system_now());
    } else if (subrequest->request.operation.kind == OPERATION_ACQUIRE) {
        tried(op, index);
    } else {
        released(op, index);
    }
}

static void carry_out(struct composite_op *op, const struct multi_action *action) {
    struct subrequest *subrequest = &op->group_requests[action->group];
    switch (action->kind) {
    case MULTI_TRY:
        start_try(op, action->group);
        break;
    case MULTI_ABORT:
        end_try(op, action->group);
        give_back_rest(op, action->group);
        return;
    case MULTI_RELEASE:
        start_release(op, action->group);
        break;
    default:
        subrequest = &op->group_requests[op->composite->group_count];
        if (action->stop) {
            if (subrequest->active) {
                subrequest_abort(subrequest);
            }
            return;
        }
        start_watch(op, action);
        break;
    }
    if (!subrequest->active) { /* it could not start */
        subrequest->request.operation.kind = action->kind == MULTI_RELEASE ? OPERATION_RELEASE : OPERATION_ACQUIRE;
        composite_op_take(op, subrequest);
    }
}

/* Returns whether the owner's hold is lost and still to be released. Another handle may have released it. */
static bool is_lost(const struct composite_op *op) {
    if (!composite_is_lost(op->composite, op->owner)) {
        return false;
    }
    redlatch_hold hold = {.state = REDLATCH_NOT_HELD};
    composite_hold_status(op->composite, op->owner, &hold);
    return hold.state == REDLATCH_GONE;
}

bool composite_op_step(struct composite_op *op) {
    if (!op->given_up && is_lost(op)) {
        composite_op_give_up(op,
                             REDLATCH_LOST); /* other servers might grant it, but release has to return LOST first */
    }
    for (;;) {
        struct multi_action action = multi_next(&op->multi, system_now());
        if (action.kind == MULTI_DONE || action.kind == MULTI_NOTHING) {
            return action.kind == MULTI_DONE;
        }
        carry_out(op, &action);
    }
}

/* ------------------------------------------------------------------------------------------------------ blocking -- */

static int64_t earlier(int64_t one, int64_t other) {
    return one < other ? one : other;
}

static bool is_cancelled(const struct composite_op *op) {
    return op->cancel && (atomic_load(&op->cancel->futex) & CANCEL_FIRED);
}

/* Sleeps while nothing is under way, until `until` or until the call is cancelled. */
static void sleep_until(struct composite_op *op, int64_t until) {
    _Atomic uint32_t nobody = 0;
    _Atomic uint32_t *futex = op->cancel ? &op->cancel->futex : &nobody;
    uint32_t seen = atomic_load(futex);
    if (!(seen & CANCEL_FIRED)) {
        system_wait_interruptible(futex, seen, until, op->cancel ? &op->cancel->signal : NULL);
    }
}

static bool is_waited_for(const struct composite_op *op) {
    for (uint32_t i = 0; i <= op->composite->group_count; i++) {
        if (op->group_requests[i].active) {
            return true;
        }
    }
    return false;
}

/* Waits for the outcome of a subrequest and handles it, also if `until` has come before. Returns false if there was
 * none. */
static bool wait_for_answer(struct composite_op *op, int64_t until) {
    until = earlier(until, multi_timer(&op->multi));
    if (!is_waited_for(op)) {
        sleep_until(op, until);
        return false;
    }
    struct subrequest *subrequest = subrequests_wait(&op->waiting_set, until);
    if (subrequest) {
        composite_op_take(op, subrequest);
    }
    return subrequest != NULL;
}

void composite_op_give_up(struct composite_op *op, int status) {
    op->given_up = true;
    op->waiting_set.cancel = NULL; /* the releases are waited for even if the call was cancelled */
    multi_give_up(&op->multi, status);
}

void composite_op_give_back(struct composite_op *op) {
    for (uint32_t i = 0; i < op->composite->group_count; i++) {
        give_back_rest(op, i);
    }
}

void composite_op_end(struct composite_op *op) {
    for (uint32_t i = 0; i <= op->composite->group_count; i++) {
        struct subrequest *subrequest = &op->group_requests[i];
        bool acquires = subrequest->active && subrequest->request.operation.kind == OPERATION_ACQUIRE;
        if (subrequest->active) {
            subrequest_abort(subrequest);
        }
        if (acquires && i < op->composite->group_count) {
            op->granted[i] += subrequest->status == REDLATCH_OK;
        }
    }
    for (uint32_t i = 0; i < op->subrequest_count; i++) {
        if (op->subrequests[i].active) {
            subrequest_abort(&op->subrequests[i]);
        }
    }
    composite_op_give_back(op);
}

bool composite_op_drive(struct composite_op *op, int64_t until) {
    bool over;
    while (!(over = composite_op_step(op))) {
        int64_t now = system_now();
        if (!op->given_up && is_cancelled(op)) {
            composite_op_give_up(op, REDLATCH_CANCELLED);
        } else if (!op->given_up && now >= op->wait_until) {
            composite_op_give_up(op, REDLATCH_TIMEOUT);
        } else if (!wait_for_answer(op, op->given_up ? until : earlier(until, op->wait_until)) && now >= until) {
            break;
        }
    }
    subrequests_stop_reading(&op->waiting_set);
    return over;
}
