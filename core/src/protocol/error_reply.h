/* What an error reply means: the status it becomes, whether the command was carried out, whether trying again may help.
 * The first word decides (wire format 3.13).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ERROR_REPLY_H
#define ERROR_REPLY_H

#include <stdbool.h>
#include <stddef.h>

struct reply;

struct error_reply {
    int status;
    bool transient;         /* may well be different in a moment */
    bool may_have_executed; /* part of the script may have been carried out */
    bool no_script;         /* the server does not know the script's SHA1 */
    bool keys_separated;    /* a slot migrates, and the keys are on two nodes: some of them may be on one */
};

struct error_reply error_reply_of(const char *text, size_t size);

/* Whether a node of a cluster says that another one serves the slot (MOVED), or has the key (ASK). Nothing was run. To
 * a client of one server that is UNSUPPORTED: its URL names no cluster. */
bool is_redirection(const char *text, size_t size);

/* The same for a reply that is not what was asked for; unless it is an error, the status is PROTOCOL. An error in place
 * of a grant that was not acknowledged says that the script was carried out. */
struct error_reply error_of_reply(const struct reply *reply);

#endif
