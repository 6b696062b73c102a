/* What `run` was asked for, and the minding of a command that runs under a lock.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_H
#define RUN_H

#include "cli.h"

/* What no exit status is. */
enum { STATUS_DEFAULT = -1 };

struct run_options {
    struct server_options server;
    char **names;
    size_t name_count; /* more than one: a multi lock */
    char **command;
    int64_t wait_ms;          /* REDLATCH_FOREVER, or how long to wait for the lock */
    int64_t lease_ms;         /* the watchdog's; 0: the library's */
    int64_t fixed_lease_ms;   /* of `acquire`, not renewed; 0: renewed */
    int64_t max_hold_ms;      /* REDLATCH_FOREVER, or when CMD is ended */
    int64_t at_least_ms;      /* the lock stays taken at least this long */
    int64_t grace_ms;         /* from TERM to KILL */
    int conflict_status;      /* when the lock was not obtained in time; STATUS_DEFAULT: as `once` wants it */
    int kind;                 /* enum redlatch_kind; 0 while it is not said */
    bool shared;              /* -s, which says the same as a kind */
    bool nonblock;            /* -n, which says the same as a wait */
    bool once;                /* not to obtain the lock is no failure */
    const char *key_template; /* of a plain lock, or NULL */
    const char *label;        /* of the client; NULL: the environment's or the URL's */
    int permits;              /* how many permits of a semaphore to take; 0: not said, one */
    int limit;                /* how many a semaphore gets that nobody has made; 0: it is not made */
    bool verbose;
    bool quiet; /* nothing is said of a lock that was not acquired in time */
};

/* A day: what the library takes as the lease of its watchdog. */
enum { LEASE_SECONDS_MAX = 86400 };

/* Reads the command line of `run`; false when there is nothing more to do, and *status_out is how to exit. */
bool run_read_options(struct run_options *options, int argc, char **argv, int *status_out);

/* Reads NAME... -- CMD behind the options, which were read; false after a complaint. */
bool run_take_operands(struct run_options *options, char **argv);

/* Completes options that say the same, and checks them against each other; false after a complaint. */
bool run_check_options(struct run_options *options);

/* How it went. */
struct outcome {
    int exit_status;   /* negative: a signal to end by, as signals_ending says */
    bool ran;          /* else the command could not even be started */
    bool lost;         /* the lock, while it ran */
    int end_requested; /* the signal that asked for an end while it ran, or 0 */
};

struct holding;

/* Opens the client and the handles that the options want, calls `act` with them, and closes all again. The exit status;
 * it may end by a signal. */
int run_with_holding(const struct run_options *options,
                     int (*act)(const struct run_options *options, redlatch_client *client, struct holding *holding,
                                redlatch_cancel *cancel));

/* Runs the command under a lock that was just acquired, and gives that back. */
struct outcome run_under_lock(const struct run_options *options, redlatch_client *client, struct holding *holding);

/* Runs the command while the lock is held, and minds it: signals, stops, a lost lease. */
struct outcome supervise(const struct run_options *options, redlatch_client *client, const struct holding *holding);

/* Milliseconds of a clock that also counts suspend where there is one. */
int64_t clock_ms(void);

#endif
