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
    int64_t wait_until;
    uint32_t levels;  /* of the whole that the owner had before: a majority is granted where it has more */
    uint32_t turn;
    uint32_t rounds;  /* of looking at sockets in turns */
    bool given_up;
    struct redlatch_cancel *cancel; /* blocking; may be NULL */
    struct multi multi;
    struct multi_group *groups;
    uint32_t *granted; /* levels that this run was granted, of each group */
    struct task *tasks; /* one of each group; then the watch */
};

/* Makes a run; NULL without memory, with the last error set. */
struct run *run_new(const struct redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                    struct redlatch_cancel *cancel);
void run_free(struct run *run);

/* Carries out what the machine wants done now; true when it is over, with run->multi.status. */
bool run_step(struct run *run);

/* Takes in the answer of a task that was collected. */
void run_take(struct run *run, struct task *task);

/* Drives the run on this thread until it is over, or `until`; true when it is over. */
bool run_drive(struct run *run, int64_t until);

#endif
