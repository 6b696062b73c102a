/* Semaphores, permit semaphores and latches.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "soak_journal.h"
#include "soak_takers.h"

/* More nanoseconds than any run lasts. */
static const int64_t endless = 1000000000000000;

/* ------------------------------------------------------------------------------------ permits that nobody owns -- */

static int semaphore_open(struct taker *taker, const struct clients *clients) {
    taker->permits = taker->turn->levels;
    return redlatch_semaphore_new(clients->of[0], taker->name, strlen(taker->name), NULL, &taker->semaphore);
}

/* The first turn creates the semaphore. If its call fails, another turn does it. */
static bool semaphore_prepare(struct taker *taker) {
    int32_t set = 0;
    redlatch_semaphore_try_set_permits(taker->semaphore, taker->turn->kind->amount, REDLATCH_FOREVER, &set);
    return true;
}

static int semaphore_take(struct taker *taker) {
    return redlatch_semaphore_acquire(taker->semaphore, taker->permits, taker->turn->wait_ms, NULL);
}

static void tell_nothing(struct taker *taker, char *facts, size_t size) {
    (void)taker;
    snprintf(facts, size, "%s", "");
}

static int64_t semaphore_safe(struct taker *taker) {
    (void)taker;
    return endless;
}

static int semaphore_give(struct taker *taker) {
    return redlatch_semaphore_release(taker->semaphore, taker->permits);
}

static void semaphore_close(struct taker *taker) {
    redlatch_semaphore_free(taker->semaphore);
}

const struct shape shape_semaphore = {
    .name = "semaphore",
    .open = semaphore_open,
    .prepare = semaphore_prepare,
    .take = semaphore_take,
    .tell = tell_nothing,
    .safe = semaphore_safe,
    .give = semaphore_give,
    .close = semaphore_close,
};

/* -------------------------------------------------------------------------------------------- permits with ids -- */

static int permits_open(struct taker *taker, const struct clients *clients) {
    taker->permits = taker->turn->levels;
    return redlatch_permit_semaphore_new(clients->of[0], taker->name, strlen(taker->name), NULL,
                                         &taker->permit_semaphore);
}

static bool permits_prepare(struct taker *taker) {
    int32_t set = 0;
    redlatch_permit_semaphore_try_set_permits(taker->permit_semaphore, taker->turn->kind->amount, &set);
    return true;
}

static int permits_take(struct taker *taker) {
    return redlatch_permit_semaphore_acquire(taker->permit_semaphore, taker->permits, taker->turn->lease_ms,
                                             taker->turn->wait_ms, NULL, &taker->serial);
}

static redlatch_permit permit_of(struct taker *taker, int number) {
    redlatch_permit permit = {.struct_size = sizeof permit};
    int status = redlatch_permit_semaphore_permit_status(taker->permit_semaphore, taker->serial + (uint64_t)number,
                                                         &permit);
    if (status != REDLATCH_OK) {
        give_up("redlatch_permit_semaphore_permit_status: %s", redlatch_last_error());
    }
    return permit;
}

static void permits_tell(struct taker *taker, char *facts, size_t size) {
    size_t used = (size_t)snprintf(facts, size, ",\"ids\":[");
    for (int i = 0; i < taker->permits && used < size; i++) {
        redlatch_permit permit = permit_of(taker, i);
        used += (size_t)snprintf(facts + used, size - used, "%s\"%s\"", i ? "," : "", permit.id);
    }
    if (used >= size) {
        give_up("more ids than %zu bytes hold", size);
    }
    snprintf(facts + used, size - used, "]");
}

static int64_t permits_safe(struct taker *taker) {
    int64_t least = INT64_MAX;
    for (int i = 0; i < taker->permits; i++) {
        int64_t remaining = permit_of(taker, i).remaining_ms;
        least = remaining < least ? remaining : least;
    }
    return least * 1000000;
}

static int permits_give(struct taker *taker) {
    int first_failure = REDLATCH_OK;
    for (int i = 0; i < taker->permits; i++) {
        redlatch_permit permit = permit_of(taker, i);
        int status = redlatch_permit_semaphore_release(taker->permit_semaphore, permit.id);
        first_failure = first_failure == REDLATCH_OK ? status : first_failure;
    }
    return first_failure;
}

static void permits_close(struct taker *taker) {
    redlatch_permit_semaphore_free(taker->permit_semaphore);
}

const struct shape shape_permits = {
    .name = "permits",
    .open = permits_open,
    .prepare = permits_prepare,
    .take = permits_take,
    .tell = permits_tell,
    .safe = permits_safe,
    .give = permits_give,
    .close = permits_close,
};

/* ----------------------------------------------------------------------------------------------------- latches -- */

static int latch_open(struct taker *taker, const struct clients *clients) {
    return redlatch_latch_new(clients->of[0], taker->name, strlen(taker->name), &taker->latch);
}

/* Closes the latch if it is open. Then counts it down and returns false, or returns true if the turn is to wait. */
static bool latch_prepare(struct taker *taker) {
    int32_t set = 0;
    int64_t count = taker->turn->kind->amount;
    if (redlatch_latch_try_set_count(taker->latch, count, &set) == REDLATCH_OK && set) {
        say("set", taker->id, ",\"name\":\"%s\",\"n\":%" PRId64, taker->name, count);
    }
    if (taker->turn->levels > 1) {
        return true;
    }
    say("counting", taker->id, ",\"name\":\"%s\"", taker->name);
    redlatch_latch_count_down(taker->latch);
    return false;
}

static int latch_take(struct taker *taker) {
    return redlatch_latch_wait(taker->latch, taker->turn->wait_ms, NULL);
}

static int64_t latch_safe(struct taker *taker) {
    (void)taker;
    return 0; /* a wait that was let through is no hold */
}

static void latch_close(struct taker *taker) {
    redlatch_latch_free(taker->latch);
}

const struct shape shape_latch = {
    .name = "latch",
    .open = latch_open,
    .prepare = latch_prepare,
    .take = latch_take,
    .tell = tell_nothing,
    .safe = latch_safe,
    .close = latch_close,
};
