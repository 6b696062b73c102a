/* What a call says, and what is answered: the members of a call by name, and outcomes as JSON.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A call that is not in the vocabulary is the trace's fault or ours: the program says so in an answer of its own and
 * ends. */
#ifndef CONFORMANCE_JSON_H
#define CONFORMANCE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of any value; free(bytes) gives them back. There is a NUL after the last. */
struct text {
    char *bytes;
    size_t size;
};

/* Answers {"error": ...} and ends the program. */
_Noreturn void misunderstood(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A member that must be there: a string; a number of milliseconds, or `word` for the number it stands for; a text,
 * {"hex": ...} included. Strings are borrowed from the call. */
const char *string_of(const json_t *call, const char *member);
int64_t milliseconds_of(const json_t *call, const char *member, const char *word, int64_t meaning);
struct text text_of(const json_t *call, const char *member);

/* {"status": ...} of a call on this thread that has just returned: with the value if it went well (taken over; may be
 * NULL), with the last error if not. */
json_t *outcome(int status, json_t *value);

#endif
