/* Hand-overs inside the process: before they are written, and their replies.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HAND_OVER_H
#define HAND_OVER_H

#include "engine.h"

/* Turns a hand-over whose receiver gave up into a release. Called before it is written: a hand-over that ran behind the
 * undo of its receiver's id would lock the name for nobody. */
void hand_over_to_nobody(struct engine *engine, struct command *command, int64_t now);

void hand_over_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);

#endif
