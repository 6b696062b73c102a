/* The options of `run`, and how a command is run under a lock.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef RUN_H
#define RUN_H

#include "cli.h"

/* Stands for an exit status that was not given. */
enum { STATUS_DEFAULT = -1 };

struct run_options {
    struct server_options server;
    char **names;
    size_t name_count; /* more than one: a multi lock */
    char **command;
    int64_t wait_ms;          /* REDLATCH_FOREVER, or how long to wait for the lock */
    int64_t lease_ms;         /* of the watchdog; 0: the library's default */
    int64_t fixed_lease_ms;   /* of `acquire`, not renewed; 0: renewed */
    int64_t max_hold_ms;      /* after this time CMD is ended; or REDLATCH_FOREVER */
    int64_t at_least_ms;      /* the lock stays held at least this long */
    int64_t grace_ms;         /* from TERM to KILL */
    int conflict_status;      /* exit status if the lock was not acquired in time; STATUS_DEFAULT: depends on `once` */
    int kind;                 /* enum redlatch_kind; 0: not given */
    bool shared;              /* -s, the same as --kind read */
    bool nonblock;            /* -n, the same as -w 0 */
    bool once;                /* a lock that was not acquired is no failure */
    const char *key_template; /* of a plain lock, or NULL */
    const char *label;        /* of the client; NULL: the environment's or the URL's */
    int permits;              /* how many permits of a semaphore to acquire; 0: not given, one */
    int limit;                /* permits of a semaphore that the acquire creates if it is missing; 0: creates none */
    bool verbose;
    bool quiet; /* no message about a lock that was not acquired in time */
};

/* A day: the longest lease that the library takes for its watchdog. */
enum { LEASE_SECONDS_MAX = 86400 };

/* Reads the command line of `run`. Returns false if the command is to exit with *status_out. */
bool run_read_options(struct run_options *options, int argc, char **argv, int *status_out);

/* Reads NAME... -- CMD, the operands behind the options. Returns false after a complaint. */
bool run_take_operands(struct run_options *options, char **argv);

/* Merges options that mean the same, such as -s and --kind read, and checks that the options go together. Returns false
 * after a complaint. */
bool run_check_options(struct run_options *options);

/* How a command under a lock ended. */
struct outcome {
    int exit_status;   /* negative: a signal to end by, as signals_ending says */
    bool ran;          /* false: the command was not started */
    bool lost;         /* the lock was lost while the command ran, or before it was started */
    int end_requested; /* the last signal that asked for an end, or 0 */
};

struct holding;

/* Opens the client and the handles that the options name, calls `act` with them, and closes all again. Returns what
 * `act` returned. If that is negative, ends this process by that signal instead. */
int run_with_holding(const struct run_options *options,
                     int (*act)(const struct run_options *options, redlatch_client *client, struct holding *holding,
                                redlatch_cancel *cancel));

/* Runs the command under the lock that was just acquired. Afterwards releases the lock, or leaves it held for
 * --at-least. */
struct outcome run_under_lock(const struct run_options *options, redlatch_client *client, struct holding *holding);

/* Runs the command while the lock is held. Passes signals on, stops and continues with the command, and ends it if the
 * lock is lost. */
struct outcome supervise(const struct run_options *options, redlatch_client *client, const struct holding *holding);

/* Returns the milliseconds of a monotonic clock, which counts suspend, too, where the system has such a clock. */
int64_t clock_ms(void);

#endif
