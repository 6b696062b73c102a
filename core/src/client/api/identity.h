/* What identifies a client on the server: its uuid, and the name of its connections.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef IDENTITY_H
#define IDENTITY_H

#include "client.h"

/* What a client draws at random in each process. */
struct identity {
    char uuid[37];
    uint64_t random; /* seeds jitter */
};

/* Draws an identity. Returns OK, or SYSTEM with the last error set. */
int identity_draw(struct identity *identity_out);

/* Returns OK if `label` is NULL or can be a part of a connection's name, else INVALID with the last error set. */
int identity_check_label(const char *label);

/* Names the connections: redlatch:[<label>@]<host>:<pid>:<uuid>. */
void identity_name(struct client *client);

#endif
