/* Asynchronous calls on multi locks and RedLocks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "joint_async.h"

#include <stdlib.h>

#include "failures.h"
#include "joint_calls.h"
#include "joint_holds.h"
#include "joint_words.h"
#include "lock.h"

/* Makes the run and the call whose event will tell of it; NULL without memory. */
static struct run *new_run(const struct redlatch_lock *lock, uint8_t kind, uint64_t owner, int64_t lease_ms,
                           int64_t wait_ms) {
    struct run *run = run_new(lock, owner, lease_ms, wait_ms, NULL);
    struct call *done = run ? calloc(1, sizeof *done) : NULL;
    if (!done) {
        if (run) {
            run_free(run);
            fail_plain(REDLATCH_NO_MEMORY);
        }
        return NULL;
    }
    call_init(done, lock->client, NULL);
    done->operation.kind = kind;
    done->operation.asynchronous = true;
    if (kind == OPERATION_QUERY || kind == OPERATION_FORCE) {
        run->owner = 0; /* for nobody in particular */
    }
    done->operation.owner = run->owner;
    done->operation.resource = lock->resource;
    done->run = run;
    run->done = done;
    run->kind = kind;
    run->first = lock->client;
    run->named_owner = true;
    return run;
}

int joint_start(const struct redlatch_lock *lock, uint8_t kind, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                uint64_t tag, int32_t event) {
    struct client *client = lock->client;
    struct run *run = new_run(lock, kind, owner, lease_ms, wait_ms);
    if (!run) {
        return REDLATCH_NO_MEMORY;
    }
    run->done->tag = tag;
    run->done->event = event;
    int status = enter_call(client);
    if (status == REDLATCH_OK && !keeper_start(client)) {
        leave_call(client);
        status = fail_with(REDLATCH_SYSTEM, "no thread to be had from the system: expected one to renew leases");
    } else if (status == REDLATCH_OK) {
        resource_keep(lock->resource);
        atomic_store(&run->posted, true);
        run->next = client->runs;
        client->runs = run;
        leave_call(client);
        system_signal(client->keeper_signal);
        return REDLATCH_OK;
    }
    free(run->done);
    run_free(run);
    return status;
}

void joint_step_soon(struct run *run) {
    struct client *first = run->first; /* the run may be over as soon as this is seen */
    atomic_store(&run->posted, true);
    system_signal(first->keeper_signal);
}

/* ------------------------------------------------------------------------------------------------------ stepping -- */

/* Keeps the words of a failure for the event. */
static void note_words(struct run *run, int status) {
    struct client *client = run->first;
    const struct redlatch_lock lock = {.client = client, .resource = run->joint->first_name, .joint = run->joint};
    words_swap(&run->words);
    if (status == REDLATCH_INTERNAL && atomic_load(&client->broken)) {
        fail_broken(client);
    } else if (run->kind == OPERATION_ACQUIRE) {
        joint_acquire_failed(&lock, run, true);
    } else if (run->crew) {
        joint_tasks_failed(&lock, run->crew, run->crew_count, verb_of(&run->done->operation), status, true);
    } else {
        fail_plain(status);
    }
    words_swap(&run->words);
}

/* Tells of the end by an event. */
static void complete(struct run *run, int status) {
    struct client *client = run->first;
    struct call *done = run->done;
    uint64_t owner = run->owner;
    if (status != REDLATCH_OK) {
        note_words(run, status);
    }
    if (run->kind == OPERATION_ACQUIRE && status == REDLATCH_OK) {
        joint_note_granted(run->joint, owner, joint_hold_new(run->joint));
    }
    done->operation.serial = joint_serial(run->joint, owner);
    if (run->kind == OPERATION_RELEASE) {
        joint_note_released(run->joint, owner, status);
    }
    done->operation.status = status;
    client_lock(client);
    run->over = true;
    run->wait_until = NEVER;
    run->claim_by = NEVER;
    if (run->kind == OPERATION_ACQUIRE && status == REDLATCH_OK) {
        run->claim_by = system_now() + client->engine.settings.claim_timeout_ms * MILLISECOND;
    }
    list_append(&client->engine.finished, &done->operation.link);
    client_settle(client, system_now());
    client_unlock(client);
}

