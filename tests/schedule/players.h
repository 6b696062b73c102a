/* Actors that make random calls of the library.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAYERS_H
#define PLAYERS_H

#include <stdbool.h>
#include <stdint.h>

#include "redlatch.h"

/* What the players of a scenario call, and further: CLOSES_EARLY closes a client meanwhile. BY_HOST_NAME names servers
 * by host names. With LONG_WAITS waits, pauses and faults last long enough for pings. PLAYS_SHORTAGES first plays a
 * story with failures. FLOODS floods channels with messages. With RESETS sending may end a connection. With STARVES
 * memory for output is sometimes short. OUTAGES makes all servers unreachable together. */
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

/* The first actor of a run. `context` is a struct scenario. Makes the clients, starts the other actors, waits for their
 * ends and ends the clients. */
void players_run(void *context);

#endif
