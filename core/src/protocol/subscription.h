/* Channels that are asked for and left.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SUBSCRIPTION_H
#define SUBSCRIPTION_H

#include "engine.h"

void subscription_want(struct engine *engine, struct subscription *subscription);
void subscription_leave(struct engine *engine, struct subscription *subscription);
/* One more of it is active, or one less. */
void subscription_count(struct engine *engine, const struct subscription *subscription, int change);

void subscription_change(struct engine *engine, struct subscription *subscription, enum subscription_state state);

#endif
