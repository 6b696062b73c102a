/* User and password of a client that change while its connections stand: AUTH among the commands of a pipeline, its
 * reply among theirs. A connection whose AUTH is refused stays what it was. Everything here belongs to the client's
 * mutex.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef AUTHENTICATION_H
#define AUTHENTICATION_H

#include "connection.h"

struct client;
struct pipeline_io;

/* An AUTH on its way, of which a pipeline has one at a time. */
struct authentication {
    bool pending;
    uint32_t ahead; /* replies to commands that come before its own */
};

/* What a server refused, to be told once for each change of user and password. */
struct refused_credentials {
    uint32_t version; /* of the credentials that were refused last; 0: none */
    bool pending[2];  /* not told yet: by enum loss_queue */
    char detail[400];
};

/* Whether the connection is READY and was greeted, or authenticated last, with other credentials than the client's. */
bool authentication_is_due(const struct pipeline_io *io);

/* Puts AUTH into the connection's buffer. Without memory it stays due. */
void authentication_say(struct pipeline_io *io);

/* The buffer was handed to the kernel: it keeps no password. */
void authentication_sent(struct pipeline_io *io);

/* Whether the next reply is that to AUTH. */
bool authentication_is_next(const struct pipeline_io *io);
void authentication_replied(struct pipeline_io *io, const struct reply *reply);

/* Another reply has come, or the connection has ended. */
void authentication_passed(struct pipeline_io *io);
void authentication_forget(struct pipeline_io *io);

/* An attempt to connect failed: notes it for the host if user or password were refused. True if they were replaced
 * since, so that another attempt is to be made. */
bool authentication_failed(struct client *client, const struct connection *connection);

/* A connection stands. */
void authentication_succeeded(struct client *client, const struct connection *connection);

#endif
