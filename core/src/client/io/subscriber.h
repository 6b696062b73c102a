/* The connection for messages.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SUBSCRIBER_H
#define SUBSCRIBER_H

#include "client.h"

void subscriber_changes(struct client *client, int64_t now);
void subscriber_step(struct client *client, int64_t now);
int64_t subscriber_next_time(const struct client *client);
short subscriber_events(const struct client *client);
bool subscriber_needs_background(const struct client *client);

/* For the connection's successor, which hears the same channels for a while. False without memory. */
bool subscriber_ask(const struct client *client, struct connection *connection,
                    const struct subscription *subscription);
bool subscriber_ping(struct client *client, int64_t now);
bool subscriber_is_message(const struct reply *reply);
void subscriber_received(struct client *client, const struct reply *reply, int64_t now);

#endif
