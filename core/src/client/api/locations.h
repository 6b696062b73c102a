/* Finding the processes of owners, by the names that redlatch clients give their connections.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCATIONS_H
#define LOCATIONS_H

#include "report.h"

/* Returns whether any party of the report may be found among the server's connections. */
bool locations_wanted(const struct redlatch_report *report);

/* Finds the parties of a report in the text of CLIENT LIST. Returns OK or NO_MEMORY. */
int locations_find(struct redlatch_report *report, const char *list, size_t size);

#endif
