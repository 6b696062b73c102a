/* Channels that are asked for and left.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SUBSCRIPTION_H
#define SUBSCRIPTION_H

#include "engine.h"

void subscription_want(struct engine *engine, struct subscription *subscription);
void subscription_leave(struct engine *engine, struct subscription *subscription);
/* One more of it is active, or one less. */
void subscription_count(struct engine *engine, const struct subscription *subscription, int change);

/* A channel was lost by its server, or its name went to another one: it is wanted where the name is now. Two servers
 * that redirect it to each other are not followed without a pause: of the channels that follow their names to a server,
 * all that do within a pause after the first are requested together, when it is over. PUBLISH reaches all servers of a
 * cluster, so the old one goes on sending what it was asked for, and is to be left (`requested`). */
void subscription_want_again(struct engine *engine, struct subscription *subscription, bool requested, int64_t now);

void subscription_change(struct engine *engine, struct subscription *subscription, enum subscription_state state);

#endif
