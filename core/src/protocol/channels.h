/* Whom a channel serves, by its name.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CHANNELS_H
#define CHANNELS_H

#include "engine.h"

/* Whom a channel serves. The names it may stand for, as `a` and `{a}` share one; whether it is one's. */
enum { CHANNEL_NAMES_MAX = 2 };
size_t channel_names(const char *channel, size_t size, struct argument_part names[CHANNEL_NAMES_MAX]);
bool channel_is_of(const struct resource *resource, const char *channel, size_t size);

/* Whether the channels of a name are in its slot, whatever that is. Braces of its own may make no hash tag, or another
 * one than the braces that its channel puts around it. */
bool channel_is_in_slot(const struct resource *resource);

/* The number of the waiter of this client whose own channel it is, which is then cut down to the name's;
 * else 0 */
uint64_t channel_waiter(const struct engine *engine, const char *channel, size_t *size);

#endif
