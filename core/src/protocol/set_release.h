/* The release of several names.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SET_RELEASE_H
#define SET_RELEASE_H

#include "engine.h"

void set_release(struct engine *engine, struct operation *operation, int64_t now);
void set_release_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);
void set_release_abort(struct engine *engine, struct operation *operation, int status, int64_t now);

#endif
