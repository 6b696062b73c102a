/* The blocking calls on multi locks and RedLocks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "joint_calls.h"

#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "joint_holds.h"
#include "joint_words.h"
#include "lock.h"
#include "slices.h"

/* How much longer a question waits for the servers of a minority. */
static const int64_t ANSWER_WAIT = SECOND / 4;

/* The end of a run: notes what was granted. */
static int finish(struct run *run, const struct redlatch_lock *lock) {
    if (run->multi.status == REDLATCH_OK) {
        joint_note_granted(run->joint, run->owner, joint_hold_new(run->joint));
    }
    int status = run->multi.status;
    if (status != REDLATCH_OK) {
        joint_acquire_failed(lock, run, false);
    }
    run_free(run);
    return status;
}

int joint_acquire(const struct redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                  struct redlatch_cancel *cancel, int64_t slice_ms) {
    struct run *run = run_new(lock, owner, lease_ms, wait_ms, cancel);
    if (!run) {
        if (cancel) {
            slices_give_back(cancel);
        }
        return REDLATCH_NO_MEMORY;
    }
    if (cancel) {
        cancel->run = run;
        cancel->lock = *lock;
        cancel->wait_ms = wait_ms;
        return joint_go_on(cancel, slice_ms);
    }
    run_drive(run, NEVER);
    return finish(run, lock);
}

int joint_go_on(struct redlatch_cancel *cancel, int64_t slice_ms) {
    struct run *run = cancel->run;
    if (!run_drive(run, slice_ms == REDLATCH_FOREVER ? NEVER : system_now() + slice_ms * MILLISECOND)) {
        cancel->sliced = true;
        slices_give_back(cancel);
        return REDLATCH_AGAIN;
    }
    struct redlatch_lock lock = cancel->lock;
    cancel->run = NULL;
    int status = finish(run, &lock);
    slices_renew(cancel);
    return status;
}

/* ---------------------------------------------------------------------------- one task for each client or member -- */

static uint32_t count_status(const struct task *tasks, uint32_t count, int status) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        found += !tasks[i].active && tasks[i].status == status;
    }
    return found;
}

static uint32_t count_active(const struct task *tasks, uint32_t count) {
    uint32_t active = 0;
    for (uint32_t i = 0; i < count; i++) {
        active += tasks[i].active;
    }
    return active;
}

/* Drives all until enough of them went well and the others had their moment, and `more`, or none is left. */
static void drive_all(struct task *tasks, uint32_t count, uint32_t enough, int64_t started_at, int64_t more) {
    struct task_set together = {.tasks = tasks, .count = count};
    int64_t until = NEVER;
    uint32_t left = count_active(tasks, count);
    while (left > 0 && system_now() < until) {
        if (until == NEVER && enough < count && count_status(tasks, count, REDLATCH_OK) >= enough) {
            until = multi_moment(started_at, system_now()) + more;
        }
        left -= tasks_wait(&together, until) != NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (tasks[i].active) {
            task_abort(&tasks[i]);
        }
    }
}

/* What is wrong with the whole, when too few of its parts went well: a loss is told before all else, and what one of
 * the servers said before what none of them knows of. */
static int worst(const struct task *tasks, uint32_t count) {
    int status = REDLATCH_NOT_OWNED;
    for (uint32_t i = 0; i < count; i++) {
        if (tasks[i].status == REDLATCH_LOST) {
            return REDLATCH_LOST;
        }
        if (tasks[i].status != REDLATCH_OK && status == REDLATCH_NOT_OWNED) {
            status = tasks[i].status;
        }
    }
    return status;
}

/* Whether a group takes no part in a release of the highest of the owner's `levels`, and then what came of it. A server
 * that was away at a re-entry has fewer: what it holds belongs to the levels before. */
static bool is_left_out(const struct joint_group *group, uint64_t owner, uint32_t levels, int *status_out) {
    bool held;
    if (joint_levels_of(group, owner, &held) >= levels) {
        return false;
    }
    *status_out = held ? REDLATCH_OK : REDLATCH_NOT_OWNED;
    return true;
}

