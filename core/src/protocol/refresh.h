/* The refresh of the positions of fair waiters.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REFRESH_H
#define REFRESH_H

#include "engine.h"

void refresh_waiters(struct engine *engine, struct wait_queue *queue, int64_t now);
void refresh_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);

#endif
