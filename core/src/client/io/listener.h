/* The connection to a sentinel that tells of failovers: it is subscribed to +switch-master while the client holds or
 * waits for anything. An old master goes on serving its clients for seconds after another one took over, so a client
 * that is not told of it would renew its holds in vain. The background thread's alone.
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
    struct uri where; /* the sentinel, for a look-up and for messages */
    struct lookup *lookup;
    int next; /* of the sentinels, the one to listen to next */
    int64_t received_at;
    int64_t pinged_at; /* 0: no reply is due */
};

/* Makes the listener of a client whose URL names sentinels; false without memory. */
bool listener_init(struct client *client);
void listener_close(struct client *client);
void listener_free(struct client *client);

void listener_step(struct client *client, int64_t now);
int64_t listener_next_time(const struct client *client);

/* What to poll, -1 for nothing. */
int listener_descriptor(const struct client *client, short *events_out);

#endif
