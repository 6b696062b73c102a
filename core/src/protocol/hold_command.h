/* The commands of a hold, one at a time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HOLD_COMMAND_H
#define HOLD_COMMAND_H

#include "engine.h"

void hold_send(struct engine *engine, struct hold *hold, struct operation *operation, struct command *command);
bool hold_is_upgrade(const struct hold *hold, const struct operation *operation);
struct command *hold_command_for(struct engine *engine, struct operation *operation);
void hold_wait_for(struct engine *engine, struct hold *hold, struct operation *operation);
void hold_raise(struct engine *engine, struct hold *hold, const struct operation *operation, int64_t sent_at,
                int64_t lease_ms);
void hold_acquire(struct engine *engine, struct hold *hold, struct operation *operation, int64_t now);
void turn_into_release(struct command *command, const struct hold *hold);
void hold_arm(struct engine *engine, struct hold *hold);

/* Releases what the server has under an id, a lock or a position, that this client has lost or given up. So nobody has
 * to wait for its end. The release is repeated after transient errors. Returns NULL if there is no memory. */
struct command *release_id(struct engine *engine, struct resource *resource, uint8_t lock_kind, uint64_t id,
                           uint8_t pipeline);

#endif
