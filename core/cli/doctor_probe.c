/* What `redlatch doctor` tries: how long replies take, what the server's clock shows, and a lock of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "doctor.h"

enum { TRIES = 10, PROBE_LEASE_MS = 5000 };
static const double LEASE_S = 30;

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* One reading of the server's clock. */
struct clock_reading {
    double took;   /* seconds until the reply */
    double at;     /* middle of that time, by the monotonic clock */
    double server; /* what the server replied, seconds since 1970 */
    double here;   /* what this machine's clock showed at the middle */
};

static bool take_time(struct doctor *doctor, struct clock_reading *taken) {
    char reply[64];
    double begun = seconds_of(CLOCK_MONOTONIC);
    int status = doctor_command(doctor, (const char *[]){"TIME", NULL}, reply, sizeof reply);
    double ended = seconds_of(CLOCK_MONOTONIC);
    if (status != REDLATCH_OK) {
        return false;
    }
    char *rest;
    double whole = (double)strtoll(reply, &rest, 10);
    taken->server = whole + (double)strtoll(rest, NULL, 10) / 1e6;
    taken->took = ended - begun;
    taken->at = (begun + ended) / 2;
    taken->here = seconds_of(CLOCK_REALTIME) - taken->took / 2;
    return true;
}

static void check_latency(struct doctor *doctor, double best, double worst) {
    enum level level = worst > 1 ? LEVEL_PROBLEM : best > 0.1 ? LEVEL_WARNING : LEVEL_OK;
    doctor_add(doctor, level, "latency",
               "Leases are prolonged every 10 s. Use a server that is nearer, or find what keeps it busy (SLOWLOG).",
               "a reply took %.1f ms, at most %.1f ms of %d", best * 1000, worst * 1000, TRIES);
}

static void check_clock(struct doctor *doctor, const struct clock_reading *first, const struct clock_reading *last,
                        double best) {
    double jump = last->server - first->server - (last->at - first->at);
    double ahead = first->server - first->here;
    double wrong = ahead < 0 ? -ahead : ahead;
    if (jump > 0.5 || jump < -0.5) {
        doctor_add(doctor, LEVEL_PROBLEM, "clock", "Leases run on the server's clock: slew it, never step it.",
                   "the server's clock jumped by %.1f s within %.1f s", jump, last->at - first->at);
    } else if (wrong > 1 + best) {
        doctor_add(doctor, wrong < LEASE_S ? LEVEL_WARNING : LEVEL_PROBLEM, "clock",
                   "Correct the clock that is wrong; the server's by slewing, for a step changes every lease.",
                   "the server's clock is %.1f s %s this machine's: if it is the wrong one, its correction by a step"
                   " %s all leases by as much",
                   wrong, ahead > 0 ? "ahead of" : "behind", ahead > 0 ? "prolongs" : "shortens");
    } else {
        doctor_add(doctor, LEVEL_OK, "clock", NULL, "the server's clock and this machine's differ by %.3f s", wrong);
    }
}

void doctor_check_time(struct doctor *doctor) {
    struct clock_reading readings[TRIES];
    double best = 1e9;
    double worst = 0;
    int nearest = 0;
    for (int i = 0; i < TRIES; i++) {
        if (!take_time(doctor, &readings[i])) {
            doctor_add(doctor, LEVEL_NOTE, "clock", NULL, "the server's clock is unknown (%s)", redlatch_last_error());
            return;
        }
        nearest = readings[i].took < best ? i : nearest;
        best = readings[i].took < best ? readings[i].took : best;
        worst = readings[i].took > worst ? readings[i].took : worst;
    }
    check_latency(doctor, best, worst);
    check_clock(doctor, &readings[nearest], &readings[nearest == TRIES - 1 ? 0 : TRIES - 1], best);
}

/* Returns what to do about a lock that cannot be held. Returns NULL if the error text is enough. */
static const char *advice_of(int status) {
    switch (status) {
    case REDLATCH_READ_ONLY:
        return "Use the master's address, or a URL that finds it: redis+sentinel:// or redis+replicas://.";
    case REDLATCH_SERVER_OUT_OF_MEMORY:
        return "Raise maxmemory, or keep locks on a server of their own.";
    case REDLATCH_NO_PERMISSION:
        return "See the findings about rights; with NAME the doctor tries a lock beside that name.";
    case REDLATCH_NOT_REPLICATED:
        return "Connect as many replicas as min_replicas of the URL says.";
    default:
        return NULL;
    }
}

void doctor_check_lock(struct doctor *doctor) {
    redlatch_lock *lock = NULL;
    redlatch_lock_options options;
    redlatch_lock_options_init(&options, sizeof options);
    options.lease_ms = PROBE_LEASE_MS;
    double begun = seconds_of(CLOCK_MONOTONIC);
    int status = redlatch_lock_new(doctor->client, REDLATCH_MUTEX, doctor->probe, strlen(doctor->probe), &options,
                                   &lock);
    if (status == REDLATCH_OK) {
        status = redlatch_lock_acquire(lock, 0);
    }
    if (status == REDLATCH_OK) {
        status = redlatch_lock_extend(lock, 0, PROBE_LEASE_MS);
    }
    if (status == REDLATCH_OK) {
        status = redlatch_lock_release(lock);
    }
    if (status == REDLATCH_OK) {
        doctor_add(doctor, LEVEL_OK, "lock", NULL, "acquired, extended and released a lock in %.1f ms",
                   (seconds_of(CLOCK_MONOTONIC) - begun) * 1000);
    } else {
        doctor_add(doctor, LEVEL_PROBLEM, "lock", advice_of(status), "a lock cannot be held: %s",
                   redlatch_last_error());
    }
    redlatch_lock_free(lock);
}
