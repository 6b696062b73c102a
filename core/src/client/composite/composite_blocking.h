/* Blocking calls on multi locks and RedLocks that need more than one operation on one client.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COMPOSITE_BLOCKING_H
#define COMPOSITE_BLOCKING_H

#include "composite_op.h"

/* As in struct lock_operations. The last three make one subrequest for each member. */
int composite_acquire(const struct redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                      struct redlatch_cancel *cancel);
void composite_prepare_wait(struct redlatch_wait *wait);
int composite_release(const struct redlatch_lock *lock, uint64_t owner);
int composite_extend(const struct redlatch_lock *lock, uint64_t owner, int64_t lease_ms);
int composite_force_release(const struct redlatch_lock *lock, int32_t *released_out);
int composite_query(const struct redlatch_lock *lock, struct lock_answer *answer_out);

/* Steps an asynchronous operation that is no acquire. Returns true when it is over; op->done has the result then. */
bool composite_subrequests_step(struct composite_op *op, int64_t now, int *status_out);

#endif
