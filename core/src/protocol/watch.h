/* Waiting until a name is free.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WATCH_H
#define WATCH_H

#include "engine.h"

void watch_begin(struct engine *engine, struct operation *operation, int64_t now);
void watch_send(struct engine *engine, struct operation *operation, int64_t now);
void watch_result(struct engine *engine, struct operation *operation, struct command *command,
                  const struct reply *reply, int64_t now);
void watch_end(struct engine *engine, struct operation *operation, int status, int64_t now);
void watch_recheck_all(struct engine *engine, struct wait_queue *queue, int64_t now);
void watch_notified(struct engine *engine, struct wait_queue *queue, int64_t now);

#endif
