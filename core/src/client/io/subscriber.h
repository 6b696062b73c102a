/* The connection for messages.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SUBSCRIBER_H
#define SUBSCRIBER_H

#include "client.h"

void subscriber_changes(struct node *node, int64_t now);
void subscriber_step(struct node *node, int64_t now);
int64_t subscriber_next_time(const struct node *node);
short subscriber_events(const struct node *node);
bool subscriber_needs_background(const struct node *node);

/* Called when the connection stands: no reply to a PING is due. */
void subscriber_begins(struct subscriber *subscriber, int64_t now);

/* Gives a connection for messages the addresses to connect to, unless it has some. Returns false if none are known yet:
 * another attempt follows a moment later. */
bool subscriber_find_addresses(const struct node *node, struct connection *connection, int64_t now);

/* Returns the subscription of a link in `unanswered`. Returns NULL for the links `ping` and `farewell`. */
struct subscription *subscriber_unanswered(const struct subscriber *subscriber, struct list_link *link);

/* For the connection's successor, which is subscribed to the same channels for a while. The first two return false if
 * there was no memory. */
bool subscriber_ask(const struct node *node, struct connection *connection, const struct subscription *subscription);
bool subscriber_ping(struct node *node, int64_t now);
bool subscriber_is_message(const struct reply *reply);
bool subscriber_is_loss(const struct reply *reply); /* the server ended a subscription: the slot left it */
void subscriber_received(struct node *node, const struct reply *reply, int64_t now);

#endif
