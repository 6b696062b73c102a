/* An acquire of several names.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SET_H
#define SET_H

#include "engine.h"

void set_acquire_begin(struct engine *engine, struct operation *operation, int64_t now);
void set_acquire_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);
void set_acquire_abort(struct engine *engine, struct operation *operation, int status, int64_t now);
void set_acquire_timer(struct engine *engine, struct operation *operation, int64_t now);
void set_acquire_retire(struct engine *engine, struct command *command, int64_t now);
bool set_undo(struct engine *engine, struct operation *operation, struct command *command, int64_t repeat_until);

#endif
