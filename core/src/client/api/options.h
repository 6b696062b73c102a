/* Option structs as they come from callers of other versions, and the ranges of numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "redlatch.h"

/* The longest duration anybody may ask for: ten years. */
#define DURATION_MAX_MS (INT64_C(10) * 365 * 86400 * 1000)

/* Copies a caller's struct (its first field is its size) over `options`, which holds the defaults. A shorter one
 * leaves the later fields at their defaults; a longer one must be zero where this version knows nothing. OK or
 * INVALID. */
int options_read(void *options, size_t size, const void *from, const char *what);

/* Whether a caller's struct for output can take our answer; nothing is written. OK or INVALID. */
int answer_check(const void *to, const char *what);

/* Writes as much of an answer as the caller's struct knows. OK or INVALID. */
int answer_write(void *to, const void *answer, size_t size, const char *what);

/* OK, or INVALID with the value and the range. FOREVER and RENEWED are allowed where the flags say so. */
int check_duration(const char *what, int64_t value_ms, int64_t low_ms, bool or_forever);

/* OK, or INVALID unless the value is 0, or 1 where that means something. */
int check_flag(const char *what, int32_t value, bool has_meaning);

#endif
