/* Spans of time, as many as come, printed as one field of a line of JSON.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BENCH_SAMPLES_H
#define BENCH_SAMPLES_H

#include "measure.h"

typedef struct samples {
    int64_t *values_ns;
    size_t count;
    size_t room;
} samples;

static inline void samples_add(samples *all, int64_t value_ns) {
    if (all->count == all->room) {
        all->room = all->room == 0 ? 1024 : 2 * all->room;
        all->values_ns = realloc(all->values_ns, all->room * sizeof *all->values_ns);
        if (all->values_ns == NULL) {
            give_up("no memory for %zu samples", all->room);
        }
    }
    all->values_ns[all->count++] = value_ns;
}

/* Prints them in microseconds, and gives their memory back. */
static inline void samples_print(const char *name, samples *all) {
    printf("\"%s\": [", name);
    for (size_t i = 0; i < all->count; i++) {
        printf("%s%.1f", i == 0 ? "" : ", ", (double)all->values_ns[i] / 1e3);
    }
    printf("]");
    free(all->values_ns);
}

#endif
