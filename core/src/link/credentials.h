/* The user and the password of connections. They may change while connections stand; what they were before is wiped.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CREDENTIALS_H
#define CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "output.h"
#include "records.h"

struct credentials {
    char *username;   /* NULL: the default user */
    char *password;   /* NULL: none, and without a user no AUTH */
    uint32_t version; /* rises with each change */
};

/* Copies both, of which each may be NULL. False without memory, and then nothing has changed. */
bool credentials_set(struct credentials *credentials, const char *username, const char *password);
void credentials_free(struct credentials *credentials);

/* Wipes a secret and frees it. NULL is allowed. */
void credentials_wipe(char *text);

/* Whether there is anything to say. NULL: nothing. */
bool credentials_are_given(const struct credentials *credentials);

/* Writes AUTH; false without memory. */
bool credentials_say(const struct credentials *credentials, struct output *output);

/* What may be shown of the error reply to an AUTH that was sent with `version` of the credentials: a server that lacks
 * the command quotes its arguments. */
struct reply credentials_shown_error(const struct credentials *credentials, uint32_t version,
                                     const struct reply *reply);

#endif
