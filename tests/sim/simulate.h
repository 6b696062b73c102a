/* Runs seeds of a scenario, one after the other or in several processes, and prints the results.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIMULATE_H
#define SIMULATE_H

#include "world_common.h"

struct options {
    const struct scenario *scenario;
    uint64_t seeds;
    uint64_t first;
    uint64_t seed;
    uint64_t jobs;
    uint8_t kind; /* enum redlatch_kind, or one of world_common.h */
    bool one, faults, trace, sets, failover, cluster;
    const char *scripts; /* a folder; NULL: the embedded ones */
};

enum { JOBS_MAX = 16 };

const char *kind_word(uint8_t kind);

/* Runs one seed and prints its trace and result. Returns the exit status. */
int simulate_one(const struct options *options, struct script_set *scripts);

/* Runs many seeds. Fails also if a coverage point was never reached. Returns the exit status. */
int simulate_many(const struct options *options, struct script_set *scripts);

/* Runs seeds until one fails. Returns its world, which the caller frees, or NULL if none fails. */
struct world_common *simulate_until_failure(const struct options *options, struct script_set *scripts);

/* Plants faults one at a time. Some seed must find each. Returns the exit status. */
int find_planted_faults(const struct options *options, struct script_set *scripts);

#endif
