/* Changes: operations of one command whose reply is a number; and the undo of what a recorded operation took.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CHANGE_H
#define CHANGE_H

#include "engine.h"

void change_begin(struct engine *engine, struct operation *operation, int64_t now);
void change_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);
void change_abort(struct engine *engine, struct operation *operation, int status, int64_t now);
void change_resolve(struct engine *engine, struct command *command, enum resolution how, int64_t now);
bool change_goes_on(const struct operation *operation);
void undo_taken(struct engine *engine, struct operation *operation, struct command *taking);
void undo_taken_resolve(struct engine *engine, struct command *command, enum resolution how, int64_t now);
void undo_taken_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);

#endif
