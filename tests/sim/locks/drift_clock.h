/* Clocks of the simulated machines. They start at any time and run a little fast or slow. A wall clock may be set.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DRIFT_CLOCK_H
#define DRIFT_CLOCK_H

#include <stdint.h>

struct drift_clock {
    int64_t true_base; /* at true_base the clock showed local_base; all in microseconds */
    int64_t local_base;
    int64_t drift_ppm;
};

static inline int64_t clock_local(const struct drift_clock *clock, int64_t true_time) {
    int64_t passed = true_time - clock->true_base;
    return clock->local_base + passed + passed * clock->drift_ppm / 1000000;
}

/* Returns the first true time at which the clock shows at least `local`. */
static inline int64_t clock_true(const struct drift_clock *clock, int64_t local) {
    int64_t wanted = local - clock->local_base;
    int64_t time = clock->true_base + wanted - wanted * clock->drift_ppm / (1000000 + clock->drift_ppm);
    while (clock_local(clock, time) >= local) {
        time--;
    }
    while (clock_local(clock, time) < local) {
        time++;
    }
    return time;
}

static inline void clock_step(struct drift_clock *clock, int64_t true_time, int64_t by) {
    int64_t local = clock_local(clock, true_time);
    clock->true_base = true_time;
    clock->local_base = local + by;
}

#endif
