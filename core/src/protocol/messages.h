/* What the connection for messages reports.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MESSAGES_H
#define MESSAGES_H

#include "engine.h"

void wake_channels_forced_release(struct engine *engine, struct wait_queue *queue, int64_t now);
/* The channels of a wait queue are not heard from a server any more: they are requested again, of whoever has the name
 * now, if they are still wanted. The wait queue goes with its last channel. */
void queue_channels_lost(struct engine *engine, struct wait_queue *queue, const struct server *server, int64_t now);

void wait_queue_timer(struct engine *engine, struct wait_queue *queue, int64_t now);

#endif
