/* Kinds of locks by their names.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* Those that a program can be run under. */
static const int kinds[] = {REDLATCH_MUTEX, REDLATCH_FENCED, REDLATCH_FAIR,  REDLATCH_SPIN,
                            REDLATCH_READ,  REDLATCH_WRITE,  REDLATCH_PLAIN, REDLATCH_SEMAPHORE,
                            REDLATCH_PERMIT_SEMAPHORE};

/* Words are parted by dashes in options and by underscores where kinds are shown; either will do. */
static bool is_called(const char *text, const char *name) {
    while (*text && (*text == *name || (*text == '-' && *name == '_'))) {
        text++;
        name++;
    }
    return *text == *name;
}

bool read_kind(const char *option, const char *text, int *kind_out) {
    char names[200] = "";
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const char *name = redlatch_kind_name(kinds[i]);
        if (is_called(text, name)) {
            *kind_out = kinds[i];
            return true;
        }
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", name);
    }
    complain(STATUS_USAGE, "%s is '%s': expected one of %s", option, text, names);
    return false;
}
