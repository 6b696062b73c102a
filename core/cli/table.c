/* Prints locks as a table. On a terminal the table fits its width: owner ids are cut first, names last.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "found.h"

enum { NAME, KIND, HOLDER, HOST, COUNT, TTL, WAITERS, NODE, COLUMNS };
enum { NARROWEST = 8 };

static const char *const heads[COLUMNS] = {"NAME", "KIND", "HOLDER", "HOST", "COUNT", "TTL", "WAITERS", "NODE"};

/* Returns the whole text of a cell. In new memory, or NULL if there is none. */
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
            party_location(&party, text);
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
    case NODE:
        return strdup(found->facts.node);
    default:
        snprintf(text, sizeof text, found->facts.waiters ? "%llu" : "-", (unsigned long long)found->facts.waiters);
        break;
    }
    return strdup(text);
}

/* Makes the columns fit a terminal. Holders, hosts and then names are cut. If that is not enough, columns are left out,
 * and names are cut further. */
static void fit(int widths[COLUMNS], int terminal) {
    const struct column_rule rules[] = {{HOLDER, NARROWEST}, {HOST, NARROWEST}, {NAME, terminal / 2}, {HOLDER, 0},
                                        {COUNT, 0},          {KIND, 0},         {NAME, NARROWEST}};
    columns_fit(widths, COLUMNS, rules, sizeof rules / sizeof rules[0], terminal);
}

void table_print(const struct found *found, size_t count, bool wide) {
    char **cells = calloc(count ? count * COLUMNS : 1, sizeof *cells);
    if (!cells) {
        complain(STATUS_SYSTEM, "out of memory");
        return;
    }
    for (size_t i = 0; i < count * COLUMNS; i++) {
        cells[i] = cell(&found[i / COLUMNS], (int)(i % COLUMNS));
    }
    int widths[COLUMNS];
    for (int column = 0; column < COLUMNS; column++) {
        widths[column] = column == NODE && !wide ? 0 : columns_width(heads[column], cells, count, COLUMNS, column);
    }
    int terminal = text_terminal_width();
    if (terminal) {
        fit(widths, terminal);
    }
    bool coloured = text_coloured();
    int printed = 0;
    for (int column = 0; column < COLUMNS; column++) {
        columns_print(heads[column], widths[column], &printed, coloured ? "\033[1m" : "");
    }
    putchar('\n');
    for (size_t i = 0; i < count; i++) {
        bool endless = found[i].facts.ttl_ms < 0 && !found_is_count(&found[i]); /* which no lock should be */
        printed = 0;
        for (int column = 0; column < COLUMNS; column++) {
            const char *colour = column == NAME ? "\033[36m" : column == TTL && endless ? "\033[31m" : "";
            columns_print(cells[i * COLUMNS + (size_t)column], widths[column], &printed, coloured ? colour : "");
        }
        putchar('\n');
    }
    for (size_t i = 0; i < count * COLUMNS; i++) {
        free(cells[i]);
    }
    free(cells);
}
