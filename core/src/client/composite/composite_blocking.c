/* Calls on multi locks and RedLocks that make one subrequest for each group or member, and the blocking acquires.
 * SPDX-License-Identifier: Apache-2.0 */
#include "composite_blocking.h"

#include <stdlib.h>

#include "composite.h"
#include "composite_errors.h"
#include "composite_holds.h"
#include "composite_op.h"
#include "composite_status.h"
#include "errors.h"
#include "handles.h"
#include "lock.h"
#include "multi.h"
#include "subrequest.h"
#include "subrequests_wait.h"

/* How much longer a query or a force release waits for the servers of a minority. */
static const int64_t ANSWER_WAIT = SECOND / 4;

/* Ends an acquire: notes what was granted, or sets the error. */
static int finish(struct composite_op *op) {
    if (op->multi.status == REDLATCH_OK) {
        composite_note_granted(op->composite, op->owner);
    }
    int status = op->multi.status;
    if (status != REDLATCH_OK) {
        composite_acquire_failed(op, false);
    }
    composite_op_free(op);
    return status;
}

int composite_acquire(const struct redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                      struct redlatch_cancel *cancel) {
    int status = lock_check_owner(lock, owner);
    if (status != REDLATCH_OK) {
        return status;
    }
    struct composite_op *op = composite_op_new(lock, owner, lease_ms, wait_ms, cancel);
    if (!op) {
        return REDLATCH_NO_MEMORY;
    }
    composite_op_drive(op, NEVER);
    return finish(op);
}

/* Goes on with a resumable wait, or starts it. Returns AGAIN if `until` has come before the result. */
static int advance(struct redlatch_wait *wait, int64_t until) {
    if (!wait->op) {
        wait->op = composite_op_new(&wait->lock, wait->owner, wait->lease_ms, wait->wait_ms, wait->cancel);
        if (!wait->op) {
            return REDLATCH_NO_MEMORY;
        }
        wait->op->named_owner = wait->named_owner;
        wait->started = true;
    }
    return composite_op_drive(wait->op, until) ? finish(wait->op) : REDLATCH_AGAIN;
}

void composite_prepare_wait(struct redlatch_wait *wait) {
    wait->advance = advance;
}

/* ------------------------------------------------------------------------- a subrequest for each group or member -- */

static uint32_t count_status(const struct subrequest *subrequests, uint32_t count, int status) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        found += !subrequests[i].active && subrequests[i].status == status;
    }
    return found;
}

static uint32_t count_active(const struct subrequest *subrequests, uint32_t count) {
    uint32_t active = 0;
    for (uint32_t i = 0; i < count; i++) {
        active += subrequests[i].active;
    }
    return active;
}

/* Drives all subrequests until none is left. Once `enough` of them have succeeded, the others have the time of
 * multi_moment, and `more`; then they are ended. */
static void drive_all(struct subrequest *subrequests, uint32_t count, uint32_t enough, int64_t started_at,
                      int64_t more) {
    struct subrequest_set waiting_set = {.subrequests = subrequests, .count = count};
    int64_t until = NEVER;
    uint32_t left = count_active(subrequests, count);
    while (left > 0 && system_now() < until) {
        if (until == NEVER && enough < count && count_status(subrequests, count, REDLATCH_OK) >= enough) {
            until = multi_moment(started_at, system_now()) + more;
        }
        left -= subrequests_wait(&waiting_set, until) != NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (subrequests[i].active) {
            subrequest_abort(&subrequests[i]);
        }
    }
}

/* Returns the status of the call when too few subrequests have succeeded. LOST comes before all others, and NOT_OWNED
 * comes after all others. */
static int worst(const struct subrequest *subrequests, uint32_t count) {
    int status = REDLATCH_NOT_OWNED;
    for (uint32_t i = 0; i < count; i++) {
        if (subrequests[i].status == REDLATCH_LOST) {
            return REDLATCH_LOST;
        }
        if (subrequests[i].status != REDLATCH_OK && status == REDLATCH_NOT_OWNED) {
            status = subrequests[i].status;
        }
    }
    return status;
}

/* Returns whether a group takes no part in a release, and then the outcome for it. A server that was unreachable at a
 * nested acquire has a lower hold count: what it holds belongs to the earlier acquires. */
static bool is_left_out(const struct composite_group *group, uint64_t owner, uint32_t hold_count, int *status_out) {
    bool held;
    if (composite_group_count(group, owner, &held) >= hold_count) {
        return false;
    }
    *status_out = held ? REDLATCH_OK : REDLATCH_NOT_OWNED;
    return true;
}

