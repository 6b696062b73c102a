/* The reply to a hand-over inside the process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HAND_OVER_H
#define HAND_OVER_H

#include "engine.h"

void hand_over_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);

#endif
