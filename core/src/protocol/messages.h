/* What the connection for messages reports.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MESSAGES_H
#define MESSAGES_H

#include "engine.h"

void wake_channels_forced_release(struct engine *engine, struct wait_queue *queue, int64_t now);
void wait_queue_timer(struct engine *engine, struct wait_queue *queue, int64_t now);

#endif
