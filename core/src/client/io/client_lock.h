/* The client's mutex, and calls that enter and leave.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_LOCK_H
#define CLIENT_LOCK_H

#include "client.h"

void client_lock(struct client *client);
void client_unlock(struct client *client); /* then wakes the callers and the background thread that were noted */
void client_kick_background(struct client *client);
void client_wake(struct client *client, _Atomic uint32_t *futex);

/* Begins a call. On OK the client is open and its mutex is held. client_leave ends the call. */
int client_enter(struct client *client);
void client_leave(struct client *client);

#endif
