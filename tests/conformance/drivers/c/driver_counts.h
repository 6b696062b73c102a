/* Semaphores, permit semaphores and latches by the names that a trace gives them, and the calls on them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DRIVER_COUNTS_H
#define DRIVER_COUNTS_H

#include <jansson.h>
#include <redlatch.h>

struct counted;

/* Used by the main thread only. call_counted_new makes the calls semaphore, permit_semaphore and latch. counted_of
 * returns the object that a call is about, or NULL if that is a lock. counted_free frees all objects. */
json_t *call_counted_new(const json_t *call);
struct counted *counted_of(const json_t *call);
redlatch_client *counted_client(const struct counted *counted);
void counted_free(void);

/* Makes any other call, on any thread. The outcome belongs to the caller. */
json_t *call_counted(const struct counted *counted, const json_t *call);

/* Starts a call. */
int start_counted(const struct counted *counted, const json_t *call, uint64_t tag);

/* Returns the value of a started call from its event, or NULL if the call has no value. */
json_t *counted_value(const struct counted *counted, const json_t *call, const redlatch_event *event);

#endif
