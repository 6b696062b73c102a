/* The calls on a lock, made on the calling thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DRIVER_METHODS_H
#define DRIVER_METHODS_H

#include <jansson.h>
#include <redlatch.h>

#include "driver_counts.h"

/* What a call is about: a lock, a counted object, or only the server of a client. */
struct target {
    redlatch_client *client;
    redlatch_lock *lock;
    const struct counted *counted;
};

/* Makes acquire, try_acquire, release, extend, force_release, query or hold. `hold` is about the hold of `owner` (0:
 * the lock's own owner); all others act for the lock's own owner. The outcome belongs to the caller. */
json_t *call_method(redlatch_lock *lock, uint64_t owner, const json_t *call);

/* Returns the `confirm` argument for the release of a call. */
int32_t confirm_of(const json_t *call);

/* Returns the result of a query as JSON. */
json_t *shown_state(const redlatch_lock_state *state);

/* Makes any call on a target. */
json_t *call_target(const struct target *target, uint64_t owner, const json_t *call);

#endif
