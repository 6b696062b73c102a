/* An acquire that does not re-enter.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef MUTEX_H
#define MUTEX_H

#include "engine.h"

void acquire_begin(struct engine *engine, struct operation *operation, int64_t now);
void acquire_result(struct engine *engine, struct operation *operation, struct command *command,
                    const struct reply *reply, int64_t now);
void acquire_undo(struct engine *engine, struct operation *operation, struct command *command);
void acquire_granted(struct engine *engine, struct operation *operation, int64_t sent_at, int64_t lease_ms,
                     uint64_t token, int64_t now);
struct hold *acquire_enter(struct engine *engine, struct operation *operation, uint64_t id, int64_t sent_at,
                           int64_t lease_ms, uint64_t token, int64_t now); /* enters one hold of a grant */
void acquire_send(struct engine *engine, struct operation *operation, int64_t now);

#endif
