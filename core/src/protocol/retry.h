/* What becomes of a command after an error reply: the last column of commands.def.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef RETRY_H
#define RETRY_H

#include "engine.h"
#include "error_reply.h"

/* How long a command is sent again after a transient error. */
enum retry {
    RETRY_NEVER,
    RETRY_WHILE_SEPARATED,  /* as long as its operation waits and a migration keeps the keys on two nodes */
    RETRY_OPERATION,        /* as long as its operation waits: it pauses, and requests with a new command */
    RETRY_WHILE_RECORDED,   /* as long as its record is sure to live */
    RETRY_UNTIL_IN_THE_WAY, /* as long as its operation waits, then until the hold needs another command */
    RETRY_WHILE_HELD,       /* as long as there is the hold: no other command can be sent before its id is known */
    RETRY_UNTIL_RELEASED,   /* as long as its operation waits, then for its lease; a partial one until in the way */
    RETRY_UNTIL_LEASE_ENDS
};

/* Returns whether a command is sent again after an error reply. A command that may have run is sent once more, to learn
 * its result. */
bool is_retried(struct command *command, struct error_reply error, int64_t now);

/* Sends the command again after a pause, which grows. */
void retry_later(struct engine *engine, struct command *command, struct error_reply error, int64_t now);

#endif
