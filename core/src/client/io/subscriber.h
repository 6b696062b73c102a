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

#endif
