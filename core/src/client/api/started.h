/* Started calls: making and starting their requests.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef STARTED_H
#define STARTED_H

#include "handles.h"

/* Enters the client and makes the request of a call that completes with an event of the kind `event`. On failure
 * returns NULL, with *status_out and the last error set. */
struct request *request_start_entered(struct client *client, int32_t event, uint64_t tag, int *status_out);

/* The same inside another call, for a request that has no event of its own. Returns NULL if there was no memory. With
 * the mutex. */
struct request *request_start_inside(struct client *client);

/* Starts a request if `status`, that of its preparation, is OK, else frees it. Leaves the client in either case.
 * Returns the status. */
int request_start_prepared(struct request *request, int status, int64_t now);

/* Resets an inquiry's request that is done, so that it can be prepared for a further question before its event. */
void request_start_over(struct request *request);

#endif
