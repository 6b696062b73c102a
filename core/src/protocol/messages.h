/* What a driver reports from the connection for messages.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MESSAGES_H
#define MESSAGES_H

#include "engine.h"

void wake_channels_forced_release(struct engine *engine, struct wait_queue *queue, int64_t now);
/* Called when a server no longer serves the channels of a wait queue. Channels that are still wanted are requested from
 * the server that has the name now. The wait queue is detached with its last channel. */
void queue_channels_lost(struct engine *engine, struct wait_queue *queue, const struct server *server, int64_t now);

void wait_queue_timer(struct engine *engine, struct wait_queue *queue, int64_t now);

#endif
