/* Counts of what was reached.
 * SPDX-License-Identifier: Apache-2.0 */
#include "coverage.h"

#include <inttypes.h>

#include "kind_lacks.h"

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

int coverage_print(const struct coverage *coverage, uint8_t lock_kind, FILE *file) {
    int zeros = 0;
    for (int i = 0; i < COVER_COUNT; i++) {
        if (kind_lacks_point(lock_kind, (enum cover_point)i)) {
            continue;
        }
        bool zero = coverage->counts[i] == 0;
        fprintf(file, "%12" PRIu64 "  %s%s\n", coverage->counts[i], point_words[i], zero ? "  <- never" : "");
        zeros += zero;
    }
    return zeros;
}
