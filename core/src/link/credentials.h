/* The user and the password of a client's connections. They may change while connections are open; the old ones are
 * wiped.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CREDENTIALS_H
#define CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "output.h"
#include "records.h"

struct credentials {
    char *username;   /* NULL: the default user */
    char *password;   /* NULL: none; without a user no AUTH is sent then */
    uint32_t version; /* rises with each change */
};

/* Replaces both by copies; each may be NULL. If there was no memory, returns false and changes nothing. */
bool credentials_set(struct credentials *credentials, const char *username, const char *password);
void credentials_free(struct credentials *credentials);

/* Wipes a secret and frees it. NULL is allowed. */
void credentials_wipe(char *text);

/* Returns whether there is a user or a password to send. `credentials` may be NULL. */
bool credentials_are_given(const struct credentials *credentials);

/* Writes AUTH. Returns false if there was no memory. */
bool credentials_say(const struct credentials *credentials, struct output *output);

/* Returns what may be shown of the error reply to an AUTH that was sent with `version` of the credentials. Redis' own
 * sentences are shown whole. A server that lacks the command quotes its arguments. So any other text ends before the
 * first quotation mark or the password, or, if the credentials have changed since, before the first blank. */
struct reply credentials_shown_error(const struct credentials *credentials, uint32_t version,
                                     const struct reply *reply);

#endif
