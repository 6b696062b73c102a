/* Checks whether a client may be used: it is open, and belongs to this process. An inherited client is set up anew
 * first.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef GUARD_H
#define GUARD_H

#include "handles.h"

/* Returns OK, FORKED, CLOSED, INTERNAL, or the status with which the setting up failed, with the last error set. */
int client_check(struct client *client);

/* Called when a handle is freed. Returns whether the client belongs to this process, so that the handle's holds and
 * names are given back to it. An inherited client is set up anew first; returns false if that fails. */
bool client_adopt(struct client *client);

/* As client_check, or BAD_HANDLE. */
int guard_client(const struct redlatch_client *handle);

#endif
