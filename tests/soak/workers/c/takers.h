/* What a worker takes, by shape: one acquire with all that belongs to it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SOAK_TAKERS_H
#define SOAK_TAKERS_H

#include <redlatch.h>
#include <stdbool.h>
#include <stddef.h>

#include "plan.h"

struct taker;

enum { SERVERS_MAX = 8 };

/* One for each server. Locks of a single name are on the first. */
struct clients {
    redlatch_client *of[SERVERS_MAX];
    int count;
};

/* How things of a shape are taken and given back. Functions return statuses. */
struct shape {
    const char *name;
    int (*open)(struct taker *taker, const struct clients *clients);
    /* Does what is to be done before, such as counting down; false if the turn is over with that. May be NULL. */
    bool (*prepare)(struct taker *taker);
    int (*take)(struct taker *taker);
    /* Writes what the grant is known by, as members of JSON with a comma before each. */
    void (*tell)(struct taker *taker, char *facts, size_t size);
    /* For how many nanoseconds it is safe from a moment just passed; 0 if it is lost. */
    int64_t (*safe)(struct taker *taker);
    /* Goes in one level deeper; false if it was found lost. leave_inner gives back all of them. NULL without levels. */
    bool (*again)(struct taker *taker);
    void (*leave_inner)(struct taker *taker);
    int (*give)(struct taker *taker); /* NULL if there is nothing to give back */
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
    int permits;     /* 1 of a lock */
};

/* The options of a turn's lock. */
redlatch_lock_options lock_options_of(const struct turn *turn);

/* How locks are made whose name stands for several. */
int group_open(struct taker *taker, const struct clients *clients);
int multi_open(struct taker *taker, const struct clients *clients);
int redlock_open(struct taker *taker, const struct clients *clients);

/* What is counted, in counted.c. */
extern const struct shape shape_semaphore, shape_permits, shape_latch;

/* The shape of a turn, or the end of the process. */
const struct shape *shape_of(const struct turn *turn);

#endif
