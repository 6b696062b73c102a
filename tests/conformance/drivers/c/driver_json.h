/* Members of a call by name, and outcomes as JSON.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A call that is not in the vocabulary is a mistake in the trace or in this driver. The program then answers with an
 * error and ends. */
#ifndef DRIVER_JSON_H
#define DRIVER_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of any value, with a NUL after the last. The user frees `bytes`. */
struct text {
    char *bytes;
    size_t size;
};

/* Answers {"error": ...} and ends the program. */
_Noreturn void misunderstood(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Return a member that must exist: a string; a number of milliseconds, where the string `word` stands for `meaning`; a
 * text, which may be {"hex": ...}. string_of returns a string that belongs to the call. */
const char *string_of(const json_t *call, const char *member);
int64_t milliseconds_of(const json_t *call, const char *member, const char *word, int64_t meaning);
struct text text_of(const json_t *call, const char *member);

/* Returns {"status": ...} of the call that has just returned on this thread. After success `value` is added, unless it
 * is NULL; after a failure, the last error. Takes over `value`. */
json_t *outcome(int status, json_t *value);

#endif
