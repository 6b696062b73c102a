/* Operations of one command each.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SINGLE_COMMAND_H
#define SINGLE_COMMAND_H

#include "engine.h"

void single_begin(struct engine *engine, struct operation *operation, uint8_t command_kind);
void single_abort(struct engine *engine, struct operation *operation, int status);
void force_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);
void query_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);
void owner_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);
void inspect_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);

#endif
