/* Asynchronous calls that are done: their events are filled, and their requests are freed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COMPLETED_H
#define COMPLETED_H

#include "client.h"

/* Fills in the event of the next completed call, and frees its request. Returns false if there is none. If the call was
 * on a composite lock, that is in *composite_out, and the caller drops it without the mutex. With the mutex, which may
 * be dropped for a moment. */
bool request_next_event(struct client *client, redlatch_event *event, struct composite **composite_out);

/* Puts a name into an event, cut if it is too long. */
void event_set_name(redlatch_event *event, const char *name, size_t name_size);

/* Frees a request. Returns its composite lock, or NULL, for the caller to drop as above. With the mutex. */
struct composite *request_free(struct client *client, struct request *request);

#endif
