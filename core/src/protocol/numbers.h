/* Numbers from a server, within bounds that are safe to calculate with, whatever its keys contain.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef NUMBERS_H
#define NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "records.h"

/* More than thirty years, and as microseconds far from overflow. inspect.lua and acquire_fair.lua have the same
 * bound. */
#define SERVER_MS_MAX INT64_C(1000000000000)

/* Returns a remaining time, clamped to SERVER_MS_MAX and its negative. */
int64_t server_ms(int64_t ms);

/* Reads a decimal number, which may be negative. One of more than 18 digits becomes the largest of 18 digits. Returns
 * false if the text is no number. */
bool server_number(const char *text, size_t size, int64_t *number_out);

/* Reads the number in a string: tokens and wire numbers come as strings. Returns false if the reply is no such string.
 * If it is no string at all, the number is 0. */
bool read_token(const struct reply *reply, uint64_t *token_out);

#endif
