/* Names of kinds in options, and keys made by templates.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* Returns whether a text is the name of a kind. Names have underscores and options have dashes; a text may have
 * either. */
static bool is_called(const char *text, const char *name) {
    while (*text && (*text == *name || (*text == '-' && *name == '_'))) {
        text++;
        name++;
    }
    return *text == *name;
}

const char *kind_option(int kind) {
    static char text[32];
    snprintf(text, sizeof text, "%s", redlatch_kind_name(kind));
    for (char *part; (part = strchr(text, '_')) != NULL;) {
        *part = '-';
    }
    return text;
}

bool read_kind(const char *option, const char *text, bool (*may_be)(int kind), int *kind_out) {
    char names[200] = "";
    size_t used = 0;
    for (int kind = 1; strcmp(redlatch_kind_name(kind), redlatch_kind_name(0)) != 0; kind++) {
        if (!may_be(kind)) {
            continue;
        }
        if (is_called(text, redlatch_kind_name(kind))) {
            *kind_out = kind;
            return true;
        }
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", kind_option(kind));
    }
    complain(STATUS_USAGE, "%s is '%s': expected one of %s", option, text, names);
    return false;
}

char *key_of_template(const char *template, const char *name) {
    static const char placeholder[] = "{name}";
    const char *found = template ? strstr(template, placeholder) : NULL;
    char *key = NULL;
    int size = found ? asprintf(&key, "%.*s%s%s", (int)(found - template), template, name, found + strlen(placeholder))
                     : asprintf(&key, "%s", name);
    return size < 0 ? NULL : key;
}
