/* Takers of locks of all kinds that redlatch_lock_new makes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "soak_takers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "soak_journal.h"

redlatch_lock_options lock_options_of(const struct turn *turn) {
    redlatch_lock_options options;
    redlatch_lock_options_init(&options, sizeof options);
    options.lease_ms = turn->lease_ms;
    options.reentrant = turn->kind->reentrant;
    return options;
}

static int lock_open(struct taker *taker, const struct clients *clients) {
    redlatch_lock_options options = lock_options_of(taker->turn);
    return redlatch_lock_new(clients->of[0], taker->turn->kind->number, taker->name, strlen(taker->name), &options,
                             &taker->lock);
}

static int lock_take(struct taker *taker) {
    return redlatch_lock_acquire(taker->lock, taker->turn->wait_ms);
}

static redlatch_hold hold_of(struct taker *taker) {
    redlatch_hold hold = {.struct_size = sizeof hold};
    int status = redlatch_lock_hold_status(taker->lock, 0, &hold);
    if (status != REDLATCH_OK) {
        give_up("redlatch_lock_hold_status: %s", redlatch_last_error());
    }
    return hold;
}

static void lock_tell(struct taker *taker, char *facts, size_t size) {
    redlatch_hold hold = hold_of(taker);
    snprintf(facts, size, ",\"token\":%" PRIu64 ",\"owner\":\"%s\"", hold.token, hold.owner);
}

static int64_t lock_safe(struct taker *taker) {
    return hold_of(taker).remaining_ms * 1000000;
}

static bool lock_again(struct taker *taker) {
    int status = redlatch_lock_try_acquire(taker->lock);
    taker->inner += status == REDLATCH_OK;
    return status != REDLATCH_LOST;
}

static void lock_leave_inner(struct taker *taker) {
    for (int i = 0; i < taker->inner; i++) {
        redlatch_lock_release(taker->lock);
    }
}

static int lock_give(struct taker *taker) {
    return redlatch_lock_release(taker->lock);
}

static void lock_close(struct taker *taker) {
    redlatch_lock_free(taker->lock);
}

#define LOCK(word, opener) \
    { \
        .name = (word), \
        .open = (opener), \
        .take = lock_take, \
        .tell = lock_tell, \
        .safe = lock_safe, \
        .again = lock_again, \
        .leave_inner = lock_leave_inner, \
        .give = lock_give, \
        .close = lock_close, \
    }

static const struct shape locks[] = {
    LOCK("lock", lock_open),
    LOCK("group", group_open),
    LOCK("multi", multi_open),
    LOCK("redlock", redlock_open),
};

const struct shape *shape_of(const struct turn *turn) {
    const struct shape *const shapes[] = {
        &locks[0], &locks[1], &locks[2], &locks[3], &shape_semaphore, &shape_permits, &shape_latch,
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        if (strcmp(shapes[i]->name, turn->kind->shape) == 0) {
            return shapes[i];
        }
    }
    give_up("the shape is %s, which this worker does not know", turn->kind->shape);
}