/* Starts a kind of operation on every group, or on every member by itself; the tasks are the caller's to free. */
static struct task *start_all(const struct joint *joint, const struct errand *pattern, bool by_group,
                              uint32_t *count_out) {
    uint32_t count = by_group ? joint->group_count : joint->member_count;
    struct task *tasks = calloc(count, sizeof *tasks);
    if (!tasks) {
        fail_plain(REDLATCH_NO_MEMORY);
        return NULL;
    }
    uint32_t next = 0;
    bool may_lack = joint->majority && pattern->kind == OPERATION_RELEASE; /* what needs all has as many of all */
    uint32_t levels = may_lack ? joint_levels(joint, pattern->owner) : 0;
    for (uint32_t i = 0; i < joint->group_count; i++) {
        const struct joint_group *group = &joint->groups[i];
        struct errand errand = *pattern;
        if (may_lack && is_left_out(group, pattern->owner, levels, &tasks[next].status)) {
            next++;
            continue;
        }
        errand.wait_ms = group->client->command_timeout / MILLISECOND;
        for (uint32_t j = 0; j < (by_group ? 1 : group->set->count); j++) {
            errand.set = by_group ? group->set : NULL;
            errand.resource = group->set->members[j].resource;
            errand.lock_kind = group->set->members[j].lock_kind;
            task_start(&tasks[next++], group->client, &errand);
        }
    }
    *count_out = count;
    return tasks;
}

/* Each answer counts, also of a minority. */
static bool asks(uint8_t kind) {
    return kind == OPERATION_QUERY || kind == OPERATION_FORCE;
}

/* The same, driven to the end. */
static struct task *run_all(const struct joint *joint, const struct errand *pattern, bool by_group,
                            uint32_t *count_out) {
    int64_t started_at = system_now();
    struct task *tasks = start_all(joint, pattern, by_group, count_out);
    if (tasks) {
        drive_all(tasks, *count_out, joint->majority ? joint->quorum : *count_out, started_at,
                  asks(pattern->kind) ? ANSWER_WAIT : 0);
    }
    return tasks;
}

/* OK when it went well with as many as are needed. */
static int outcome(const struct joint *joint, const struct task *tasks, uint32_t count) {
    uint32_t needed = joint->majority ? joint->quorum : count;
    return count_status(tasks, count, REDLATCH_OK) >= needed ? REDLATCH_OK : worst(tasks, count);
}

static int sum_up(const struct redlatch_lock *lock, struct task *tasks, uint32_t count, const char *verb) {
    int status = outcome(lock->joint, tasks, count);
    return status == REDLATCH_OK ? status : joint_tasks_failed(lock, tasks, count, verb, status, false);
}

static bool any_forced(const struct task *tasks, uint32_t count) {
    bool forced = false;
    for (uint32_t i = 0; i < count; i++) {
        forced = forced || (tasks[i].status == REDLATCH_OK && tasks[i].call.operation.forced);
    }
    return forced;
}

/* Somebody holds it, so that nobody else can: of a multi lock one member, of a RedLock as many as make it impossible.
 * The one told of is the one that holds it longest. */
static struct lock_answer joint_answer(const struct joint *joint, const struct task *tasks, uint32_t count) {
    struct lock_answer answer = {.locked = false};
    uint32_t locked = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct lock_answer *found = &tasks[i].call.answer;
        if (tasks[i].status != REDLATCH_OK || !found->locked) {
            continue;
        }
        bool longer = answer.ttl_ms >= 0 && (found->ttl_ms == -1 || found->ttl_ms > answer.ttl_ms);
        if (locked++ == 0 || longer) {
            answer = *found;
        }
    }
    uint32_t needed = joint->majority ? joint->member_count - joint->quorum + 1 : 1;
    return locked < needed ? (struct lock_answer){.locked = false} : answer;
}

static void note_answer(struct run *run) {
    if (run->kind == OPERATION_FORCE) {
        run->done->operation.forced = any_forced(run->crew, run->crew_count);
    } else if (run->kind == OPERATION_QUERY) {
        run->done->answer = joint_answer(run->joint, run->crew, run->crew_count);
    }
}