/* Nobody collected the grant. */
static void give_back(struct run *run) {
    struct client *client = run->first;
    client_lock(client);
    bool late = !run->collected;
    if (late) {
        run->done->operation.status = REDLATCH_UNCLAIMED;
    }
    run->claim_by = NEVER;
    client_unlock(client);
    if (late) {
        joint_note_released(run->joint, run->owner, REDLATCH_OK);
        run_give_back(run);
    }
}

static void step_acquire(struct run *run, int64_t now) {
    if (!run->given_up && (atomic_load(&run->cancelled) || now >= run->wait_until)) {
        run_give_up(run, atomic_load(&run->cancelled) ? REDLATCH_CANCELLED : REDLATCH_TIMEOUT);
    }
    for (uint32_t i = 0; i <= run->joint->group_count; i++) {
        if (run->tasks[i].active && task_collect(&run->tasks[i])) {
            run_take(run, &run->tasks[i]);
        }
    }
    if (run_step(run)) {
        complete(run, run->multi.status);
    }
}

static void step(struct run *run, int64_t now) {
    if (run->over) {
        if (now >= run->claim_by) {
            give_back(run);
        }
    } else if (run->kind == OPERATION_ACQUIRE) {
        step_acquire(run, now);
    } else {
        int status;
        if (joint_crew_step(run, now, &status)) {
            complete(run, status);
        }
    }
}

static int64_t due(const struct run *run) {
    if (atomic_load(&run->posted)) {
        return 0;
    }
    if (run->over) {
        return run->claim_by;
    }
    int64_t timer = run->kind == OPERATION_ACQUIRE ? multi_timer(&run->multi) : run->crew_until;
    int64_t patience = run->given_up || run->kind != OPERATION_ACQUIRE ? NEVER : run->wait_until;
    return timer < patience ? timer : patience;
}

int64_t joint_next_time(const struct client *client) {
    int64_t next = NEVER;
    for (const struct run *run = client->runs; run; run = run->next) {
        int64_t at = run->over && run->collected ? 0 : due(run);
        next = at < next ? at : next;
    }
    return next;
}

/* Takes what is over, and was collected or needs not be waited for, off the list. */
static struct run *take_over(struct client *client) {
    struct run *over = NULL;
    client_lock(client);
    for (struct run **place = &client->runs; *place;) {
        struct run *run = *place;
        if (run->over && run->collected) {
            *place = run->next;
            run->next = over;
            over = run;
        } else {
            place = &run->next;
        }
    }
    client_unlock(client);
    return over;
}

void joint_step_all(struct client *client) {
    client_lock(client);
    struct run *run = client->runs; /* runs are put before it, and taken off by this thread alone */
    client_unlock(client);
    for (; run; run = run->next) {
        int64_t now = system_now();
        if (now >= due(run)) {
            atomic_store(&run->posted, false);
            step(run, now);
        }
    }
    for (struct run *over = take_over(client), *next; over; over = next) {
        next = over->next;
        run_free(over);
    }
}

void joint_cancel(struct client *client, uint64_t tag) {
    for (struct run *run = client->runs; run; run = run->next) {
        if (run->kind == OPERATION_ACQUIRE && !run->over && run->done->tag == tag) {
            atomic_store(&run->cancelled, true);
            atomic_store(&run->posted, true);
            system_signal(client->keeper_signal);
        }
    }
}

void joint_collected(struct run *run) {
    run->collected = true;
    if (run->first->keeper_started) {
        system_signal(run->first->keeper_signal);
    }
}

void joint_end_broken(struct client *client) {
    client_lock(client);
    struct run *run = client->runs;
    client_unlock(client);
    for (; run; run = run->next) {
        if (!run->over) {
            run_end(run);
            complete(run, REDLATCH_INTERNAL);
        }
    }
}

void joint_discard_runs(struct client *client) {
    struct run *run = client->runs;
    client->runs = NULL;
    for (struct run *next; run; run = next) {
        next = run->next;
        if (!run->over) {
            run_end(run);
            client_lock(client);
            resource_drop(&client->engine, run->done->operation.resource);
            client_settle(client, system_now());
            client_unlock(client);
            free(run->done);
        } else if (!run->collected) {
            run->done->run = NULL; /* it is among the events yet */
        }
        run_free(run);
    }
}
