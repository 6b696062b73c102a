/* Semaphores, permit semaphores and latches by the names that a trace gives them, and the calls on them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONFORMANCE_COUNTS_H
#define CONFORMANCE_COUNTS_H

#include <jansson.h>
#include <redlatch.h>

struct counted;

/* The calls semaphore, permit_semaphore and latch; what a call is about, or NULL if that is a lock; everything freed.
 * Used by the main thread alone. */
json_t *call_counted_new(const json_t *call);
struct counted *counted_of(const json_t *call);
redlatch_client *counted_client(const struct counted *counted);
void counted_free(void);

/* All other calls, on any thread; the outcome is the caller's. */
json_t *call_counted(const struct counted *counted, const json_t *call);

/* Starts a call. AGAIN: it has no asynchronous form. */
int start_counted(const struct counted *counted, const json_t *call, uint64_t tag);

/* What a started acquire of `permits` has brought: their ids, or NULL where they have none. */
json_t *counted_ids(const struct counted *counted, uint64_t serial, json_int_t permits);

#endif
