/* Waits that can be cancelled, and waits that go on between calls: what all of them share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef RESUMABLE_WAIT_H
#define RESUMABLE_WAIT_H

#include "lock.h"

/* OK, BAD_HANDLE or FORKED, with the last error set. */
int guard_cancel(const struct redlatch_cancel *cancel);

/* Claims a cancel object for one wait, which ends by cancel_finish. NULL is allowed. OK, BAD_HANDLE, FORKED, IN_USE. */
int cancel_claim(struct redlatch_cancel *cancel);

/* The wait is over: the object is as new, and somebody else's. NULL is allowed. */
void cancel_finish(struct redlatch_cancel *cancel);

/* Makes a resumable wait that keeps what it waits for, and claims `cancel`, which may be NULL. NULL with the status and
 * the last error set. The caller sets how it starts, and writes it to `wait_out`. */
struct redlatch_wait *wait_new(const struct target *target, struct redlatch_cancel *cancel, int64_t wait_ms,
                               redlatch_wait *const *wait_out, int *status_out);

/* Lets go of what the wait keeps, and frees it. In a forked child it frees the handle only. */
void wait_destroy(struct redlatch_wait *wait);

/* Notes the grant of a wait that is over, or sets the last error; returns its status. With the mutex. */
int resumable_result(struct request *request, int64_t wait_ms);

#endif
