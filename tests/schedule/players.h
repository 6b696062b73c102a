/* Actors that call the library at random.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAYERS_H
#define PLAYERS_H

#include <stdbool.h>
#include <stdint.h>

#include "redlatch.h"

/* What a scenario's players call; whether a client is closed while they do, how servers are named, whether waits,
 * pauses and faults last long enough for pings, whether stories are played in shortage first, whether others flood the
 * channels with messages, whether connections also end by what is sent, whether memory for output is short now and
 * then, and whether all servers are out of reach together. */
enum {
    CALLS_LOCKS = 1,
    CALLS_COUNTS = 2,
    CALLS_STARTED = 4,
    CALLS_REPORTS = 8,
    CALLS_COMPOSITES = 16,
    CALLS_MISUSE = 32,
    CLOSES_EARLY = 64,
    BY_HOST_NAME = 128,
    LONG_WAITS = 256,
    PLAYS_SHORTAGES = 512,
    CALLS_WAITS = 1024,
    FLOODS = 2048,
    RESETS = 4096,
    STARVES = 8192,
    OUTAGES = 16384
};

enum { KINDS_MAX = 8, NAMES = 2 };

struct scenario {
    const char *name;
    int kinds[KINDS_MAX]; /* of locks; ends with 0 */
    int calls;
    int players, clients;
    int steps;   /* of each player */
    bool faults; /* servers and lines fail */
};

/* The first actor of a run, of a struct scenario: makes the clients, starts the others, waits for them and ends the
 * clients. */
void players_run(void *context);

#endif
