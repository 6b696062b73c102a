/* Asynchronous calls on multi locks and RedLocks that need more than one operation on one client.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The background thread of the first member's client steps them. A thread that finishes a subrequest on another client,
 * with that client's mutex, only signals the background thread. */
#ifndef COMPOSITE_ASYNC_H
#define COMPOSITE_ASYNC_H

#include "composite_op.h"
#include "lock_operations.h"

/* Starts a call whose completion comes as an event of the first client. */
int composite_start(const struct redlatch_lock *lock, const struct lock_start *what, uint64_t tag);

/* Called by the client's background thread. The first steps the operations that are due, without the mutex. The second
 * returns when the next one is due, with the mutex. */
void composite_step_all(struct client *client);
int64_t composite_next_time(const struct client *client);

/* With the client's mutex: cancels the acquires with a tag; notes that the event of an operation was collected. */
void composite_cancel(struct client *client, uint64_t tag);
void composite_collected(struct composite_op *op);

/* Ends the operations of a broken client with INTERNAL. Called by its background thread as it ends, without the
 * mutex. */
void composite_end_broken(struct client *client);

/* Frees the operations of a client that is closed, after its background thread has ended. Without its mutex. */
void composite_discard_ops(struct client *client);

#endif
