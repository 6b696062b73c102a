/* What the blocking and the asynchronous calls on locks share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCK_H
#define LOCK_H

#include "handles.h"
#include "lease.h"

/* Fills in the options of a new lock: the defaults, and over them `given`, which may be NULL. Returns OK or INVALID. */
int lock_options_of(int kind, const redlatch_lock_options *given, redlatch_lock_options *options_out);

/* Returns the owner that a call is for: `owner` unless it is 0, else the handle's own, else the calling thread's.
 * Returns 0 if the thread could not get a number. */
uint64_t lock_owner(const struct redlatch_lock *lock, uint64_t owner);

/* Returns OK, or SYSTEM with the last error set if lock_owner returns 0. */
int lock_check_owner(const struct redlatch_lock *lock, uint64_t owner);

/* Returns whether the owner of a call is not the calling thread, so that it does not end with that thread. */
bool lock_owner_is_named(const struct redlatch_lock *lock, uint64_t owner);

/* Returns OK if a lock can have unconfirmed releases, else UNSUPPORTED with the last error set. `composite`: as in
 * struct redlatch_lock. */
int lock_check_unconfirmed(const struct client *client, const struct composite *composite);

/* Fills in a new handle, except for its `operations`. Takes a reference to the client; the caller took that to the
 * resource. */
void lock_set_up(struct redlatch_lock *lock, struct client *client, struct resource *resource, int kind,
                 const redlatch_lock_options *options);

/* Sets a request up for this lock and preallocates the engine's memory. Returns OK, or NO_MEMORY or SYSTEM with the
 * last error set. With the mutex. */
int lock_prepare(struct request *request, const struct redlatch_lock *lock, uint8_t kind, uint64_t owner);

/* Converts the reply to a query into the state that the user gets. */
void lock_state_of(const struct lock_answer *answer, redlatch_lock_state *state_out);

/* Returns OK, or BAD_HANDLE with the last error set. Freeing checks nothing else. */
int guard_lock_handle(const struct redlatch_lock *handle);

/* Returns OK, BAD_HANDLE or what client_check returns, with the last error set. */
int guard_lock(const struct redlatch_lock *handle);

/* Sets whether a release with the argument `confirm` is confirmed. Returns OK, or INVALID or UNSUPPORTED with the last
 * error set. */
int lock_check_confirm(const struct redlatch_lock *lock, int32_t confirm, bool *confirmed_out);

/* Returns FORKED with the last error set if the owner held the lock when the process was forked, and was not granted it
 * since: that hold is the parent's. Else returns OK. */
int lock_check_inherited(const struct redlatch_lock *lock, uint64_t owner, const char *verb);

#endif
