/* The check every public function begins with: the handle, the process, and that the client is open.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef GUARD_H
#define GUARD_H

#include "handles.h"

/* OK or BAD_HANDLE, with the last error set: all that the calls which tidy up ask for. */
int guard_client_handle(const struct redlatch_client *handle);
int guard_lock_handle(const struct redlatch_lock *handle);

/* OK, BAD_HANDLE, FORKED or CLOSED, with the last error set. */
int guard_client(const struct redlatch_client *handle);
int guard_lock(const struct redlatch_lock *handle);

/* Begins a call: the mutex is held and the client is open on OK. Ends it again with client_leave. */
int client_enter(struct client *client);
void client_leave(struct client *client);

/* Whether a name can be one of this client's, its prefix included: OK, or INVALID with the last error set. */
int check_name(const struct client *client, const char *name, size_t size);

/* events.c: what nobody will collect any more */
void events_give_back(struct client *client);
void events_discard(struct client *client);

#endif
