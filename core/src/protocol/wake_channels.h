/* The channels on which the foremost waiters of a fair lock are woken.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WAKE_CHANNELS_H
#define WAKE_CHANNELS_H

#include "engine.h"

void wake_channels_listen(struct engine *engine, struct wait_queue *queue, int near);
void wake_channels_drop(struct engine *engine, struct operation *operation);
bool wake_channels_close_unused(struct engine *engine, struct wait_queue *queue);
void wake_channel_forget(struct subscription *channel);

#endif
