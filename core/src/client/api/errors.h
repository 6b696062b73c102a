/* The calling thread's last error: its text and its reason.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ERRORS_H
#define ERRORS_H

#include <stddef.h>

/* Sets the text and returns the status, so that a failing function can end with it. Never allocates. */
int fail_with(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sets the text to the sentence of the status, and returns the status. */
int fail_plain(int status);

/* Sets the text for a handle that is NULL, freed or of another type. `what` names the argument, `maker` the function
 * that makes such handles. Returns BAD_HANDLE. */
int fail_bad_handle(const void *handle, const char *what, const char *maker);

/* Called after fail_with for a hold that was lost: sets the reason, of enum redlatch_reason. Returns the status. */
int fail_for(int status, int reason);

/* Returns why a hold was lost, as a part of a sentence. */
const char *reason_text(int reason);

/* The error of a failed call. It is kept so that another thread can report it. */
struct error_text {
    char text[512];
    int reason; /* enum redlatch_reason */
};

/* Exchanges the calling thread's last error for another. */
void error_text_swap(struct error_text *other);

/* Writes a name for messages. Bytes that are not printable ASCII become dots; of more than 60 bytes, the first 57 and
 * three dots are shown. Returns `text`. */
const char *shown_name(const char *name, size_t size, char text[64]);

#endif
