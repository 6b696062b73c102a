/* Asynchronous calls on multi locks and RedLocks, where one operation on one client will not do.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The keeper of the first member's client steps them: whoever finishes an operation on a member's client, with that
 * client's mutex, only lets it know. */
#ifndef JOINT_ASYNC_H
#define JOINT_ASYNC_H

#include "run.h"

/* Starts a call whose completion comes as an event of the first client. */
int joint_start(const struct redlatch_lock *lock, uint8_t kind, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                uint64_t tag, int32_t event);

/* One of a run's operations is done; the mutex is that of the client it was made of. */
void joint_step_soon(struct run *run);

/* For the keeper, without its mutex: steps what has something to do. */
void joint_step_all(struct client *client);
int64_t joint_next_time(const struct client *client);

/* With the client's mutex: cancels acquires; the event of a run was collected. */
void joint_cancel(struct client *client, uint64_t tag);
void joint_collected(struct run *run);

/* The first client is broken: what is under way ends with INTERNAL. By its keeper as it ends, without its mutex. */
void joint_end_broken(struct client *client);

/* The client is closed and its keeper gone. Without its mutex. */
void joint_discard_runs(struct client *client);

#endif
