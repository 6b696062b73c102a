/* Runs seeds of a scenario, one after the other or in several processes, and tells what became of them.
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

/* Runs one seed in words. The exit status. */
int simulate_one(const struct options *options, struct script_set *scripts);

/* Runs many; fails also when something was never reached. The exit status. */
int simulate_many(const struct options *options, struct script_set *scripts);

/* Runs seeds until one fails: its world, for the caller to free; NULL when none does. */
struct world_common *simulate_until_failure(const struct options *options, struct script_set *scripts);

/* Plants faults one at a time, each of which some seed must find. The exit status. */
int find_planted_faults(const struct options *options, struct script_set *scripts);

#endif
