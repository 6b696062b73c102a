/* Text for people: names of any bytes, times, the terminal's width and colours.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#include "found.h"

enum { DOTS = 3, ESCAPED = 4 };

/* Returns the size of the next character in bytes, and stores its width in columns. The width is 0 if it cannot be
 * shown. */
static size_t next_character(const char *text, size_t size, int *columns_out) {
    mbstate_t state;
    memset(&state, 0, sizeof state);
    wchar_t wide;
    size_t bytes = mbrtowc(&wide, text, size, &state);
    bool good = bytes > 0 && bytes <= size && iswprint((wint_t)wide);
    int columns = good ? wcwidth(wide) : 0;
    *columns_out = columns > 0 ? columns : 0;
    return good && columns > 0 ? bytes : 1;
}

/* Writes the text, or as much as fits in `columns`. Returns the width, or -1 if the text was cut. */
static int write_shown(const char *text, size_t size, int columns, char *shown) {
    int width = 0;
    size_t at = 0;
    while (at < size) {
        int wide;
        size_t bytes = next_character(text + at, size - at, &wide);
        if (columns && width + (wide ? wide : ESCAPED) > columns) {
            break;
        }
        if (wide) {
            memcpy(shown, text + at, bytes);
            shown += bytes;
        } else {
            shown += sprintf(shown, "\\x%02x", (unsigned char)text[at]);
        }
        width += wide ? wide : ESCAPED;
        at += bytes;
    }
    *shown = '\0';
    return at < size ? -1 : width;
}

char *text_shown(const char *text, size_t size, int columns, int *width_out) {
    static bool located;
    if (!located) { /* only when needed: it takes time, and most runs print nothing */
        setlocale(LC_CTYPE, "");
        located = true;
    }
    char *shown = malloc(ESCAPED * size + DOTS + 1);
    if (!shown) {
        return NULL;
    }
    *width_out = write_shown(text, size, columns, shown);
    if (*width_out < 0) { /* again, with room for the dots */
        int room = columns > DOTS ? columns - DOTS : 1;
        write_shown(text, size, room, shown);
        int width = 0;
        for (const char *at = shown; *at;) {
            int wide;
            at += next_character(at, strlen(at), &wide);
            width += wide;
        }
        memcpy(shown + strlen(shown), "...", DOTS + 1);
        *width_out = width + DOTS;
    }
    return shown;
}

void text_ttl(int64_t ttl_ms, char text[32]) {
    if (ttl_ms < 0) {
        snprintf(text, 32, "no lease");
    } else if (ttl_ms < INT64_C(600000)) {
        snprintf(text, 32, "%.1f s", (double)ttl_ms / 1000);
    } else {
        snprintf(text, 32, "%lld min", (long long)(ttl_ms / 60000));
    }
}

void text_duration(int64_t ms, char text[32]) {
    static const struct {
        int64_t ms;
        const char *name;
    } units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "min"}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (ms >= units[i].ms && ms % units[i].ms == 0) {
            snprintf(text, 32, "%lld %s", (long long)(ms / units[i].ms), units[i].name);
            return;
        }
    }
    snprintf(text, 32, "%g s", (double)ms / 1000);
}

int text_terminal_width(void) {
    struct winsize size;
    if (!isatty(STDOUT_FILENO)) {
        return 0;
    }
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
        return 80;
    }
    return size.ws_col;
}

bool text_coloured(void) {
    const char *no_colour = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no_colour && *no_colour) && !(terminal && strcmp(terminal, "dumb") == 0);
}
