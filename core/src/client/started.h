/* Asynchronous calls: made, sent on their way, told of by an event.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef STARTED_H
#define STARTED_H

#include "guard.h"

/* A call whose end an event of that kind tells of, entered; NULL with the status otherwise. */
struct request *request_start_entered(struct client *client, int32_t event, uint64_t tag, int *status_out);

/* The same without an event of its own, inside of another call, with the mutex; NULL without memory. */
struct request *request_start_inside(struct client *client);

/* Sends it on its way, if it was prepared well, else ends it with its inquiry; leaves the client. */
int request_start_prepared(struct request *request, int status, int64_t now);

/* Makes one that is done ready to be prepared again, for something else to be done before it is told of. */
void request_start_over(struct request *request);

/* With the mutex, which may be dropped for a moment. The next event that tells of a call; false when there is none. The
 * composite lock that the call was about, if any, is the caller's to drop, without the mutex. */
bool request_next_event(struct client *client, redlatch_event *event, struct composite **composite_out);

/* Puts a name into an event, cut if it is too long. */
void event_set_name(redlatch_event *event, const char *name, size_t name_size);

/* The end of a call that nobody is told of. As above. */
struct composite *request_free(struct client *client, struct request *request);

#endif
