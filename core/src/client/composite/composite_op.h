/* A composite operation. An acquire has the machine of protocol/multi.c, and a subrequest for each of its actions.
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
    uint32_t count_before; /* the owner's hold count of the RedLock before: a group is granted once it has more */
    bool given_up;

    /* asynchronous */
    struct composite_op *next; /* in the first client's list */
    struct client *first;
    struct request *done; /* its event reports the end; it belongs to the client from then on */
    uint8_t kind;         /* enum operation_kind */
    atomic_bool posted;   /* a subrequest is done, or the call was cancelled */
    atomic_bool cancelled;
    bool over;                 /* its event is queued */
    bool collected;            /* its event was collected */
    int64_t claim_by;          /* a grant that is not collected by then is given back */
    int64_t subrequests_until; /* other than acquire: when missing replies are given up; NEVER while that is open */
    int64_t started_at;
    struct composite_explanation *explanation; /* of its failure, while the server is queried; else NULL */
    const struct finding *finding;             /* the result of the explanation; NULL if there is none */
    struct error_text error;                   /* of its failure, once over */
    struct subrequest *subrequests;            /* other than acquire: one for each group, or for each member */
    uint32_t subrequest_count;

    struct redlatch_cancel *cancel; /* blocking; may be NULL */
    struct multi multi;
    struct multi_group *groups;
    uint32_t *granted; /* of each group, how many acquires this operation was granted and has not released */
    struct subrequest *group_requests; /* one for each group; then one for the watch */
    struct subrequest_set waiting_set;
};

/* Makes a composite operation. Returns NULL, with the last error set, if there was no memory. */
struct composite_op *composite_op_new(const struct redlatch_lock *lock, uint64_t owner, int64_t lease_ms,
                                      int64_t wait_ms, struct redlatch_cancel *cancel);
void composite_op_free(struct composite_op *op);

/* Carries out what the machine wants done now. Returns true when it is over, with op->multi.status. */
bool composite_op_step(struct composite_op *op);

/* Handles the outcome of a subrequest that was collected. */
void composite_op_take(struct composite_op *op, struct subrequest *subrequest);

/* Ends an operation that no caller waits for any more. Both release in the background what it was granted;
 * composite_op_end also ends its subrequests. */
void composite_op_end(struct composite_op *op);
void composite_op_give_back(struct composite_op *op);

void composite_op_give_up(struct composite_op *op, int status);

/* Drives the operation on this thread until it is over or `until` has come. Returns whether it is over. */
bool composite_op_drive(struct composite_op *op, int64_t until);

#endif
