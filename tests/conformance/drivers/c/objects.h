/* Clients and locks by the names that a trace gives them. Used by the main thread alone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONFORMANCE_OBJECTS_H
#define CONFORMANCE_OBJECTS_H

#include <jansson.h>
#include <redlatch.h>

/* The calls open, close, lock, multi_lock and redlock, and free; the outcome is the caller's. */
json_t *call_open(const json_t *call);
json_t *call_close(const json_t *call);
json_t *call_lock(const json_t *call);
json_t *call_composite(const json_t *call);
json_t *call_free(const json_t *call);

/* The client that a call names. */
redlatch_client *client_named(const json_t *call);

/* The lock that a call is about, and its client. */
redlatch_lock *lock_of(const json_t *call);
redlatch_client *client_of(const json_t *call);

/* Closes every client, which ends what still waits; then, with nobody at work any more, frees everything. */
void objects_close(void);
void objects_free(void);

#endif
