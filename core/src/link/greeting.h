/* The greeting: the commands on a new connection before any other, in one write. They are AUTH, SELECT, CLIENT SETNAME,
 * CLIENT ID, INFO server, INFO replication if the server must be a master, and PUBSUB SHARDNUMSUB if it is to be known
 * whether there are messages within a shard. CLIENT KILL of the last connection follows, if that led to the same
 * process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef GREETING_H
#define GREETING_H

#include "connection.h"

/* Writes the greeting into the output. Returns OK or NO_MEMORY. */
int greeting_begin(struct connection *connection);

/* Takes in the reply to the next step. Returns AGAIN while replies are outstanding, OK when all is set up and the last
 * connection is resolved, else why it failed. */
int greeting_answer(struct connection *connection, const struct reply *reply);

#endif
