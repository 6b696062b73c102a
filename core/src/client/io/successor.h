/* The successor of the connection for messages, for new credentials: a subscribed connection of RESP2 refuses AUTH. The
 * new one is subscribed to all channels before the old one closes, so that no message is lost. The background thread's
 * alone.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   CLOSED --open--> OPENING, GREETING --greeted--> READY: changes of subscriptions are held back
 *                                                     | the old one has confirmed what it was asked for
 *                                                   asks for all channels
 *                                                     | all confirmed: both hear every message
 *                                                   PING on the old one
 *                                                     | its reply: nothing from before is on the way
 *                                                   takes the place
 *
 * If that takes longer than a connection may, or the attempt fails, the old one stays, and another attempt is made. */
#ifndef SUCCESSOR_H
#define SUCCESSOR_H

#include "connection.h"
#include "list.h"
#include "parsed.h"

struct node;

struct successor {
    struct connection connection;
    struct reply_holder holder;
    struct list requested; /* subscriptions by their link `sent`, whose confirmation is owed, in order */
    bool has_requested;
    bool has_pinged;
    uint32_t refused; /* the version of the credentials that were refused: not tried again */
};

void successor_step(struct node *node, int64_t now);
int64_t successor_next_time(const struct node *node);

#endif
