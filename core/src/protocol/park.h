/* How a waiter waits, and how it rechecks.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PARK_H
#define PARK_H

#include "engine.h"

void acquire_recheck(struct engine *engine, struct operation *operation, int64_t now);
void acquire_park(struct engine *engine, struct operation *operation, int64_t ttl_ms, int64_t now);
int64_t acquire_recheck_time(struct engine *engine, const struct subscription *subscription, int64_t ttl_ms,
                             int64_t now);

#endif
