/* What becomes of a command after an error reply: the last column of commands.def.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef RETRY_H
#define RETRY_H

#include "engine.h"
#include "error_reply.h"

/* For how long a command is sent again whose error may pass. */
enum retry {
    RETRY_NEVER,
    RETRY_WHILE_SEPARATED,  /* as long as somebody waits for it and its slot migrates, with its keys on two nodes */
    RETRY_OPERATION,        /* for as long as its operation waits, which pauses; a new command asks again */
    RETRY_WHILE_RECORDED,   /* as long as its record is sure to live */
    RETRY_UNTIL_IN_THE_WAY, /* as long as somebody waits for it, then until the hold needs another command */
    RETRY_WHILE_HELD,       /* as long as there is the hold: nothing else can be said before its id is known */
    RETRY_UNTIL_RELEASED, /* as long as somebody waits for it, then for its lease; a partial release until it is in the
                             way */
    RETRY_UNTIL_LEASE_ENDS
};

/* Whether a refused command is worth another attempt. What may have run is asked about once more. */
bool is_retried(const struct engine *engine, struct command *command, struct error_reply error, int64_t now);

/* Sends it again after a pause that grows. */
void retry_later(struct engine *engine, struct command *command, struct error_reply error, int64_t now);

#endif
