/* The connection to a sentinel, subscribed to +switch-master. The listener opens it while the client holds or waits
 * for anything. An old master may serve its clients for seconds after another one took over; a client that did not
 * receive the message would renew its holds there in vain. Only the background thread uses this.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LISTENER_H
#define LISTENER_H

#include "search.h"

struct client;

struct listener {
    struct connection connection;
    struct connection_settings settings;
    struct reply_holder holder;
    struct endpoint sentinel;
    struct uri where; /* the sentinel, for lookups and messages */
    struct lookup *lookup;
    int next; /* the sentinel to try next: an index, modulo their number */
    int64_t received_at;
    int64_t pinged_at; /* when a PING was sent; 0: no reply to one is due */
};

/* Makes the listener if the client's URL names sentinels. Returns false if there was no memory. */
bool listener_init(struct client *client);
void listener_close(struct client *client);
void listener_free(struct client *client);

void listener_step(struct client *client, int64_t now);
int64_t listener_next_time(const struct client *client);

/* Returns the descriptor to poll; -1 if there is none. */
int listener_descriptor(const struct client *client, short *events_out);

#endif
