/* What becomes of commands whose connection broke.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef IN_DOUBT_H
#define IN_DOUBT_H

#include "engine.h"

void in_doubt_resolve(struct engine *engine, struct command *command, enum resolution how, int64_t now);
void in_doubt_resolve_unsent(struct engine *engine, struct command *command, enum resolution how, int64_t now);

#endif
