/* A process's plan. tests/soak/README.md describes the file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SOAK_PLAN_H
#define SOAK_PLAN_H

#include <stdint.h>

enum {
    KINDS_MAX = 32,
    ADDRESSES_MAX = 100,
    MEMBERS_MAX = 20,
    THREADS_MAX = 16,
    TURNS_MAX = 1000,
    WORD_SIZE = 64,
    NAME_SIZE = 128
};

struct kind {
    char name[WORD_SIZE];
    char shape[WORD_SIZE];
    int number; /* enum redlatch_kind */
    int32_t reentrant;
    int64_t amount;   /* permits of a semaphore, count of a latch */
    int64_t epoch_ms; /* a new one with a new name replaces it this often; 0: never */
};

/* The address of the section of a lock, for locks of a kind. */
struct address {
    char kind[WORD_SIZE];
    char name[NAME_SIZE];
    char host[WORD_SIZE];
    int port;
};

/* A member of multi locks that is no mutex. */
struct member {
    char name[NAME_SIZE];
    int number; /* enum redlatch_kind */
    int32_t reentrant;
};

struct turn {
    const struct kind *kind;
    char name[NAME_SIZE];
    int64_t wait_ms;
    int64_t lease_ms;
    int64_t hold_us;
    int64_t gap_us;
    int levels; /* or permits */
};

struct plan {
    int64_t lease_ms;
    int64_t command_timeout_ms;
    int kinds;
    struct kind kind[KINDS_MAX];
    int addresses;
    struct address address[ADDRESSES_MAX];
    int members;
    struct member member[MEMBERS_MAX];
    int threads;
    int turns[THREADS_MAX];
    struct turn *turn[THREADS_MAX];
};

/* Reads a plan. Ends the process on failure. */
void plan_read(struct plan *plan, const char *path);

void plan_free(struct plan *plan);

#endif
