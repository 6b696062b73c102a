/* Which names and waiters a channel serves, by the text of the channel.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CHANNELS_H
#define CHANNELS_H

#include "engine.h"

/* channel_names finds the names that a channel may serve, and returns how many there are: `a` and `{a}` share one
 * channel. channel_is_of returns whether a channel is that of a resource. */
enum { CHANNEL_NAMES_MAX = 2 };
size_t channel_names(const char *channel, size_t size, struct argument_part names[CHANNEL_NAMES_MAX]);
bool channel_is_of(const struct resource *resource, const char *channel, size_t size);

/* Returns whether the channels of a name are in the slot of the name. They may not be if the name contains braces:
 * these may be no hash tag, or another hash tag than the braces that the channel puts around the name. */
bool channel_is_in_slot(const struct resource *resource);

/* If the channel is the wake-up channel of a waiter of this client, returns the waiter's number and reduces `size` to
 * that of the name's channel. Returns 0 for any other channel. */
uint64_t channel_waiter(const struct engine *engine, const char *channel, size_t *size);

#endif
