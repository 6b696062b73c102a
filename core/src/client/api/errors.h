/* The calling thread's last error in words.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ERRORS_H
#define ERRORS_H

#include <stddef.h>

/* Sets the text and returns the status, so that a failing function can end with it. Never allocates. */
int fail_with(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The sentence of a status is text enough. */
int fail_plain(int status);

/* A handle that is NULL, freed or of another type. `what` names the argument, `maker` the call that makes such handles.
 * Returns BAD_HANDLE. */
int fail_bad_handle(const void *handle, const char *what, const char *maker);

/* To be called after fail_with for a hold that was lost: why, as enum redlatch_reason has it. Returns the status. */
int fail_for(int status, int reason);

/* Why a hold was lost, as a part of a sentence. */
const char *reason_text(int reason);

/* What a failed call leaves behind: room to keep it in for somebody else than the thread that failed. */
struct error_text {
    char text[512];
    int reason; /* enum redlatch_reason */
};

/* Exchanges the calling thread's last error for another. */
void error_text_swap(struct error_text *other);

/* A name made printable and short, for messages: non-printing bytes as dots, cut at 60. */
const char *shown_name(const char *name, size_t size, char text[64]);

#endif
