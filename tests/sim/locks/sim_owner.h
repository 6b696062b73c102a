/* A simulated thread or task. It runs a random program of calls and knows their results.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_OWNER_H
#define SIM_OWNER_H

#include "list.h"
#include "plan.h"
#include "records.h"

struct client;
struct owner;

struct sim_operation {
    struct operation operation;
    struct sim_operation *next; /* in the client's list */
    struct list_link uncollected;
    struct owner *owner;
    struct lock_answer answer;
    uint64_t serial;       /* new for each operation */
    uint64_t queued_order; /* its place among the waiters of its process; 0: none */
    uint32_t name;
    int64_t begun_local;     /* when it began, by the client's clock */
    int64_t parked_at;       /* true time since when it is parked; 0 */
    int64_t woken_at;        /* true time of what should have woken it; 0: it has rechecked */
    int64_t placeless_since; /* fair: true time since when it has lost its position without knowing it; 0 */
    uint32_t misses;         /* how often a message freed the lock while it was parked and subscribed */
    int32_t levels_before;   /* the owner's hold count when it began */
    int64_t requested_local; /* when its command, or the hand-over to it, was last sent */
    uint32_t levels_left;    /* if `leaves_levels`: the count that the release, given up, should leave */
    int64_t deadline_before; /* release: the hold's deadline, local; INT64_MIN: no hold */
    uint8_t last_phase;
    bool in_use;
    bool passed;    /* a read by an owner that wrote: it overtakes the queue */
    bool certain;   /* levels_before is certain */
    bool ended;     /* its end was noted */
    bool renounced; /* the owner gave it up */
    bool given_up;  /* its time was over, or the owner gave it up */
    bool took;      /* a release that lowered the owner's count when it began */
    bool leaves_levels;
    bool knew_of_loss; /* of a set: a hold was known to be lost when it began */
    bool last;         /* a release whose command ends the hold */
};

struct owner {
    struct client *client;
    uint64_t number;
    uint32_t index;
    uint32_t actions_left;
    uint32_t pending; /* operations in progress, all on last_name, or on both modes of that lock */
    uint32_t last_name;
    bool asynchronous;
    bool several; /* may have several operations in progress: asynchronous, or an owner number that threads share */
    bool finished;
    bool scheduled;            /* an event for its next action exists */
    int32_t levels[MAX_NAMES]; /* granted, and no release begun */
    bool uncertain[MAX_NAMES]; /* a release or nested acquire was refused: only the engine knows the count */
};

void owner_start(struct client *client, uint32_t index);

/* Called when an operation has finished. An asynchronous one is then not yet collected. */
void owner_ended(struct owner *owner, struct sim_operation *operation);

/* Called when an asynchronous grant was released because nobody collected it. */
void owner_unclaimed(struct owner *owner, struct sim_operation *operation);

/* Lets the owner act again. */
void owner_continue(struct owner *owner);

#endif
