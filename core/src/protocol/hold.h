/* Extension and release of a hold, and the replies to its commands.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HOLD_H
#define HOLD_H

#include "engine.h"

void hold_release(struct engine *engine, struct operation *operation, int64_t now);
void hold_extend(struct engine *engine, struct operation *operation, int64_t now);
void hold_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);
void hold_abort(struct engine *engine, struct operation *operation, int status, int64_t now);

#endif
