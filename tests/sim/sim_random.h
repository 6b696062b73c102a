/* The simulation's only source of random numbers: one stream for each seed, so that a seed always gives the same run.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

struct sim_random {
    uint64_t state;
};

/* splitmix64: any seed is as good as any other. */
static inline uint64_t random_next(struct sim_random *random) {
    uint64_t mixed = random->state += UINT64_C(0x9E3779B97F4A7C15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    return mixed ^ (mixed >> 31);
}

/* Returns a number below `bound`, which is not 0. */
static inline uint32_t random_below(struct sim_random *random, uint32_t bound) {
    return (uint32_t)((random_next(random) >> 32) * bound >> 32);
}

/* Returns a number from `low` to `high`, both included. */
static inline int64_t random_between(struct sim_random *random, int64_t low, int64_t high) {
    return high <= low ? low : low + (int64_t)(random_next(random) % (uint64_t)(high - low + 1));
}

static inline bool random_chance(struct sim_random *random, uint32_t per_thousand) {
    return random_below(random, 1000) < per_thousand;
}

#endif
