/* An acquire over several clients, on the thread of its caller.
 * SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "joint_holds.h"
#include "lock.h"

/* How long giving back is waited for; then it goes on in the background. */
enum { UNDO_WAIT_MS = 250 };

struct run *run_new(const struct redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                    struct redlatch_cancel *cancel) {
    struct joint *joint = lock->joint;
    uint32_t count = joint->group_count;
    struct run *run = calloc(1, sizeof *run);
    struct multi_group *groups = calloc(count, sizeof *groups);
    uint32_t *granted = calloc(count, sizeof *granted);
    struct task *tasks = calloc(count + 1, sizeof *tasks);
    if (!run || !groups || !granted || !tasks) {
        free(run);
        free(groups);
        free(granted);
        free(tasks);
        fail_plain(REDLATCH_NO_MEMORY);
        return NULL;
    }
    int64_t now = system_now();
    run->joint = joint_keep(joint);
    run->owner = lock_owner(lock, owner);
    run->named_owner = owner != 0 || lock->owner != 0;
    run->lease_ms = lease_ms == REDLATCH_LEASE_OF_LOCK ? lock->lease_ms : lease_ms;
    run->max_hold_ms = lock->max_hold_ms;
    run->wait_ms = wait_ms;
    run->wait_until = wait_ms == REDLATCH_FOREVER ? NEVER : now + wait_ms * MILLISECOND;
    run->cancel = cancel;
    run->groups = groups;
    run->granted = granted;
    run->tasks = tasks;
    run->together = (struct task_set){.tasks = tasks, .count = count + 1, .cancel = cancel};
    run->levels = joint_levels(joint, run->owner);
    uint64_t random; /* of the client's own, for jitter that others do not draw */
    memcpy(&random, joint->first->engine.uuid, sizeof random);
    multi_init(&run->multi, groups, count, joint->quorum, random ^ (uint64_t)now ^ (run->owner << 32));
    run->multi.patience = lock->client->engine.settings.unreachable_timeout_ms * MILLISECOND;
    run->multi.once = wait_ms == 0;
    run->multi.brief = wait_ms > 0 && run->wait_until - now < BRIEF_WAIT;
    if (wait_ms == 0) {
        run->wait_until = now + lock->client->command_timeout;
    }
    return run;
}

void run_free(struct run *run) {
    joint_drop(run->joint);
    free(run->groups);
    free(run->granted);
    free(run->tasks);
    free(run->crew);
    free(run);
}

/* ------------------------------------------------------------------------------------------------------- actions -- */

static void start_try(struct run *run, uint32_t index) {
    const struct joint_group *group = &run->joint->groups[index];
    struct errand errand = {.kind = OPERATION_ACQUIRE,
                            .set = group->set,
                            .owner = run->owner,
                            .named_owner = run->named_owner,
                            .lease_ms = run->lease_ms,
                            .max_hold_ms = run->max_hold_ms,
                            .once = true,
                            .cancel = run->cancel,
                            .run = run->done ? run : NULL};
    task_start(&run->tasks[index], group->client, &errand);
}

static void start_release(struct run *run, uint32_t index) {
    const struct joint_group *group = &run->joint->groups[index];
    struct errand errand = {.kind = OPERATION_RELEASE,
                            .set = group->set,
                            .owner = run->owner,
                            .named_owner = run->named_owner,
                            .max_hold_ms = REDLATCH_FOREVER,
                            .wait_ms = UNDO_WAIT_MS,
                            .run = run->done ? run : NULL};
    run->granted[index]--;
    task_start(&run->tasks[index], group->client, &errand);
}

static void start_watch(struct run *run, const struct multi_action *action) {
    const struct joint_group *group = &run->joint->groups[action->group];
    struct errand errand = {.kind = OPERATION_WATCH,
                            .resource = group->set->members[action->member].resource,
                            .lock_kind = group->set->members[action->member].lock_kind,
                            .max_hold_ms = REDLATCH_FOREVER,
                            .wait_ms = REDLATCH_FOREVER,
                            .cancel = run->cancel,
                            .run = run->done ? run : NULL};
    task_start(&run->tasks[run->joint->group_count], group->client, &errand);
}

/* A try that nobody waits for any more. It may have been granted a moment ago. */
static void end_try(struct run *run, uint32_t index) {
    struct task *task = &run->tasks[index];
    if (task->active) {
        task_abort(task);
        run->granted[index] += task->status == REDLATCH_OK;
    }
}

/* What a group was granted before its try was ended is given back where nobody waits for that. */
static void give_back_rest(struct run *run, uint32_t index) {
    while (run->granted[index] > 0) {
        start_release(run, index);
        if (run->tasks[index].active) {
            task_abort(&run->tasks[index]);
        }
    }
}

