/* Resolves commands in doubt: those whose connection broke before the reply came.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef IN_DOUBT_H
#define IN_DOUBT_H

#include "engine.h"

void in_doubt_resolve(struct engine *engine, struct command *command, enum resolution how, int64_t now);
void in_doubt_resolve_unsent(struct engine *engine, struct command *command, enum resolution how, int64_t now);

/* Returns whether a command that waits to be sent again must be resolved first, because its record may have ended. */
bool in_doubt_before_sent(const struct command *command);

/* The functions in the column `in doubt` of commands.def. */
void resolve_resend(struct engine *engine, struct command *command, enum resolution how, int64_t now);
void resolve_forget(struct engine *engine, struct command *command, enum resolution how, int64_t now);
void resolve_acquire(struct engine *engine, struct command *command, enum resolution how, int64_t now);
void resolve_extend(struct engine *engine, struct command *command, enum resolution how, int64_t now);
void resolve_hand_over(struct engine *engine, struct command *command, enum resolution how, int64_t now);
void resolve_force(struct engine *engine, struct command *command, enum resolution how, int64_t now);
void resolve_acquire_many(struct engine *engine, struct command *command, enum resolution how, int64_t now);
void resolve_release(struct engine *engine, struct command *command, enum resolution how, int64_t now);
void resolve_renewal(struct engine *engine, struct command *command, enum resolution how, int64_t now);

#endif
