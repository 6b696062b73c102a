/* Acquiring permits that nobody owns.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SEMAPHORE_PERMITS_H
#define SEMAPHORE_PERMITS_H

#include "engine.h"

void semaphore_send(struct engine *engine, struct operation *operation, int64_t now);
void semaphore_result(struct engine *engine, struct operation *operation, struct command *command,
                      const struct reply *reply, int64_t now);
void semaphore_resolve(struct engine *engine, struct command *command, int64_t now);
void semaphore_unclaimed(struct engine *engine, struct operation *operation, int status);

#endif