bool joint_crew_step(struct run *run, int64_t now, int *status_out) {
    struct joint *joint = run->joint;
    if (!run->crew) {
        struct errand errand = {.kind = run->kind,
                                .owner = run->owner,
                                .named_owner = true,
                                .lease_ms = run->lease_ms,
                                .max_hold_ms = REDLATCH_FOREVER,
                                .run = run};
        run->crew_until = NEVER;
        run->started_at = now;
        run->crew = start_all(joint, &errand, run->kind == OPERATION_RELEASE, &run->crew_count);
        if (!run->crew) {
            *status_out = REDLATCH_NO_MEMORY;
            return true;
        }
    }
    for (uint32_t i = 0; i < run->crew_count; i++) {
        if (run->crew[i].active) {
            task_collect(&run->crew[i]);
        }
    }
    uint32_t active = count_active(run->crew, run->crew_count);
    bool enough = joint->majority && count_status(run->crew, run->crew_count, REDLATCH_OK) >= joint->quorum;
    if (active > 0 && enough && run->crew_until == NEVER) {
        run->crew_until = multi_moment(run->started_at, now) + (asks(run->kind) ? ANSWER_WAIT : 0);
    }
    for (uint32_t i = 0; now >= run->crew_until && i < run->crew_count; i++) {
        if (run->crew[i].active) {
            task_abort(&run->crew[i]);
            active--;
        }
    }
    if (active > 0) {
        return false;
    }
    note_answer(run);
    *status_out = outcome(joint, run->crew, run->crew_count);
    return true;
}

int joint_release(const struct redlatch_lock *lock, uint64_t owner) {
    uint32_t count;
    struct errand errand = {.kind = OPERATION_RELEASE,
                            .owner = lock_owner(lock, owner),
                            .named_owner = owner != 0 || lock->owner != 0,
                            .max_hold_ms = REDLATCH_FOREVER};
    struct task *tasks = run_all(lock->joint, &errand, true, &count);
    if (!tasks) {
        return REDLATCH_NO_MEMORY;
    }
    int status = sum_up(lock, tasks, count, "release");
    joint_note_released(lock->joint, errand.owner, status);
    free(tasks);
    return status;
}

int joint_extend(const struct redlatch_lock *lock, uint64_t owner, int64_t lease_ms) {
    uint32_t count;
    struct errand errand = {.kind = OPERATION_EXTEND,
                            .owner = lock_owner(lock, owner),
                            .named_owner = owner != 0 || lock->owner != 0,
                            .lease_ms = lease_ms,
                            .max_hold_ms = REDLATCH_FOREVER};
    struct task *tasks = run_all(lock->joint, &errand, false, &count);
    if (!tasks) {
        return REDLATCH_NO_MEMORY;
    }
    int status = sum_up(lock, tasks, count, "extend");
    free(tasks);
    return status;
}

int joint_force(const struct redlatch_lock *lock, int32_t *released_out) {
    uint32_t count;
    struct errand errand = {.kind = OPERATION_FORCE, .max_hold_ms = REDLATCH_FOREVER};
    struct task *tasks = run_all(lock->joint, &errand, false, &count);
    if (!tasks) {
        return REDLATCH_NO_MEMORY;
    }
    int status = sum_up(lock, tasks, count, "force release of");
    if (status == REDLATCH_OK && released_out) {
        *released_out = any_forced(tasks, count);
    }
    free(tasks);
    return status;
}

int joint_query(const struct redlatch_lock *lock, struct lock_answer *answer_out) {
    uint32_t count;
    struct errand errand = {.kind = OPERATION_QUERY, .max_hold_ms = REDLATCH_FOREVER};
    struct task *tasks = run_all(lock->joint, &errand, false, &count);
    if (!tasks) {
        return REDLATCH_NO_MEMORY;
    }
    *answer_out = joint_answer(lock->joint, tasks, count);
    int status = sum_up(lock, tasks, count, "query of");
    free(tasks);
    return status;
}
