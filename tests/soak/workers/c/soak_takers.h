/* The takers of a worker, by shape: one acquire with everything that belongs to it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SOAK_TAKERS_H
#define SOAK_TAKERS_H

#include <redlatch.h>
#include <stdbool.h>
#include <stddef.h>

#include "soak_plan.h"

struct taker;

enum { SERVERS_MAX = 8 };

/* A client for each server. Locks of a single name are on the first server. */
struct clients {
    redlatch_client *of[SERVERS_MAX];
    int count;
};

/* How locks of a shape are acquired and released. Functions of type int return statuses. */
struct shape {
    const char *name;
    int (*open)(struct taker *taker, const struct clients *clients);
    /* Does what comes before the acquire, such as counting down. Returns false if the turn has ended with that. May be
     * NULL. */
    bool (*prepare)(struct taker *taker);
    int (*take)(struct taker *taker);
    /* Writes what identifies the grant, as JSON members with a comma before each. */
    void (*tell)(struct taker *taker, char *facts, size_t size);
    /* Returns for how many nanoseconds from a moment just passed the hold is safe; 0 if it is lost. */
    int64_t (*safe)(struct taker *taker);
    /* Acquires one more level. Returns false if the hold was found lost. leave_inner releases all inner levels. NULL if
     * there are none. */
    bool (*again)(struct taker *taker);
    void (*leave_inner)(struct taker *taker);
    int (*give)(struct taker *taker); /* NULL if there is nothing to release */
    void (*close)(struct taker *taker);
};

struct taker {
    const struct shape *shape;
    const struct plan *plan;
    const struct turn *turn;
    const char *name;
    const char *id;
    redlatch_lock *lock;
    redlatch_semaphore *semaphore;
    redlatch_permit_semaphore *permit_semaphore;
    redlatch_latch *latch;
    uint64_t serial; /* of the first permit */
    int inner;       /* levels beyond the first */
    int permits;     /* 1 for a lock */
};

/* Returns the options of a turn's lock. */
redlatch_lock_options lock_options_of(const struct turn *turn);

/* These make locks whose name stands for several. */
int group_open(struct taker *taker, const struct clients *clients);
int multi_open(struct taker *taker, const struct clients *clients);
int redlock_open(struct taker *taker, const struct clients *clients);

/* Semaphores, permit semaphores and latches, in soak_counted.c. */
extern const struct shape shape_semaphore, shape_permits, shape_latch;

/* Returns the shape of a turn. Ends the process if it is unknown. */
const struct shape *shape_of(const struct turn *turn);

#endif
