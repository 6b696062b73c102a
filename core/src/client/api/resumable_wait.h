/* Waits that can be cancelled, and go on between calls: what an acquire and a wait for a free name share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef RESUMABLE_WAIT_H
#define RESUMABLE_WAIT_H

#include "lock.h"

/* OK, BAD_HANDLE or FORKED, with the last error set. */
int guard_cancel(const struct redlatch_cancel *cancel);

/* Of a parent process, which shares its descriptor, and whose client the wait it names belongs to. */
bool cancel_is_inherited(const struct redlatch_cancel *cancel);

/* Whether a wait may be cancelled and sliced so: OK, INVALID, BAD_HANDLE, FORKED. `cancel` may be NULL. */
int resumable_check(const struct redlatch_cancel *cancel, int64_t max_block_ms);

/* Claims the object for one call, which ends by resumable_continue or resumable_give_back. OK: a wait may begin, whose
 * call is set up. AGAIN: a wait of this kind goes on, by resumable_resume. IN_USE. */
int resumable_claim(struct redlatch_cancel *cancel, uint8_t kind, struct client *client);
void resumable_give_back(struct redlatch_cancel *cancel);

/* Drives the wait that has begun, with the mutex, which is dropped: AGAIN when the slice is over, else its answer. */
int resumable_continue(struct redlatch_cancel *cancel, int64_t max_block_ms);
int resumable_resume(struct redlatch_cancel *cancel, int64_t max_block_ms);

/* The wait is over: the object is as new, and somebody else's. */
void resumable_reset(struct redlatch_cancel *cancel);

/* Sets the last error for a wait that is over, unless it was granted, and returns its status. With the mutex. */
int resumable_result(const struct redlatch_lock *lock, struct request *request, int64_t wait_ms);

#endif
