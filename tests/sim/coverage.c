/* Counts of what a run has reached.
 * SPDX-License-Identifier: Apache-2.0 */
#include "coverage.h"

#include <inttypes.h>

#include "kind_limits.h"
#include "redlatch.h"

enum { RARE_RUN = 10000 };

#define COVER_WORDS(name, words) [name] = (words),
static const char *const point_words[COVER_COUNT] = {NEMESIS_KINDS(COVER_WORDS) OTHER_POINTS(COVER_WORDS)};

const char *cover_words(enum cover_point point) {
    return point_words[point];
}

void coverage_add(struct coverage *total, const struct coverage *one) {
    for (int i = 0; i < COVER_COUNT; i++) {
        total->counts[i] += one->counts[i];
    }
}

/* Returns whether a run of `seeds` seeds must reach a point. A thousand seeds reach COVER_RESOLVE_MOVE about once,
 * since the connection must break during a move to a new id. So only runs of RARE_RUN seeds or more must reach it. */
static bool is_requested(enum cover_point point, uint64_t seeds) {
    return point != COVER_RESOLVE_MOVE || seeds >= RARE_RUN;
}

/* Returns whether a point is not to be printed. TRYAGAIN says that some keys of a command are missing, so a kind whose
 * scripts have one key cannot get it. Changes of a latch are not acknowledged. */
static bool is_out_of_reach(uint8_t lock_kind, enum cover_point first, enum cover_point end, enum cover_point point) {
    bool one_key = lock_kind != REDLATCH_FENCED && lock_kind != REDLATCH_FAIR && lock_kind != REDLATCH_READ;
    if (first == end) {
        return kind_cannot_reach(lock_kind, point);
    }
    return point < first || point >= end || (point == COVER_TRYAGAIN && one_key) ||
           (point == COVER_NOT_REPLICATED && lock_kind == REDLATCH_LATCH);
}

int coverage_print(const struct coverage *coverage, uint8_t lock_kind, enum cover_point first, enum cover_point end,
                   uint64_t seeds, FILE *file) {
    int zeros = 0;
    for (int i = 0; i < COVER_COUNT; i++) {
        if (is_out_of_reach(lock_kind, first, end, (enum cover_point)i)) {
            continue;
        }
        bool zero = coverage->counts[i] == 0;
        fprintf(file, "%12" PRIu64 "  %s%s\n", coverage->counts[i], point_words[i], zero ? "  <- never" : "");
        zeros += zero && is_requested((enum cover_point)i, seeds);
    }
    return zeros;
}
