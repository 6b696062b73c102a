/* An acquire of several names.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SET_H
#define SET_H

#include "engine.h"

void set_acquire_begin(struct engine *engine, struct operation *operation, int64_t now);
void set_acquire_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);
void set_acquire_abort(struct engine *engine, struct operation *operation, int status, int64_t now);
void set_acquire_retire(struct engine *engine, struct command *command, enum resolution how, int64_t now);
void set_result(struct engine *engine, struct operation *operation, struct command *command, const struct reply *reply,
                int64_t now);
void set_undo(struct engine *engine, struct operation *operation, struct command *command);
void set_step_aside(struct engine *engine, struct operation *operation, int64_t now);
void set_end(struct engine *engine, struct operation *operation, int status, int64_t now);

#endif
