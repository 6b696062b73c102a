/* The client's mutex, and calls that enter and leave.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CLIENT_LOCK_H
#define CLIENT_LOCK_H

#include "client.h"

void client_lock(struct client *client);
void client_unlock(struct client *client); /* wakes and kicks what was collected */
void client_kick_background(struct client *client);
void client_wake(struct client *client, _Atomic uint32_t *futex);

/* Begins a call: the mutex is held and the client is open on OK. Ends it again with client_leave. */
int client_enter(struct client *client);
void client_leave(struct client *client);

#endif
