/* The keys in which outcomes are recorded, and for how long.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OPERATION_RECORD_H
#define OPERATION_RECORD_H

#include "engine.h"

void record_take_key(struct engine *engine, struct command *command);
void record_answered(struct command *command, const struct reply *reply);
void record_give_key(struct engine *engine, struct command *command);
/* Called before a command is marked as sent. */
void record_sent(const struct engine *engine, struct command *command);
int64_t record_life_ms(const struct engine *engine, const struct command *command);
bool record_is_over(const struct command *command, int64_t now);

#endif
