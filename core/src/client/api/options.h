/* Option structs of callers that were compiled with other versions, and the ranges of numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redlatch.h"

/* The longest duration that an argument may have: ten years. */
#define DURATION_MAX_MS (INT64_C(10) * 365 * 86400 * 1000)

/* Copies a caller's struct (its first field is its size) over `options`, which holds the defaults. A shorter struct
 * leaves the later fields at their defaults. A longer one must be zero behind the fields of this version. Returns OK or
 * INVALID. */
int options_read(void *options, size_t size, const void *from, const char *what);

/* Returns OK if a caller's struct for output can take an answer, else INVALID. Writes nothing to it. */
int answer_check(const void *to, const char *what);

/* Writes the fields of an answer that the caller's struct has. Returns OK or INVALID. */
int answer_write(void *to, const void *answer, size_t size, const char *what);

/* Returns OK, or INVALID with the value and the range in the last error. `or_forever` allows REDLATCH_FOREVER, too. */
int check_duration(const char *what, int64_t value_ms, int64_t low_ms, bool or_forever);

/* Returns OK if the value is 0, or if it is 1 and `has_meaning` is set; else INVALID. */
int check_flag(const char *what, int32_t value, bool has_meaning);

#endif
