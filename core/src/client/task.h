/* Calls that one thread makes of several clients at once: all are started, then driven in turns until they are done.
 * SPDX-License-Identifier: Apache-2.0
 *
 * What is started is on its way to its server at once. A reader of one socket leaves it after a moment, so a slow
 * server keeps nobody from seeing what the others answered. */
#ifndef TASK_H
#define TASK_H

#include "joint.h"

struct task {
    struct call call;
    struct client *client;
    bool active;      /* started and not collected */
    int status;       /* once it is not */
    int64_t deadline; /* of an acquire that was granted: the first end of a hold's safe time */
    uint32_t count;   /* the same: the fewest levels that the owner has now of one of the names */
    uint32_t member;  /* of an acquire that was not: what was in the way */
};

/* What a task is to do; `set` or `resource` says with what. */
struct errand {
    uint8_t kind; /* enum operation_kind */
    const struct name_set *set;
    struct resource *resource;
    uint8_t lock_kind; /* of `resource` */
    uint64_t owner;
    int64_t lease_ms;
    int64_t max_hold_ms;
    int64_t wait_ms;   /* its patience; of an acquire, with `once`, the client's command time-out */
    bool once;
    bool named_owner;
    struct redlatch_cancel *cancel;
    struct run *run; /* asynchronous, for this */
};

/* Starts a task; when the client does not let it, it has its status already. The mutex of no client is held. */
void task_start(struct task *task, struct client *client, const struct errand *errand);

/* Drives a task until it is done, or `until`; true when it has been collected. */
bool task_visit(struct task *task, int64_t until);

/* Takes the answer of a task if it is done, without driving it; true when it has been collected. */
bool task_collect(struct task *task);

/* Ends a task that nobody waits for any more; what it left under way goes on, or is undone, in the background. */
void task_abort(struct task *task);

/* Of several tasks, one that is active; NULL if none is. Each time another one, from `turn` on. */
struct task *task_next(struct task *tasks, uint32_t count, uint32_t *turn);

#endif
