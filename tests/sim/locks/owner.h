/* A simulated thread or task: it runs a random program of locking and knows what it was promised.
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
    struct sim_operation *next; /* of the client */
    struct list_link uncollected;
    struct owner *owner;
    struct lock_answer answer;
    uint64_t serial;       /* new with each use */
    uint64_t queued_order; /* place among the waiters of its process, 0 while it has none */
    uint32_t name;
    int64_t begun_local;     /* by the client's clock */
    int64_t parked_at;       /* true time since when it is parked; 0 */
    int64_t woken_at;        /* true time of what should have woken it; 0: it has looked since */
    int64_t placeless_since; /* fair: true time since when it has no place and does not know it; 0 */
    uint32_t misses;         /* times the lock became free, with a message, while it was parked and listening */
    int32_t levels_before;   /* what the owner held when it began */
    int64_t requested_local; /* when its ask, or the hand-over to it, was sent last */
    uint32_t levels_left;    /* a release that is given up while it waits: what it should leave, if `leaves_levels` */
    int64_t deadline_before; /* release: of the hold, local; INT64_MIN without one */
    uint8_t last_phase;
    bool in_use;
    bool passed;    /* a read of an owner who wrote: it stands before the others */
    bool certain;   /* levels_before is known for sure */
    bool ended;     /* its end was taken note of */
    bool renounced; /* the owner gave it up */
    bool took;      /* a release: its level was taken off when it began */
    bool leaves_levels;
    bool knew_of_loss; /* of a set: when it began, a hold of one of its names was lost */
    bool last;         /* a release: of the last level, by the command sent */
};

struct owner {
    struct client *client;
    uint64_t number;
    uint32_t index;
    uint32_t actions_left;
    uint32_t pending; /* operations under way, all on last_name or, of a read-write lock, on both of its sides */
    uint32_t last_name;
    bool asynchronous;
    bool several; /* may have several operations under way: an asynchronous owner, or a number that threads share */
    bool finished;
    bool scheduled;            /* an event will let it act */
    int32_t levels[MAX_NAMES]; /* granted and not begun to be released */
    bool uncertain[MAX_NAMES]; /* a release or re-entry failed: the engine knows how many there are */
};

void owner_start(struct client *client, uint32_t index);

/* An operation of the owner is done (an asynchronous one: done and not yet collected). */
void owner_ended(struct owner *owner, struct sim_operation *operation);

/* An asynchronous grant was taken back because nobody collected it. */
void owner_unclaimed(struct owner *owner, struct sim_operation *operation);

/* Lets the owner act again. */
void owner_continue(struct owner *owner);

#endif
