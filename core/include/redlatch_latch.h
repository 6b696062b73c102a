/* redlatch: count-down latches.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of redlatch.h, whose conventions hold here. */
#ifndef REDLATCH_LATCH_H
#define REDLATCH_LATCH_H

#include "redlatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* bindings: begin */

/* ------------------------------------------------------------------------------------------- count-down latches -- */

/* A handle of a count-down latch, Redisson's RCountDownLatch. A latch is closed while its count is above zero. One that
 * was never set, was counted down to zero or was deleted is open. Each change runs once, as those of semaphores do: see
 * redlatch_semaphores.h. In a cluster a name with a brace but without a hash tag, such as a{b, cannot be a latch: its
 * keys are in several slots. Opaque. */
typedef struct redlatch_latch redlatch_latch;

/* Makes a handle of a latch. Sends nothing.
 *
 * name: 1 to REDLATCH_NAME_SIZE_MAX bytes of any value, the client's prefix included.
 * latch_out: the handle. The caller owns it and frees it with redlatch_latch_free. Since 0.1. */
REDLATCH_API int redlatch_latch_new(redlatch_client *client, const char *name, size_t name_size,
                                    redlatch_latch **latch_out);

/* Frees a handle. NULL is allowed. The latch stays as it is. Since 0.1. */
REDLATCH_API void redlatch_latch_free(redlatch_latch *latch);

/* Closes an open latch by setting its count to `count` (1 or more). `set_out`, which may be NULL, is 0 if the latch was
 * closed already, else 1. NO_REPLY: the change may or may not have run. Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_latch_try_set_count(redlatch_latch *latch, int64_t count, int32_t *set_out);

/* Lowers the count of a closed latch by one; zero opens it and wakes its waiters. An open latch does not change.
 * NO_REPLY: the change goes on in the background; do not repeat it. Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_latch_count_down(redlatch_latch *latch);

/* Asks the server for the count; 0 when the latch is open. Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_latch_count(redlatch_latch *latch, int64_t *count_out);

/* Waits until the latch is open.
 *
 * wait_ms: how long to wait. 0 checks once, REDLATCH_FOREVER waits without a deadline.
 * cancel: as of redlatch_lock_acquire_as, with its statuses CANCELLED and IN_USE.
 *
 *   status              when                                                  what to do
 *   OK                  the latch was open                                    -
 *   TIMEOUT             the latch was closed until the deadline               try again later
 *
 * Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_latch_wait(redlatch_latch *latch, int64_t wait_ms, redlatch_cancel *cancel);

/* Makes a resumable wait for redlatch_latch_wait, as redlatch_lock_begin_acquire does. Since 0.1. */
REDLATCH_API int redlatch_latch_begin_wait(redlatch_latch *latch, int64_t wait_ms, redlatch_cancel *cancel,
                                           redlatch_wait **wait_out);

/* Deletes the latch. `deleted_out`, which may be NULL, is 1 if it was closed, else 0. Waiters of redlatch return OK;
 * those of Redisson continue to wait. NO_REPLY: the change may or may not have run. Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_latch_delete(redlatch_latch *latch, int32_t *deleted_out);

/* Starts redlatch_latch_wait. It completes with an OPENED event; redlatch_client_cancel cancels it. Since 0.1. */
REDLATCH_API int redlatch_latch_start_wait(redlatch_latch *latch, int64_t wait_ms, uint64_t tag);

/* Starts redlatch_latch_count_down. It completes with a COUNTED event. Since 0.1. */
REDLATCH_API int redlatch_latch_start_count_down(redlatch_latch *latch, uint64_t tag);

/* Starts redlatch_latch_try_set_count. The event's `number` is `set_out`. Since 0.1. */
REDLATCH_API int redlatch_latch_start_try_set_count(redlatch_latch *latch, int64_t count, uint64_t tag);

/* Starts redlatch_latch_count. The event's `number` is the count. Since 0.1. */
REDLATCH_API int redlatch_latch_start_count(redlatch_latch *latch, uint64_t tag);

/* Starts redlatch_latch_delete. The event's `number` is `deleted_out`. Since 0.1. */
REDLATCH_API int redlatch_latch_start_delete(redlatch_latch *latch, uint64_t tag);

/* bindings: end */

#ifdef __cplusplus
}
#endif

#endif /* REDLATCH_LATCH_H */
