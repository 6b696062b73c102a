/* The successor of the connection for messages, for new credentials. A subscribed connection of RESP2 refuses AUTH. So
 * the successor is subscribed to all channels before the old connection closes, and no message is lost. Only the
 * background thread uses this.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   CLOSED --open--> OPENING, GREETING --greeted--> READY: changes of subscriptions wait
 *                                                     | the old connection has confirmed all requested changes
 *                                                   subscribes to all channels
 *                                                     | all confirmed: both connections receive each message
 *                                                   PING on the old connection
 *                                                     | its reply: no earlier message is on the way there
 *                                                   takes the old connection's place
 *
 * If that takes longer than the connect timeout, or fails, the old connection stays, and another attempt follows. */
#ifndef SUCCESSOR_H
#define SUCCESSOR_H

#include "connection.h"
#include "list.h"
#include "parsed.h"

struct node;

struct successor {
    struct connection connection;
    struct reply_holder holder;
    struct list requested; /* subscriptions, by their link `sent`, that are not confirmed yet, in order */
    bool has_requested;
    bool has_pinged;
    uint32_t refused; /* the version of the credentials that the server refused; these are not tried again */
};

void successor_step(struct node *node, int64_t now);
int64_t successor_next_time(const struct node *node);

#endif
