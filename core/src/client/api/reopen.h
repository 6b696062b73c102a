/* Setting up inherited clients anew in a forked child.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REOPEN_H
#define REOPEN_H

#include "client.h"

/* Sets a client to the state in which it has done nothing in this process. Called for a zeroed client whose options are
 * set, and for an inherited one. `last_id` is the last wire number that was used: holds get higher ones. */
void client_make_blank(struct client *client, const struct engine_settings *settings, const char *uuid, uint64_t random,
                       uint64_t last_id);

/* Makes the parts that depend on the kind of the URL. Returns false if there was no memory. */
bool client_make_parts(struct client *client);

/* Sets an inherited client up anew, so that it belongs to this process. Sends nothing. Returns OK, FORKED if the option
 * after_fork refuses it, CLOSED, NO_MEMORY or SYSTEM, with the last error set. */
int client_reopen(struct client *client);

#endif
