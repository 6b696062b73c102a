/* Command line of the benchmark programs: pairs of "--name value", strictly checked.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BENCH_ARGUMENTS_H
#define BENCH_ARGUMENTS_H

#include "measure.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

/* One argument; exactly one of the three targets is set, and holds the default. */
struct argument {
    const char *name;
    int *integer;
    double *number;
    const char **text;
};

static inline void argument_store(const struct argument *found, const char *value) {
    char *end = NULL;
    errno = 0;
    if (found->integer != NULL) {
        const long parsed = strtol(value, &end, 10);
        if (errno != 0 || end == value || *end != '\0' || parsed < 0 || parsed > INT_MAX) {
            give_up("%s: \"%s\" is not a whole number of 0 to %d", found->name, value, INT_MAX);
        }
        *found->integer = (int)parsed;
    } else if (found->number != NULL) {
        const double parsed = strtod(value, &end);
        if (errno != 0 || end == value || *end != '\0' || !(parsed >= 0)) {
            give_up("%s: \"%s\" is not a number of 0 or more", found->name, value);
        }
        *found->number = parsed;
    } else {
        *found->text = value;
    }
}

static inline void arguments_read(int count, char **values, const struct argument *table, size_t table_size) {
    for (int i = 1; i < count; i += 2) {
        const struct argument *found = NULL;
        for (size_t entry = 0; entry < table_size; entry++) {
            if (strcmp(values[i], table[entry].name) == 0) {
                found = &table[entry];
            }
        }
        if (found == NULL) {
            give_up("%s is not an argument of %s", values[i], values[0]);
        }
        if (i + 1 == count) {
            give_up("%s needs a value", values[i]);
        }
        argument_store(found, values[i + 1]);
    }
}

#define ARGUMENTS_READ(count, values, table) arguments_read(count, values, table, sizeof(table) / sizeof((table)[0]))

#endif
