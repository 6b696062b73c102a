/* The calls on a lock, made on whatever thread asks for them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONFORMANCE_METHODS_H
#define CONFORMANCE_METHODS_H

#include <jansson.h>
#include <redlatch.h>

#include "counts.h"

/* What a call is about: a lock, something that is counted, or only the server that a client knows. */
struct target {
    redlatch_client *client;
    redlatch_lock *lock;
    const struct counted *counted;
};

/* acquire, try_acquire, release, extend, force_release, query, hold. The last asks after the hold of `owner` (0: the
 * lock's own); all else is done for the lock's own owner. The outcome is the caller's. */
json_t *call_method(redlatch_lock *lock, uint64_t owner, const json_t *call);

/* How a release is confirmed. */
int32_t confirm_of(const json_t *call);

/* What a query has brought. */
json_t *shown_state(const redlatch_lock_state *state);

/* Any call on a target. */
json_t *call_target(const struct target *target, uint64_t owner, const json_t *call);

#endif
