/* Credentials that change while connections stand. AUTH is sent among the commands of a pipeline, and its reply comes
 * among theirs. A connection whose AUTH is refused stays authenticated as before. Everything here is used with the
 * client's mutex.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef AUTHENTICATION_H
#define AUTHENTICATION_H

#include "connection.h"

struct client;
struct pipeline_io;

/* The most bytes of a reply to AUTH. */
enum { AUTHENTICATION_REPLY_MAX = 1 << 12 };

/* The last AUTH that was written between commands. A pipeline has one at a time whose reply is due. */
struct authentication {
    bool pending;   /* the reply is due */
    bool unwiped;   /* the connection's buffer may have the password */
    uint32_t ahead; /* replies to commands that come before the reply to AUTH */
};

/* A refusal by the server, reported to the host once for each version of the credentials. */
struct refused_credentials {
    uint32_t version; /* of the credentials that were refused last; 0: none */
    bool pending[2];  /* not reported yet: by enum loss_queue */
    char detail[400];
};

/* Returns whether AUTH is to be sent: the connection is READY, and the credentials that it sent last are not the
 * client's. */
bool authentication_is_due(const struct pipeline_io *io);

/* Puts AUTH into the connection's buffer. If there is no memory, AUTH stays due. */
void authentication_say(struct pipeline_io *io);

/* Called after the buffer was handed to the kernel. Wipes an AUTH from it, so that it keeps no password. The reply may
 * have been taken by then. */
void authentication_sent(struct pipeline_io *io);

/* Returns whether the next reply is that to AUTH. */
bool authentication_is_next(const struct pipeline_io *io);
void authentication_replied(struct pipeline_io *io, const struct reply *reply);

/* Called when a reply to a command has come, and when the connection has ended. */
void authentication_passed(struct pipeline_io *io);
void authentication_forget(struct pipeline_io *io);

/* Called when an attempt to connect failed. If the server refused the credentials, returns true if the host has changed
 * them since: another attempt is made at once. Otherwise notes the refusal for the host. */
bool authentication_failed(struct client *client, const struct connection *connection);

/* Called when the server has accepted a connection's credentials. A refusal of the same version is reported again. */
void authentication_succeeded(struct client *client, const struct connection *connection);

#endif
