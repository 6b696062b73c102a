/* Reports: what the script `inspect` told of one name.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REPORT_H
#define REPORT_H

#include "handles.h"

/* The string that begins at *at of a text made of <size>:<bytes>; moves *at behind it. false if there is none. */
bool report_next_string(const char *text, size_t size, size_t *at, struct argument_part *string_out);

/* Whether a record has a name alone: the server had no time for it. */
bool report_is_name(const struct argument_part *record, struct argument_part *name_out);

/* A report of a record, whose name begins with `prefix_size` bytes that the user has not written. OK, PROTOCOL when it
 * is none, NO_MEMORY; the last error is the caller's business. */
int report_new(const struct argument_part *record, size_t prefix_size, redlatch_report **report_out);

#endif
