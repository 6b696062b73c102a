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

/* Starts a call. */
int start_counted(const struct counted *counted, const json_t *call, uint64_t tag);

/* What such a call has brought, by its event: NULL where that is nothing. */
json_t *counted_value(const struct counted *counted, const json_t *call, const redlatch_event *event);

#endif
