/* What an error reply means: its status, whether the command may have run, and whether a repeat may help. The error
 * code decides, or else phrases in the text (wire format 3.13).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ERROR_REPLY_H
#define ERROR_REPLY_H

#include <stdbool.h>
#include <stddef.h>

struct reply;

struct error_reply {
    int status;
    bool transient;         /* the same command may succeed a moment later */
    bool may_have_executed; /* part of the script may have run */
    bool no_script;         /* the server does not know the script's SHA1 */
    bool keys_separated;    /* a slot migrates, and the keys are on two nodes; fewer keys may be on one node */
};

struct error_reply error_reply_of(const char *text, size_t size);

/* Returns whether an error reply is a redirection: another node serves the slot (MOVED) or has the key (ASK). The
 * command did not run. For a client without a cluster the status is UNSUPPORTED: its URL should name the cluster. */
bool is_redirection(const char *text, size_t size);

/* Returns what an unexpected reply means. If it is not an error reply, the status is PROTOCOL. If it replaces a grant
 * without enough acknowledgements, may_have_executed is true. */
struct error_reply error_of_reply(const struct reply *reply);

/* Returns whether a request about several names may be refused for good because of one of them: the error is neither
 * transient nor about the user's password. */
bool refuses_names(const struct reply *reply, struct error_reply error);

#endif
