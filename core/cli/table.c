/* Locks as a table. On a terminal it is as wide as that: owners are cut, and names only where that is not enough.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "found.h"

enum { NAME, KIND, HOLDER, HOST, COUNT, TTL, WAITERS, COLUMNS };
enum { GAP = 2, NARROWEST = 8 };

static const char *const heads[COLUMNS] = {"NAME", "KIND", "HOLDER", "HOST", "COUNT", "TTL", "WAITERS"};

/* What stands in a cell, in full. The memory is the caller's; NULL without. */
static char *cell(const struct found *found, int column) {
    char text[200];
    redlatch_party party;
    bool held = found_party(found, 0, &party) && party.role != REDLATCH_WAITER;
    switch (column) {
    case NAME: {
        int width;
        return text_shown(found->name, (size_t)found->facts.name_size, 0, &width);
    }
    case KIND:
        return strdup(redlatch_detected_kind_name(found->facts.detected_kind));
    case HOLDER:
        if (found->facts.holders > 1) {
            snprintf(text, sizeof text, "%s and %llu more", party.owner, (unsigned long long)found->facts.holders - 1);
        } else {
            snprintf(text, sizeof text, "%s", held ? party.owner : "-");
        }
        break;
    case HOST:
        if (held && party.pid) {
            snprintf(text, sizeof text, "%s:%lld", party.host, (long long)party.pid);
        } else {
            snprintf(text, sizeof text, "-");
        }
        break;
    case COUNT:
        snprintf(text, sizeof text, "%llu", held ? (unsigned long long)party.count : 0);
        break;
    case TTL:
        if (found_is_count(found) && found->facts.ttl_ms < 0) {
            snprintf(text, sizeof text, "-");
        } else {
            text_ttl(found->facts.ttl_ms, text);
        }
        break;
    default:
        snprintf(text, sizeof text, found->facts.waiters ? "%llu" : "-", (unsigned long long)found->facts.waiters);
        break;
    }
    return strdup(text);
}

static int width_of(const char *text) {
    int width = 0;
    char *shown = text_shown(text, strlen(text), 0, &width);
    free(shown);
    return width;
}

/* Makes the table fit: first the owners give way, down to what tells most of them apart, then hosts, then names. */
static void fit(int widths[COLUMNS], int terminal) {
    static const int order[] = {HOLDER, HOST, NAME};
    static const int least[] = {NARROWEST, NARROWEST, NARROWEST};
    int total = GAP * (COLUMNS - 1);
    for (int i = 0; i < COLUMNS; i++) {
        total += widths[i];
    }
    for (int i = 0; i < 3 && terminal && total > terminal; i++) {
        int *width = &widths[order[i]];
        int spare = *width - least[i];
        int cut = total - terminal < spare ? total - terminal : spare;
        if (cut > 0) {
            *width -= cut;
            total -= cut;
        }
    }
}

static void print_cell(const char *text, int width, bool last, const char *colour) {
    int taken = 0;
    char *shown = text_shown(text, strlen(text), width, &taken);
    printf("%s%s%s", colour, shown ? shown : "", *colour ? "\033[0m" : "");
    if (!last) {
        printf("%*s", width - taken + GAP, "");
    }
    free(shown);
}

void table_print(const struct found *found, size_t count) {
    char **cells = calloc(count ? count * COLUMNS : 1, sizeof *cells);
    if (!cells) {
        complain(STATUS_SYSTEM, "out of memory");
        return;
    }
    int widths[COLUMNS];
    for (int column = 0; column < COLUMNS; column++) {
        widths[column] = (int)strlen(heads[column]);
        for (size_t i = 0; i < count; i++) {
            cells[i * COLUMNS + (size_t)column] = cell(&found[i], column);
            const char *text = cells[i * COLUMNS + (size_t)column];
            int width = text ? width_of(text) : 0;
            widths[column] = width > widths[column] ? width : widths[column];
        }
    }
    fit(widths, text_terminal_width());
    bool coloured = text_coloured();
    for (int column = 0; column < COLUMNS; column++) {
        print_cell(heads[column], widths[column], column == COLUMNS - 1, coloured ? "\033[1m" : "");
    }
    putchar('\n');
    for (size_t i = 0; i < count; i++) {
        bool endless = found[i].facts.ttl_ms < 0 && !found_is_count(&found[i]); /* which no lock should be */
        for (int column = 0; column < COLUMNS; column++) {
            const char *text = cells[i * COLUMNS + (size_t)column];
            const char *colour = column == NAME ? "\033[36m" : column == TTL && endless ? "\033[31m" : "";
            print_cell(text ? text : "", widths[column], column == COLUMNS - 1, coloured ? colour : "");
        }
        putchar('\n');
    }
    for (size_t i = 0; i < count * COLUMNS; i++) {
        free(cells[i]);
    }
    free(cells);
}
