/* What an error reply means: the status it becomes, whether the command was carried out, whether trying again may help.
 * The first word decides (wire format 3.13).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REFUSAL_H
#define REFUSAL_H

#include <stdbool.h>
#include <stddef.h>

struct reply;

struct refusal {
    int status;
    bool passing;    /* may well be different in a moment */
    bool may_have_run; /* part of the script may have been carried out */
    bool no_script;  /* the server does not know the script's SHA1 */
};

struct refusal refusal_of(const char *text, size_t size);

/* The same for a reply that is not what was asked for; unless it is an error, the status is PROTOCOL. */
struct refusal refusal_of_reply(const struct reply *reply);

#endif
