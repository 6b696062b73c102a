/* What `run` was asked for, and the minding of a command that runs under a lock.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_H
#define RUN_H

#include "cli.h"

struct run_options {
    struct place place;
    const char *name;
    char **command;
    int64_t wait_ms;     /* REDLATCH_FOREVER, or how long to wait for the lock */
    int64_t lease_ms;    /* the watchdog's; 0: the library's */
    int64_t max_hold_ms; /* REDLATCH_FOREVER, or when CMD is ended */
    int64_t min_hold_ms; /* the lock stays taken at least this long */
    int64_t grace_ms;    /* from TERM to KILL */
    int conflict_status; /* when the lock was not obtained in time */
    int kind;            /* enum redlatch_kind */
    const char *key_template; /* of a plain lock, or NULL */
    bool verbose;
};

/* How it went. */
struct outcome {
    int exit_status; /* negative: a signal to end by, as signals_ending says */
    bool ran;  /* else the command could not even be started */
    bool lost; /* the lock, while it ran */
};

/* Runs the command while the lock is held, and minds it: signals, stops, a lost lease. */
struct outcome mind(const struct run_options *options, redlatch_client *client, redlatch_lock *lock);

/* Milliseconds of a clock that also counts suspend where there is one. */
int64_t clock_ms(void);

#endif
