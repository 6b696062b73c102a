/* Asynchronous calls that are done: what the event of each tells, and its end.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COMPLETED_H
#define COMPLETED_H

#include "client.h"

/* With the mutex, which may be dropped for a moment. The next event that tells of a call; false when there is none. The
 * composite lock that the call was about, if any, is the caller's to drop, without the mutex. */
bool request_next_event(struct client *client, redlatch_event *event, struct composite **composite_out);

/* Puts a name into an event, cut if it is too long. */
void event_set_name(redlatch_event *event, const char *name, size_t name_size);

/* The end of a call that nobody is told of. As above. */
struct composite *request_free(struct client *client, struct request *request);

#endif
