/* What waits that can be cancelled and resumable waits share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef RESUMABLE_WAIT_H
#define RESUMABLE_WAIT_H

#include "lock.h"

/* Returns OK, or BAD_HANDLE or FORKED with the last error set. */
int guard_cancel(const struct redlatch_cancel *cancel);

/* Claims a cancel object for one wait, until cancel_finish. NULL is allowed. Returns OK, BAD_HANDLE, FORKED or
 * IN_USE. */
int cancel_claim(struct redlatch_cancel *cancel);

/* Called when the wait is over. Resets the object, which another wait may now claim. NULL is allowed. */
void cancel_finish(struct redlatch_cancel *cancel);

/* Makes a resumable wait. It takes references to its target, and claims `cancel`, which may be NULL. The caller sets
 * how the wait starts and writes it to `wait_out`, which is only checked here. On failure returns NULL, with
 * *status_out and the last error set. */
struct redlatch_wait *wait_new(const struct target *target, struct redlatch_cancel *cancel, int64_t wait_ms,
                               redlatch_wait *const *wait_out, int *status_out);

/* Drops the wait's references and frees it. In a forked child it frees the handle only. */
void wait_destroy(struct redlatch_wait *wait);

/* Returns the status of a wait that is over. Notes the grant of a composite lock; on failure explains it and sets the
 * last error. With the mutex, which an explanation drops meanwhile. */
int resumable_result(struct request *request, int64_t wait_ms);

#endif
