/* Clients and locks by the names that a trace gives them. Only the main thread uses these functions.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DRIVER_OBJECTS_H
#define DRIVER_OBJECTS_H

#include <jansson.h>
#include <redlatch.h>

/* The calls open and close; lock; multi_lock and redlock; free. The outcome belongs to the caller. */
json_t *call_open(const json_t *call);
json_t *call_close(const json_t *call);
json_t *call_lock(const json_t *call);
json_t *call_composite(const json_t *call);
json_t *call_free(const json_t *call);

/* Returns the client that a call names. */
redlatch_client *client_named(const json_t *call);

/* Return the lock that a call is about, and its client. */
redlatch_lock *lock_of(const json_t *call);
redlatch_client *client_of(const json_t *call);

/* objects_close closes every client, which ends the calls that still wait. objects_free frees everything, once no call
 * is in progress any more. */
void objects_close(void);
void objects_free(void);

#endif
