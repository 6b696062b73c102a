/* An acquire over several clients: the machine of protocol/multi.c and the calls that it wants made.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_H
#define RUN_H

#include "multi.h"
#include "task.h"

struct run {
    struct joint *joint; /* kept */
    uint64_t owner;
    bool named_owner;
    int64_t lease_ms;
    int64_t max_hold_ms;
    int64_t wait_ms;
    int64_t wait_until;
    uint32_t levels;  /* of the whole that the owner had before: a majority is granted where it has more */
    bool given_up;

    /* asynchronous */
    struct run *next;      /* of the first client's */
    struct client *first;
    struct call *done;     /* whose event tells of the end; the client's from then on */
    uint8_t kind;          /* enum operation_kind */
    atomic_bool posted;    /* an operation of it is done */
    atomic_bool cancelled;
    bool over;             /* told */
    bool collected;        /* and taken */
    int64_t claim_by;      /* a grant that is not collected by then is given back */
    int64_t crew_until;    /* release, extension: when those that did not answer are given up; NEVER */
    int64_t started_at;
    struct words words;    /* of its failure, once over */
    struct task *crew;     /* release, extension: one for each client, or member */
    uint32_t crew_count;

    struct redlatch_cancel *cancel; /* blocking; may be NULL */
    struct multi multi;
    struct multi_group *groups;
    uint32_t *granted; /* levels that this run was granted, of each group */
    struct task *tasks; /* one of each group; then the watch */
    struct task_set together;
};

/* Makes a run; NULL without memory, with the last error set. */
struct run *run_new(const struct redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                    struct redlatch_cancel *cancel);
void run_free(struct run *run);

/* Carries out what the machine wants done now; true when it is over, with run->multi.status. */
bool run_step(struct run *run);

/* Takes in the answer of a task that was collected. */
void run_take(struct run *run, struct task *task);

/* Ends a run that nobody waits for any more: what it was granted is given back in the background. */
void run_end(struct run *run);
void run_give_back(struct run *run);

void run_give_up(struct run *run, int status);

/* Drives the run on this thread until it is over, or `until`; true when it is over. */
bool run_drive(struct run *run, int64_t until);

#endif
