/* What is said on a new connection before any lock is touched, in one write: AUTH, SELECT, CLIENT SETNAME, CLIENT ID,
 * INFO server, INFO replication if the server must be a master, PUBSUB SHARDNUMSUB if it is to be known whether there
 * are messages within a shard; and then, if an older connection of ours may still have commands on the way, CLIENT KILL
 * of that one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef GREETING_H
#define GREETING_H

#include "connection.h"

/* Writes the greeting into the output. OK or NO_MEMORY. */
int greeting_begin(struct connection *connection);

/* Takes the reply to the next step. AGAIN while replies are owed, OK when all is set up and settled, else why not. */
int greeting_answer(struct connection *connection, const struct reply *reply);

#endif
