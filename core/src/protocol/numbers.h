/* Numbers as a server says them, within bounds that can be calculated with whatever stands in its keys.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef NUMBERS_H
#define NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "records.h"

/* More than thirty years, and as microseconds far from overflow. As in inspect.lua and acquire_fair.lua. */
#define SERVER_MS_MAX INT64_C(1000000000000)

/* A remaining time: no more than SERVER_MS_MAX, no less than its negative. */
int64_t server_ms(int64_t ms);

/* A decimal number, negative ones included; one of more than 18 digits becomes the largest of 18. false if it is
 * none. */
bool server_number(const char *text, size_t size, int64_t *number_out);

/* The number of a string, as tokens and wire numbers are answered. false, and 0: it is none. */
bool read_token(const struct reply *reply, uint64_t *token_out);

#endif
