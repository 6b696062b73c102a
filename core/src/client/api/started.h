/* Asynchronous calls: made, and sent on their way.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef STARTED_H
#define STARTED_H

#include "handles.h"

/* A call whose end an event of that kind tells of, entered; NULL with the status otherwise. */
struct request *request_start_entered(struct client *client, int32_t event, uint64_t tag, int *status_out);

/* The same without an event of its own, inside of another call, with the mutex; NULL without memory. */
struct request *request_start_inside(struct client *client);

/* Sends it on its way, if it was prepared well, else frees it; leaves the client. */
int request_start_prepared(struct request *request, int status, int64_t now);

/* Makes one that is done ready to be prepared again, for something else to be done before it is told of. */
void request_start_over(struct request *request);

#endif
