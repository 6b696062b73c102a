/* Asynchronous calls on multi locks and RedLocks, where one operation on one client will not do.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The background thread of the first member's client steps them: whoever finishes an operation on a member's client,
 * with that client's mutex, only lets it know. */
#ifndef COMPOSITE_ASYNC_H
#define COMPOSITE_ASYNC_H

#include "composite_op.h"
#include "lock_operations.h"

/* Starts a call whose completion comes as an event of the first client. */
int composite_start(const struct redlatch_lock *lock, const struct lock_start *what, uint64_t tag);

/* For the background thread, without its mutex: steps what has something to do. */
void composite_step_all(struct client *client);
int64_t composite_next_time(const struct client *client);

/* With the client's mutex: cancels acquires; the event of a run was collected. */
void composite_cancel(struct client *client, uint64_t tag);
void composite_collected(struct composite_op *op);

/* The first client is broken: what is under way ends with INTERNAL. By its background thread as it ends, without its
 * mutex. */
void composite_end_broken(struct client *client);

/* The client is closed and its background thread gone. Without its mutex. */
void composite_discard_ops(struct client *client);

#endif
