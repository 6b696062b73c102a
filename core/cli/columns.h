/* How the columns of a table are made to fit a terminal, and how its cells are printed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COLUMNS_H
#define COLUMNS_H

#include <stddef.h>

enum { COLUMN_GAP = 2 };

/* What gives way if a table is too wide: a column, and how narrow it may become. 0: it is left out. */
struct column_rule {
    int column;
    int least;
};

/* Applies rules in their order, each as far as needed. */
void columns_fit(int *widths, int count, const struct column_rule *rules, size_t rule_count, int terminal);

/* The widest of the cells of a column, its head included; `cells` has `count` rows of `columns` cells, some NULL. */
int columns_width(const char *head, char *const *cells, size_t count, int columns, int column);

/* Prints a cell, cut or filled to its width, with a gap before all but the first that is printed; nothing if the width
 * is 0. */
void columns_print(const char *text, int width, int *printed, const char *colour);

#endif
