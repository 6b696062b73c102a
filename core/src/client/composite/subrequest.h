/* Calls that one thread makes of several clients at once: all are started, then waited for together.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is started is on its way to its server at once, and a slow server keeps nobody from seeing what the others
 * answered. */
#ifndef SUBREQUEST_H
#define SUBREQUEST_H

#include "composite.h"

struct subrequest {
    struct request request;
    struct client *client;
    struct pipeline_io *reads; /* has the reader role of it; NULL */
    bool active;               /* started and not collected */
    int status;                /* once it is not */
    int64_t deadline;          /* of an acquire that was granted: the first end of a hold's safe time */
    uint32_t count;            /* the same: the fewest levels that the owner keeps now of one of the names */
    uint32_t member;           /* of an acquire that was not: what was in the way */
};

/* What a task is to do; `set`, `resource` or `question` says with what. */
struct subrequest_spec {
    uint8_t kind; /* enum operation_kind */
    const struct name_set *set;
    struct resource *resource;
    uint8_t lock_kind;         /* of `resource` */
    struct question *question; /* of an inspection */
    uint64_t owner;
    int64_t lease_ms;
    int64_t max_hold_ms;
    int64_t wait_ms; /* its timeout; of an acquire, with `non_blocking`, the client's command time-out */
    bool non_blocking;
    bool named_owner;
    struct redlatch_cancel *cancel;
    struct composite_op *op; /* asynchronous, for this */
};

/* Starts a task; when the client does not let it, it has its status already. The mutex of no client is held. */
void subrequest_start(struct subrequest *subrequest, struct client *client, const struct subrequest_spec *spec);

/* Drives a task until it is done, or `until`; true when it has been collected. */
bool subrequest_drive(struct subrequest *subrequest, int64_t until);

/* Takes the reply of a task if it is done, without driving it; true when it has been collected. */
bool subrequest_collect(struct subrequest *subrequest);

/* Ends a task that nobody waits for any more; what it left under way goes on, or is undone, in the background. */
void subrequest_abort(struct subrequest *subrequest);

/* Gives up the reader role, if the task has it. The mutex of its client is held. */
void subrequest_stop_reading(struct subrequest *subrequest, int64_t now);

#endif