/* Starts a subrequest on every group, or on every member. The caller frees them. */
static struct subrequest *start_all(const struct composite *composite, const struct subrequest_spec *pattern,
                                    bool by_group, uint32_t *count_out) {
    uint32_t count = by_group ? composite->group_count : composite->member_count;
    struct subrequest *subrequests = calloc(count, sizeof *subrequests);
    if (!subrequests) {
        fail_plain(REDLATCH_NO_MEMORY);
        return NULL;
    }
    uint32_t next = 0;
    bool may_hold_fewer = composite->majority &&
                          pattern->kind == OPERATION_RELEASE; /* a multi lock has the same hold count in all groups */
    uint32_t hold_count = may_hold_fewer ? composite_count(composite, pattern->owner) : 0;
    for (uint32_t i = 0; i < composite->group_count; i++) {
        const struct composite_group *group = &composite->groups[i];
        struct subrequest_spec spec = *pattern;
        if (may_hold_fewer && is_left_out(group, pattern->owner, hold_count, &subrequests[next].status)) {
            next++;
            continue;
        }
        spec.wait_ms = group->client->command_timeout / MILLISECOND;
        for (uint32_t j = 0; j < (by_group ? 1 : group->set->count); j++) {
            spec.set = by_group ? group->set : NULL;
            spec.resource = group->set->members[j].resource;
            spec.lock_kind = group->set->members[j].lock_kind;
            subrequest_start(&subrequests[next++], group->client, &spec);
        }
    }
    *count_out = count;
    return subrequests;
}

/* Returns whether each reply counts, also those of a minority. */
static bool waits_for_answers(uint8_t kind) {
    return kind == OPERATION_QUERY || kind == OPERATION_FORCE;
}

/* Starts the subrequests, as start_all, and drives them until they are done. */
static struct subrequest *drive_subrequests(const struct composite *composite, const struct subrequest_spec *pattern,
                                            bool by_group, uint32_t *count_out) {
    int64_t started_at = system_now();
    struct subrequest *subrequests = start_all(composite, pattern, by_group, count_out);
    if (subrequests) {
        drive_all(subrequests, *count_out, composite->majority ? composite->quorum : *count_out, started_at,
                  waits_for_answers(pattern->kind) ? ANSWER_WAIT : 0);
    }
    return subrequests;
}

/* Returns OK if as many subrequests have succeeded as are needed, else the worst status. */
static int outcome(const struct composite *composite, const struct subrequest *subrequests, uint32_t count) {
    uint32_t needed = composite->majority ? composite->quorum : count;
    return count_status(subrequests, count, REDLATCH_OK) >= needed ? REDLATCH_OK : worst(subrequests, count);
}

static int sum_up(const struct redlatch_lock *lock, struct subrequest *subrequests, uint32_t count, const char *verb) {
    int status = outcome(lock->composite, subrequests, count);
    return status == REDLATCH_OK
               ? status
               : composite_subrequests_failed(lock->composite, subrequests, count, verb, status, false);
}

static bool any_forced(const struct subrequest *subrequests, uint32_t count) {
    bool forced = false;
    for (uint32_t i = 0; i < count; i++) {
        forced = forced || (subrequests[i].status == REDLATCH_OK && subrequests[i].request.operation.forced);
    }
    return forced;
}

/* Returns the state of the composite lock. It is locked if others cannot acquire it: one member of a multi lock is
 * held, or so many of a RedLock that no quorum is left. The answer is that of the member that stays held longest. */
static struct lock_answer composite_answer(const struct composite *composite, const struct subrequest *subrequests,
                                           uint32_t count) {
    struct lock_answer answer = {.locked = false};
    uint32_t locked = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct lock_answer *found = &subrequests[i].request.answer;
        if (subrequests[i].status != REDLATCH_OK || !found->locked) {
            continue;
        }
        bool longer = answer.ttl_ms >= 0 && (found->ttl_ms == -1 || found->ttl_ms > answer.ttl_ms);
        if (locked++ == 0 || longer) {
            answer = *found;
        }
    }
    uint32_t needed = composite->majority ? composite->member_count - composite->quorum + 1 : 1;
    return locked < needed ? (struct lock_answer){.locked = false} : answer;
}

static void note_answer(struct composite_op *op) {
    if (op->kind == OPERATION_FORCE) {
        op->done->operation.forced = any_forced(op->subrequests, op->subrequest_count);
    } else if (op->kind == OPERATION_QUERY) {
        op->done->answer = composite_answer(op->composite, op->subrequests, op->subrequest_count);
    }
}

