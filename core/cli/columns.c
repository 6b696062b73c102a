/* Tables that fit a terminal.
 * SPDX-License-Identifier: Apache-2.0 */
#include "columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "found.h"

void columns_fit(int *widths, int count, const struct column_rule *rules, size_t rule_count, int terminal) {
    int total = -COLUMN_GAP;
    for (int i = 0; i < count; i++) {
        total += widths[i] ? widths[i] + COLUMN_GAP : 0;
    }
    for (size_t i = 0; i < rule_count && total > terminal; i++) {
        int *width = &widths[rules[i].column];
        if (*width && rules[i].least == 0) {
            total -= *width + COLUMN_GAP;
            *width = 0;
        } else if (*width > rules[i].least) {
            int cut = total - terminal < *width - rules[i].least ? total - terminal : *width - rules[i].least;
            *width -= cut;
            total -= cut;
        }
    }
}

static int width_of(const char *text) {
    int width = 0;
    char *shown = text ? text_shown(text, strlen(text), 0, &width) : NULL;
    free(shown);
    return width;
}

int columns_width(const char *head, char *const *cells, size_t count, int columns, int column) {
    int widest = width_of(head);
    for (size_t i = 0; i < count; i++) {
        int width = width_of(cells[i * (size_t)columns + (size_t)column]);
        widest = width > widest ? width : widest;
    }
    return widest;
}

void columns_print(const char *text, int width, int *printed, const char *colour) {
    if (!width) {
        return;
    }
    int taken = 0;
    char *shown = text ? text_shown(text, strlen(text), width, &taken) : NULL;
    /* The blanks behind the previous cell are printed only now, so that no row ends with blanks. */
    printf("%*s%s%s%s", *printed, "", colour, shown ? shown : "", *colour ? "\033[0m" : "");
    *printed = width - taken + COLUMN_GAP;
    free(shown);
}
