/* What the blocking and the asynchronous calls on locks share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCK_H
#define LOCK_H

#include "handles.h"
#include "lease.h"

/* The options of a new lock: the defaults, and what is given over them. OK or INVALID. */
int lock_options_of(int kind, const redlatch_lock_options *given, redlatch_lock_options *options_out);

/* The owner a call is for: the one named, else the handle itself, else the calling thread; 0 if that has no number. */
uint64_t lock_owner(const struct redlatch_lock *lock, uint64_t owner);

/* OK, or SYSTEM with the last error set where there is no such number. */
int lock_check_owner(const struct redlatch_lock *lock, uint64_t owner);

/* Whether that owner does not end with the calling thread. */
bool lock_owner_is_named(const struct redlatch_lock *lock, uint64_t owner);

/* Whether releases of a lock need not be confirmed, with the last error set if not: OK or UNSUPPORTED. `composite`: as
 * of struct redlatch_lock. */
int lock_check_unconfirmed(const struct client *client, const struct composite *composite);

/* Fills a new handle, operations apart; the resource's reference is the caller's to count. */
void lock_set_up(struct redlatch_lock *lock, struct client *client, struct resource *resource, int kind,
                 const redlatch_lock_options *options);

/* Sets the call up for this lock and sees to the engine's memory. With the mutex. OK, NO_MEMORY, SYSTEM. */
int lock_prepare(struct request *request, const struct redlatch_lock *lock, uint8_t kind, uint64_t owner);

/* How a lock stands, for its user. */
void lock_state_of(const struct lock_answer *answer, redlatch_lock_state *state_out);

/* OK or BAD_HANDLE, with the last error set: all that the calls which tidy up ask for. */
int guard_lock_handle(const struct redlatch_lock *handle);

/* OK, BAD_HANDLE, FORKED or CLOSED, with the last error set. */
int guard_lock(const struct redlatch_lock *handle);

/* How a release with the argument `confirm` goes: OK, INVALID or UNSUPPORTED. */
int lock_check_confirm(const struct redlatch_lock *lock, int32_t confirm, bool *confirmed_out);

/* FORKED with the last error set if the owner held the lock when the process was forked, and was not granted it since:
 * that hold is the parent's. Else OK. */
int lock_check_inherited(const struct redlatch_lock *lock, uint64_t owner, const char *verb);

#endif
