/* Kinds of locks by their names.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* Numbers beyond those of the kinds we know do no harm. */
enum { LAST_KIND = 31 };

static bool is_known(int kind) {
    return strcmp(redlatch_kind_name(kind), "unknown") != 0;
}

bool read_kind(const char *option, const char *text, int *kind_out) {
    char names[200] = "";
    for (int kind = REDLATCH_MUTEX; kind <= LAST_KIND; kind++) {
        const char *name = redlatch_kind_name(kind);
        if (!is_known(kind)) {
            continue;
        }
        if (strcmp(text, name) == 0) {
            *kind_out = kind;
            return true;
        }
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", name);
    }
    complain(STATUS_USAGE, "%s is '%s': expected one of %s", option, text, names);
    return false;
}
