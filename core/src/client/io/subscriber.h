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

/* A connection stands from now on: nothing is owed by the server. */
void subscriber_begins(struct subscriber *subscriber, int64_t now);

/* Where a connection for messages is to lead, unless it knows. False if that is not known yet: it is looked for again a
 * moment later. */
bool subscriber_find_addresses(const struct node *node, struct connection *connection, int64_t now);

/* What is not answered yet, as a subscription's link; NULL: a PING, or the farewell to a channel. */
struct subscription *subscriber_unanswered(const struct subscriber *subscriber, struct list_link *link);

/* For the connection's successor, which hears the same channels for a while. False without memory. */
bool subscriber_ask(const struct node *node, struct connection *connection, const struct subscription *subscription);
bool subscriber_ping(struct node *node, int64_t now);
bool subscriber_is_message(const struct reply *reply);
bool subscriber_is_loss(const struct reply *reply); /* of a channel, as the server has it no more */
void subscriber_received(struct node *node, const struct reply *reply, int64_t now);

#endif
