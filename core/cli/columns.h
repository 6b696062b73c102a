/* How the columns of a table are made to fit a terminal, and how its cells are printed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COLUMNS_H
#define COLUMNS_H

#include <stddef.h>

enum { COLUMN_GAP = 2 };

/* What to do if a table is too wide: cut a column, down to a least width. If that is 0, leave the column out. */
struct column_rule {
    int column;
    int least;
};

/* Applies the rules in order, each as far as needed, until the table fits the terminal's width. */
void columns_fit(int *widths, int count, const struct column_rule *rules, size_t rule_count, int terminal);

/* Returns the width of a column's widest cell, its head included. `cells` has `count` rows of `columns` cells, some of
 * them NULL. */
int columns_width(const char *head, char *const *cells, size_t count, int columns, int column);

/* Prints a cell, cut to its width; nothing if the width is 0. *printed is the number of blanks to print before the
 * cell: 0 for the first of a row, and then what the previous cell has left. */
void columns_print(const char *text, int width, int *printed, const char *colour);

#endif
