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

/* Lets through whoever waits once it was counted down so often as it was set to, Redisson's RCountDownLatch. One that
 * was never set, was counted down or was deleted is open. Changes are carried out once, as those of semaphores (see
 * redlatch_semaphores.h). NO_REPLY of a count-down: it goes on in the background; of a try to set: it was carried out
 * or it was not.
 * In a cluster a name with braces can not be a latch: Redisson's channel is in another slot. Opaque. */
typedef struct redlatch_latch redlatch_latch;

/* Makes a handle; nothing is sent. `name` is copied: 1 to REDLATCH_NAME_SIZE_MAX bytes of any value. The handle is the
 * caller's, to be freed by redlatch_latch_free. INVALID, BAD_HANDLE, CLOSED, FORKED, NO_MEMORY. Since 0.1. */
REDLATCH_API int redlatch_latch_new(redlatch_client *client, const char *name, size_t name_size,
                                    redlatch_latch **latch_out);

/* Gives the handle back; NULL is allowed. Since 0.1. */
REDLATCH_API void redlatch_latch_free(redlatch_latch *latch);

/* Closes the latch until it has been counted down `count` (1 or more) times, unless it is closed already, which
 * `set_out` says. INVALID, BAD_HANDLE, CLOSED, FORKED, NO_REPLY, UNREACHABLE, PROTOCOL, -4xx, NO_MEMORY. Since 0.1. */
REDLATCH_API int redlatch_latch_try_set_count(redlatch_latch *latch, int64_t count, int32_t *set_out);

/* Counts down by one, and opens the latch at zero. Of an open latch it changes nothing. Statuses as
 * redlatch_latch_try_set_count. Since 0.1. */
REDLATCH_API int redlatch_latch_count_down(redlatch_latch *latch);

/* Asks the server what is left to be counted down: 0 when it is open. Statuses as redlatch_latch_try_set_count.
 * Since 0.1. */
REDLATCH_API int redlatch_latch_count(redlatch_latch *latch, int64_t *count_out);

/* Waits until the latch is open. wait_ms: 0 checks once, REDLATCH_FOREVER waits without end. TIMEOUT: it was closed all
 * the time. `cancel` (may be NULL) and max_block_ms: as of redlatch_lock_acquire_as.
 * INVALID, BAD_HANDLE, CLOSED, FORKED, NO_REPLY, UNREACHABLE, PROTOCOL, CANCELLED, AGAIN, IN_USE, -4xx, NO_MEMORY,
 * SYSTEM. Since 0.1. */
REDLATCH_API int redlatch_latch_wait(redlatch_latch *latch, int64_t wait_ms, redlatch_cancel *cancel,
                                     int64_t max_block_ms);

/* Deletes the latch, which opens it for our waiters; those of Redisson go on waiting. `deleted_out` says whether it was
 * closed. Statuses as redlatch_latch_try_set_count. Since 0.1. */
REDLATCH_API int redlatch_latch_delete(redlatch_latch *latch, int32_t *deleted_out);

/* Starts a wait: its completion is an OPENED event with `tag`. Never blocks; redlatch_client_cancel ends it.
 * INVALID, BAD_HANDLE, CLOSED, FORKED, NO_MEMORY, SYSTEM. Since 0.1. */
REDLATCH_API int redlatch_latch_start_wait(redlatch_latch *latch, int64_t wait_ms, uint64_t tag);

/* Starts a count-down: its completion is a COUNTED event with `tag`. Statuses as redlatch_latch_start_wait.
 * Since 0.1. */
REDLATCH_API int redlatch_latch_start_count_down(redlatch_latch *latch, uint64_t tag);

/* Starts a try to set: the `number` of its ANSWERED event says whether the latch was set. See redlatch_events.h for
 * this and the next two. Since 0.1. */
REDLATCH_API int redlatch_latch_start_try_set_count(redlatch_latch *latch, int64_t count, uint64_t tag);

/* Starts redlatch_latch_count: the `number` is what is left to be counted down. Since 0.1. */
REDLATCH_API int redlatch_latch_start_count(redlatch_latch *latch, uint64_t tag);

/* Starts redlatch_latch_delete: the `number` says whether it was closed. Since 0.1. */
REDLATCH_API int redlatch_latch_start_delete(redlatch_latch *latch, uint64_t tag);

/* bindings: end */

#ifdef __cplusplus
}
#endif

#endif /* REDLATCH_LATCH_H */
