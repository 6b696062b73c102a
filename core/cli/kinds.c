/* Kinds of locks by their names.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* Words are parted by dashes in options and by underscores where kinds are shown; either will do. */
static bool is_called(const char *text, const char *name) {
    while (*text && (*text == *name || (*text == '-' && *name == '_'))) {
        text++;
        name++;
    }
    return *text == *name;
}

bool read_kind(const char *option, const char *text, const int *kinds, size_t count, int *kind_out) {
    char names[200] = "";
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = redlatch_kind_name(kinds[i]);
        if (is_called(text, name)) {
            *kind_out = kinds[i];
            return true;
        }
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", name);
    }
    for (char *at = names; *at; at++) {
        *at = *at == '_' ? '-' : *at;
    }
    complain(STATUS_USAGE, "%s is '%s': expected one of %s", option, text, names);
    return false;
}
