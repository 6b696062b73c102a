/* Reports: what the script `inspect` replied about one name.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_H
#define REPORT_H

#include "handles.h"

/* Reads the string, written as <size>:<bytes>, at *at of a text, and moves *at behind it. Returns false if there is
 * none. */
bool report_next_string(const char *text, size_t size, size_t *at, struct argument_part *string_out);

/* Returns whether a record has a name only: the script reached its limit of work for the page before this name. */
bool report_is_name(const struct argument_part *record, struct argument_part *name_out);

/* Makes a report of a record, whose name begins with the client's prefix, of `prefix_size` bytes. Returns OK, PROTOCOL
 * if it is no such record, or NO_MEMORY. The last error is the caller's business. */
int report_new(const struct argument_part *record, size_t prefix_size, redlatch_report **report_out);

#endif