bool composite_subrequests_step(struct composite_op *op, int64_t now, int *status_out) {
    struct composite *composite = op->composite;
    if (!op->subrequests) {
        struct subrequest_spec spec = {.kind = op->kind,
                                       .owner = op->owner,
                                       .named_owner = true,
                                       .lease_ms = op->lease_ms,
                                       .max_hold_ms = REDLATCH_FOREVER,
                                       .op = op};
        op->subrequests_until = NEVER;
        op->started_at = now;
        op->subrequests = start_all(composite, &spec, op->kind == OPERATION_RELEASE, &op->subrequest_count);
        if (!op->subrequests) {
            *status_out = REDLATCH_NO_MEMORY;
            return true;
        }
    }
    for (uint32_t i = 0; i < op->subrequest_count; i++) {
        if (op->subrequests[i].active) {
            subrequest_collect(&op->subrequests[i]);
        }
    }
    uint32_t active = count_active(op->subrequests, op->subrequest_count);
    bool enough = composite->majority &&
                  count_status(op->subrequests, op->subrequest_count, REDLATCH_OK) >= composite->quorum;
    if (active > 0 && enough && op->subrequests_until == NEVER) {
        op->subrequests_until = multi_moment(op->started_at, now) + (waits_for_answers(op->kind) ? ANSWER_WAIT : 0);
    }
    for (uint32_t i = 0; now >= op->subrequests_until && i < op->subrequest_count; i++) {
        if (op->subrequests[i].active) {
            subrequest_abort(&op->subrequests[i]);
            active--;
        }
    }
    if (active > 0) {
        return false;
    }
    note_answer(op);
    *status_out = outcome(composite, op->subrequests, op->subrequest_count);
    return true;
}

int composite_release(const struct redlatch_lock *lock, uint64_t owner) {
    uint32_t count;
    struct subrequest_spec spec = {.kind = OPERATION_RELEASE,
                                   .owner = lock_owner(lock, owner),
                                   .named_owner = lock_owner_is_named(lock, owner),
                                   .max_hold_ms = REDLATCH_FOREVER};
    struct subrequest *subrequests = drive_subrequests(lock->composite, &spec, true, &count);
    if (!subrequests) {
        return REDLATCH_NO_MEMORY;
    }
    int status = sum_up(lock, subrequests, count, "release");
    composite_note_released(lock->composite, spec.owner, status);
    free(subrequests);
    return status;
}

int composite_extend(const struct redlatch_lock *lock, uint64_t owner, int64_t lease_ms) {
    uint32_t count;
    struct subrequest_spec spec = {.kind = OPERATION_EXTEND,
                                   .owner = lock_owner(lock, owner),
                                   .named_owner = lock_owner_is_named(lock, owner),
                                   .lease_ms = lease_ms,
                                   .max_hold_ms = REDLATCH_FOREVER};
    struct subrequest *subrequests = drive_subrequests(lock->composite, &spec, false, &count);
    if (!subrequests) {
        return REDLATCH_NO_MEMORY;
    }
    int status = sum_up(lock, subrequests, count, "extend");
    free(subrequests);
    return status;
}

int composite_force_release(const struct redlatch_lock *lock, int32_t *released_out) {
    uint32_t count;
    struct subrequest_spec spec = {.kind = OPERATION_FORCE, .max_hold_ms = REDLATCH_FOREVER};
    struct subrequest *subrequests = drive_subrequests(lock->composite, &spec, false, &count);
    if (!subrequests) {
        return REDLATCH_NO_MEMORY;
    }
    int status = sum_up(lock, subrequests, count, "force-release");
    if (status == REDLATCH_OK && released_out) {
        *released_out = any_forced(subrequests, count);
    }
    free(subrequests);
    return status;
}

int composite_query(const struct redlatch_lock *lock, struct lock_answer *answer_out) {
    uint32_t count;
    struct subrequest_spec spec = {.kind = OPERATION_QUERY, .max_hold_ms = REDLATCH_FOREVER};
    struct subrequest *subrequests = drive_subrequests(lock->composite, &spec, false, &count);
    if (!subrequests) {
        return REDLATCH_NO_MEMORY;
    }
    *answer_out = composite_answer(lock->composite, subrequests, count);
    int status = sum_up(lock, subrequests, count, "query");
    free(subrequests);
    return status;
}
