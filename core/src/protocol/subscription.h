/* Channels that are requested and left.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SUBSCRIPTION_H
#define SUBSCRIPTION_H

#include "engine.h"

void subscription_want(struct engine *engine, struct subscription *subscription);
void subscription_leave(struct engine *engine, struct subscription *subscription);
/* Counts a subscription that became active (1), or that is active no longer (-1). */
void subscription_count(struct engine *engine, const struct subscription *subscription, int change);

/* Called when a server lost a channel, or its name moved to another server: the channel is requested from the server
 * that has the name now. When channels follow their names to a server, a pause begins with the first; all that follow
 * within it are requested together at its end. So two servers that redirect a channel to each other are not followed
 * without pause. PUBLISH reaches all servers of a cluster, so an old server goes on sending messages of a channel that
 * was requested there (`requested`): that channel is to be left. */
void subscription_want_again(struct engine *engine, struct subscription *subscription, bool requested, int64_t now);

void subscription_change(struct engine *engine, struct subscription *subscription, enum subscription_state state);

#endif
