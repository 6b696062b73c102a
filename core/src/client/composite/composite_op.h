/* An acquire over several clients: the machine of protocol/multi.c and the calls that it wants made.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COMPOSITE_OP_H
#define COMPOSITE_OP_H

#include "multi.h"
#include "subrequests_wait.h"

struct composite_op {
    struct composite *composite; /* kept */
    uint64_t owner;
    bool named_owner;
    int64_t lease_ms;
    int64_t max_hold_ms;
    int64_t wait_ms;
    int64_t wait_until;
    uint32_t count_before; /* of the whole that the owner had before: a majority is granted where it has more */
    bool given_up;

    /* asynchronous */
    struct composite_op *next; /* of the first client's */
    struct client *first;
    struct request *done; /* whose event tells of the end; the client's from then on */
    uint8_t kind;         /* enum operation_kind */
    atomic_bool posted;   /* an operation of it is done */
    atomic_bool cancelled;
    bool over;                 /* told */
    bool collected;            /* and taken */
    int64_t claim_by;          /* a grant that is not collected by then is given back */
    int64_t subrequests_until; /* release, extension: when those that did not answer are given up; NEVER */
    int64_t started_at;
    struct composite_explanation *explanation; /* of its failure, while the server is asked; NULL */
    const struct finding *finding;             /* what came of that; NULL */
    struct error_text error;                   /* of its failure, once over */
    struct subrequest *subrequests;            /* release, extension: one for each client, or member */
    uint32_t subrequest_count;

    struct redlatch_cancel *cancel; /* blocking; may be NULL */
    struct multi multi;
    struct multi_group *groups;
    uint32_t *granted;                 /* levels that this run was granted, of each group */
    struct subrequest *group_requests; /* one of each group; then the watch */
    struct subrequest_set waiting_set;
};

/* Makes a run; NULL without memory, with the last error set. */
struct composite_op *composite_op_new(const struct redlatch_lock *lock, uint64_t owner, int64_t lease_ms,
                                      int64_t wait_ms, struct redlatch_cancel *cancel);
void composite_op_free(struct composite_op *op);

/* Carries out what the machine wants done now; true when it is over, with run->multi.status. */
bool composite_op_step(struct composite_op *op);

/* Takes in the reply of a task that was collected. */
void composite_op_take(struct composite_op *op, struct subrequest *subrequest);

/* Ends a run that nobody waits for any more: what it was granted is given back in the background. */
void composite_op_end(struct composite_op *op);
void composite_op_give_back(struct composite_op *op);

void composite_op_give_up(struct composite_op *op, int status);

/* Drives the run on this thread until it is over, or `until`; true when it is over. */
bool composite_op_drive(struct composite_op *op, int64_t until);

#endif
