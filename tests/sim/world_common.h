/* What every simulated world has, whatever its kind of lock: virtual time, random numbers, the scripts, the trace, the
 * coverage, and the first violated rule.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLD_COMMON_H
#define WORLD_COMMON_H

#include "coverage.h"
#include "script_set.h"
#include "sim_random.h"
#include "trace.h"

#define WORLD_COMMON_FIELDS \
    { \
        uint64_t seed; \
        int64_t now; /* true time in microseconds; clocks may differ from it */ \
        uint64_t steps; \
        struct sim_random random; \
        struct script_set *scripts; \
        bool failed; \
        char rule[120]; /* the first violated rule */ \
        char detail[200]; \
        struct coverage coverage; \
        struct trace trace; \
    }

struct world_common WORLD_COMMON_FIELDS;

/* The first member of a scenario's `struct world`. The fields are also members of that struct itself. */
#define WORLD_COMMON \
    union { \
        struct world_common common; \
        struct WORLD_COMMON_FIELDS; \
    }

/* The kind of a scenario's locks, if it is not one of enum redlatch_kind. */
enum {
    KINDS_MIXED = 0, /* names of several kinds, which sets acquire together */
    KIND_MULTI = 64, /* locks over several servers */
    KIND_REDLOCK = 65
};

/* One simulation: how it runs a seed, and what must be found and reached with it. */
struct scenario {
    size_t world_size;
    /* Runs a seed to its end or to its first violation. The world is zero but for the common fields. */
    void (*simulate)(struct world_common *world, uint8_t kind);
    /* Frees the world of a seed that passed, but for the struct itself. */
    void (*free)(struct world_common *world);
    const struct planted_edit *const *planted; /* tables of mistakes in scripts; ends with NULL */
    /* The points that its seeds are to reach, for all kinds. If the range is empty: the points that the kind can
     * reach. */
    enum cover_point first_point, end_point;
};

extern const struct scenario locks_scenario;
extern const struct scenario sets_scenario;
extern const struct scenario counts_scenario;
extern const struct scenario composite_scenario;
extern const struct scenario failover_scenario;
extern const struct scenario failover_counts_scenario;
extern const struct scenario cluster_scenario;

/* Notes that a rule was violated. Only the first violation of a seed is kept. */
#define world_violation(world, rule, ...) common_violation(&(world)->common, rule, __VA_ARGS__)
void common_violation(struct world_common *world, const char *rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Begins an event. If the engine takes too many steps in it, the seed has failed and is left. */
void event_begins(void);

#define cover(world, point) ((void)(world)->coverage.counts[point]++)

#endif
