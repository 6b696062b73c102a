/* Waits that can be cancelled, and go on between calls: what an acquire and a wait for a free name share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SLICES_H
#define SLICES_H

#include "lock.h"

/* Whether a wait may be cancelled and sliced so: OK, INVALID, BAD_HANDLE, FORKED. `cancel` may be NULL. */
int slices_check(const struct redlatch_cancel *cancel, int64_t slice_ms);

/* Claims the object for one call, which ends by slices_go_on or slices_give_back. OK: a wait may begin, whose call is
 * set up. AGAIN: a wait of this kind goes on, by slices_resume. IN_USE. */
int slices_claim(struct redlatch_cancel *cancel, uint8_t kind, struct client *client);
void slices_give_back(struct redlatch_cancel *cancel);

/* Drives the wait that has begun, with the mutex, which is dropped: AGAIN when the slice is over, else its answer. */
int slices_go_on(struct redlatch_cancel *cancel, int64_t slice_ms);
int slices_resume(struct redlatch_cancel *cancel, int64_t slice_ms);

/* The wait is over: the object is as new, and somebody else's. */
void slices_renew(struct redlatch_cancel *cancel);

/* Sets the last error for a wait that is over, unless it was granted, and returns its status. With the mutex. */
int slices_answer(const struct redlatch_lock *lock, struct call *call, int64_t wait_ms);

#endif