static void tried(struct run *run, uint32_t index) {
    struct task *task = &run->tasks[index];
    bool granted = task->status == REDLATCH_OK;
    run->granted[index] += granted;
    if (granted && run->joint->majority && task->count <= run->levels) { /* it was not among those granted before */
        start_try(run, index);
        if (!task->active) {
            tried(run, index);
        }
        return;
    }
    if (!granted) {
        give_back_rest(run, index);
    }
    multi_tried(&run->multi, index, task->status, task->member, task->deadline, system_now());
}

static void released(struct run *run, uint32_t index) {
    while (run->granted[index] > 0) {
        start_release(run, index);
        if (run->tasks[index].active) {
            return;
        }
    }
    multi_released(&run->multi, index);
}

void run_take(struct run *run, struct task *task) {
    uint32_t index = (uint32_t)(task - run->tasks);
    if (index == run->joint->group_count) {
        multi_watched(&run->multi, task->status, system_now());
    } else if (task->call.operation.kind == OPERATION_ACQUIRE) {
        tried(run, index);
    } else {
        released(run, index);
    }
}

static void carry_out(struct run *run, const struct multi_action *action) {
    struct task *task = &run->tasks[action->group];
    switch (action->kind) {
    case MULTI_TRY:
        start_try(run, action->group);
        break;
    case MULTI_ABORT:
        end_try(run, action->group);
        give_back_rest(run, action->group);
        return;
    case MULTI_RELEASE:
        start_release(run, action->group);
        break;
    default:
        task = &run->tasks[run->joint->group_count];
        if (action->stop) {
            if (task->active) {
                task_abort(task);
            }
            return;
        }
        start_watch(run, action);
        break;
    }
    if (!task->active) { /* the client did not let it */
        task->call.operation.kind = action->kind == MULTI_RELEASE ? OPERATION_RELEASE : OPERATION_ACQUIRE;
        run_take(run, task);
    }
}

bool run_step(struct run *run) {
    if (!run->given_up && joint_is_lost(run->joint, run->owner)) {
        run_give_up(run, REDLATCH_LOST); /* though other servers might grant it now: release has to tell first */
    }
    for (;;) {
        struct multi_action action = multi_next(&run->multi, system_now());
        if (action.kind == MULTI_DONE || action.kind == MULTI_NOTHING) {
            return action.kind == MULTI_DONE;
        }
        carry_out(run, &action);
    }
}

/* ------------------------------------------------------------------------------------------------------ blocking -- */

static int64_t earlier(int64_t one, int64_t other) {
    return one < other ? one : other;
}

static bool is_cancelled(const struct run *run) {
    return run->cancel && (atomic_load(&run->cancel->word) & CANCEL_FIRED);
}

/* Nothing is under way: sleeps until there is something to do, or the caller is done with waiting. */
static void sleep_until(struct run *run, int64_t until) {
    _Atomic uint32_t nobody = 0;
    _Atomic uint32_t *word = run->cancel ? &run->cancel->word : &nobody;
    uint32_t seen = atomic_load(word);
    if (!(seen & CANCEL_FIRED)) {
        system_wait(word, seen, until);
    }
}

static bool is_waited_for(const struct run *run) {
    for (uint32_t i = 0; i <= run->joint->group_count; i++) {
        if (run->tasks[i].active) {
            return true;
        }
    }
    return false;
}

static void wait_for_answer(struct run *run, int64_t until) {
    until = earlier(until, multi_timer(&run->multi));
    if (!is_waited_for(run)) {
        sleep_until(run, until);
        return;
    }
    struct task *task = tasks_wait(&run->together, until);
    if (task) {
        run_take(run, task);
    }
}

void run_give_up(struct run *run, int status) {
    run->given_up = true;
    run->together.cancel = NULL; /* what is given back is waited for */
    multi_give_up(&run->multi, status);
}

void run_give_back(struct run *run) {
    for (uint32_t i = 0; i < run->joint->group_count; i++) {
        give_back_rest(run, i);
    }
}

void run_end(struct run *run) {
    for (uint32_t i = 0; i <= run->joint->group_count; i++) {
        struct task *task = &run->tasks[i];
        bool acquires = task->active && task->call.operation.kind == OPERATION_ACQUIRE;
        if (task->active) {
            task_abort(task);
        }
        if (acquires && i < run->joint->group_count) {
            run->granted[i] += task->status == REDLATCH_OK;
        }
    }
    for (uint32_t i = 0; i < run->crew_count; i++) {
        if (run->crew[i].active) {
            task_abort(&run->crew[i]);
        }
    }
    run_give_back(run);
}

bool run_drive(struct run *run, int64_t until) {
    bool over;
    while (!(over = run_step(run))) {
        int64_t now = system_now();
        if (!run->given_up && is_cancelled(run)) {
            run_give_up(run, REDLATCH_CANCELLED);
        } else if (!run->given_up && now >= run->wait_until) {
            run_give_up(run, REDLATCH_TIMEOUT);
        } else if (now >= until) {
            break;
        } else {
            wait_for_answer(run, run->given_up ? until : earlier(until, run->wait_until));
        }
    }
    tasks_leave(&run->together);
    return over;
}
