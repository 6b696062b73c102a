/* The blocking calls on multi locks and RedLocks, where one operation on one client will not do.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef JOINT_CALLS_H
#define JOINT_CALLS_H

#include "run.h"

/* As redlatch_lock_acquire_as, checked already; the cancel object is claimed and new. */
int joint_acquire(const struct redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                  struct redlatch_cancel *cancel, int64_t slice_ms);

/* Goes on with the run that a cancel object names. */
int joint_go_on(struct redlatch_cancel *cancel, int64_t slice_ms);

int joint_release(const struct redlatch_lock *lock, uint64_t owner);

/* An asynchronous call that is no acquire: true when it is over, and its call has the answer. */
bool joint_crew_step(struct run *run, int64_t now, int *status_out);

/* Of each member by itself. */
int joint_extend(const struct redlatch_lock *lock, uint64_t owner, int64_t lease_ms);
int joint_force(const struct redlatch_lock *lock, int32_t *released_out);
int joint_query(const struct redlatch_lock *lock, struct lock_answer *answer_out);

#endif
