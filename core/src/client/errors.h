/* The calling thread's last error in words.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ERRORS_H
#define ERRORS_H

#include <stddef.h>

/* Sets the text and returns the status, so that a failing function can end with it. Never allocates. */
int fail_with(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The sentence of a status is text enough. */
int fail_plain(int status);

/* A name made printable and short, for messages: non-printing bytes as dots, cut at 60. */
const char *shown_name(const char *name, size_t size, char text[64]);

#endif
