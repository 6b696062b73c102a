/* Clients in forked children.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REOPEN_H
#define REOPEN_H

#include "client.h"

/* What a client is in a process before it has done anything there: to be called for a zeroed client whose options are
 * set, and for an inherited one. `last_id`: the last wire number that was used, which no hold gets again. */
void client_make_blank(struct client *client, const struct engine_settings *settings, const char *uuid, uint64_t random,
                       uint64_t last_id);

/* Makes what depends on the kind of the URL; false without memory. */
bool client_make_parts(struct client *client);

/* Makes an inherited client this process' own; nothing is sent. OK, FORKED of one that refuses, CLOSED, NO_MEMORY or
 * SYSTEM, with the last error set. */
int client_reopen(struct client *client);

#endif
