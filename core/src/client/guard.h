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

/* Begins a call: the mutex is held and the client is open on OK. Ends it again with leave_call. */
int enter_call(struct client *client);
void leave_call(struct client *client);

/* Whether a name can be one of this client's, its prefix included: OK, or INVALID with the last error set. */
int check_name(const struct client *client, const char *name, size_t size);

/* Sets the last error for a failed call about a name and returns the status. `answer` has the server's words about its
 * access rules; it may be NULL. */
int call_failed(const struct client *client, const struct lock_answer *answer, const char *verb, const char *name,
                size_t size, int status);

/* The same of names that are shown already. */
int call_failed_of(const struct client *client, const struct lock_answer *answer, const char *verb, const char *names,
                   int status);

/* Whether a status is of the connection, whose words name the server. */
static inline bool status_has_detail(int status) {
    return status <= -300 && status > -400;
}

/* events.c: what nobody will collect any more */
void events_give_back(struct client *client);
void events_discard(struct client *client);

#endif
