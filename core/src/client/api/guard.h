/* Whether a client may be used: it is open, and this process' own, or becomes that now.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef GUARD_H
#define GUARD_H

#include "handles.h"

/* OK, FORKED, CLOSED, INTERNAL, or what keeps a child from setting it up, with the last error set. */
int client_check(struct client *client);

/* Whether what is freed now is to be given back to the client: it is this process' own, or becomes that. */
bool client_adopt(struct client *client);

/* As client_check, or BAD_HANDLE. */
int guard_client(const struct redlatch_client *handle);

#endif
