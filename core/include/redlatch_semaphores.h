/* redlatch: semaphores.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of redlatch.h, whose conventions hold here. */
#ifndef REDLATCH_SEMAPHORES_H
#define REDLATCH_SEMAPHORES_H

#include "redlatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* bindings: begin */

/* --------------------------------------------------------------------------------------------------- semaphores -- */

/* A number of permits that are taken and given back, Redisson's RSemaphore. Nobody owns a permit: whoever took it,
 * anybody may give it back, and what a process that died had taken stays taken (use a permit semaphore for that).
 *
 * Within a client waiters are served strictly first come, first served: one that waits for many permits holds back
 * those behind it, and while anybody waits a try is refused.
 *
 * A change is carried out once, however often its command was sent: what came of it is recorded on the server, for a
 * minute by default (unreachable_timeout_ms and 30 s), for an hour where the server's access rules forbid CLIENT KILL,
 * CLIENT ID or INFO. A copy of a command that arrives even later than that counts once more.
 * NO_REPLY of a release: it goes on in the background, so do not repeat it; of a drain: it is undone there; of any
 * other change: it was carried out or it was not. UNREACHABLE: it was not. Opaque. */
typedef struct redlatch_semaphore redlatch_semaphore;

/* The most permits at once, as Redisson's. */
enum { REDLATCH_PERMITS_MAX = 2147483647 };

/* Makes a handle; nothing is sent. `name` is copied: 1 to REDLATCH_NAME_SIZE_MAX bytes of any value. The handle is the
 * caller's, to be freed by redlatch_semaphore_free. INVALID, BAD_HANDLE, CLOSED, FORKED, NO_MEMORY. Since 0.1. */
REDLATCH_API int redlatch_semaphore_new(redlatch_client *client, const char *name, size_t name_size,
                                        redlatch_semaphore **semaphore_out);

/* Gives the handle back; NULL is allowed. What was taken stays so. Since 0.1. */
REDLATCH_API void redlatch_semaphore_free(redlatch_semaphore *semaphore);

/* Takes `permits` (0 or more) at once, waiting until there are as many. wait_ms: 0 tries once, REDLATCH_FOREVER waits
 * without end. TIMEOUT: there were too few all the time; a semaphore that does not exist has none. `cancel` (may be
 * NULL) and slice_ms: as of redlatch_lock_acquire_as. What was taken for a call that failed is given back in the
 * background.
 * INVALID, BAD_HANDLE, CLOSED, FORKED, NO_REPLY, UNREACHABLE, PROTOCOL, CANCELLED, AGAIN, IN_USE, -4xx, NO_MEMORY,
 * SYSTEM. Since 0.1. */
REDLATCH_API int redlatch_semaphore_acquire(redlatch_semaphore *semaphore, int64_t permits, int64_t wait_ms,
                                            redlatch_cancel *cancel, int64_t slice_ms);

/* Adds `permits` (0 or more) and wakes waiters. A semaphore that does not exist is made.
 * INVALID, BAD_HANDLE, CLOSED, FORKED, NO_REPLY, UNREACHABLE, PROTOCOL, -4xx, NO_MEMORY. Since 0.1. */
REDLATCH_API int redlatch_semaphore_release(redlatch_semaphore *semaphore, int64_t permits);

/* The same only if the semaphore exists, which `released_out` says. Statuses as redlatch_semaphore_release.
 * Since 0.1. */
REDLATCH_API int redlatch_semaphore_release_if_exists(redlatch_semaphore *semaphore, int64_t permits,
                                                      int32_t *released_out);

/* Makes a semaphore of so many permits unless it exists, which `set_out` says; ttl_ms: it vanishes after that time, or
 * REDLATCH_FOREVER. Statuses as redlatch_semaphore_release. Since 0.1. */
REDLATCH_API int redlatch_semaphore_try_set_permits(redlatch_semaphore *semaphore, int64_t permits, int64_t ttl_ms,
                                                    int32_t *set_out);

/* Adds permits, or takes some away without waiting, also more than there are; a TTL stays as it is. Statuses as
 * redlatch_semaphore_release. Since 0.1. */
REDLATCH_API int redlatch_semaphore_add_permits(redlatch_semaphore *semaphore, int64_t permits);

/* Takes all there are; `drained_out` says how many, less than 0 if the semaphore owed some, which it then owes no more.
 * Statuses as redlatch_semaphore_release. Since 0.1. */
REDLATCH_API int redlatch_semaphore_drain(redlatch_semaphore *semaphore, int64_t *drained_out);

/* Asks the server how many there are: 0 for a semaphore that does not exist, less than 0 if it owes some. Statuses as
 * redlatch_semaphore_release. Since 0.1. */
REDLATCH_API int redlatch_semaphore_available(redlatch_semaphore *semaphore, int64_t *available_out);

/* Deletes the semaphore; `deleted_out` says whether there was one. Who waits goes on waiting. Statuses as
 * redlatch_semaphore_release. Since 0.1. */
REDLATCH_API int redlatch_semaphore_delete(redlatch_semaphore *semaphore, int32_t *deleted_out);

/* Starts an acquire: its completion is an ACQUIRED event with `tag`. Permits whose event is not collected within the
 * claim time-out are given back, and the event says UNCLAIMED. Never blocks; redlatch_client_cancel ends it.
 * INVALID, BAD_HANDLE, CLOSED, FORKED, NO_MEMORY, SYSTEM. Since 0.1. */
REDLATCH_API int redlatch_semaphore_start_acquire(redlatch_semaphore *semaphore, int64_t permits, int64_t wait_ms,
                                                  uint64_t tag);

/* Starts a release: its completion is a RELEASED event with `tag`. Statuses as redlatch_semaphore_start_acquire.
 * Since 0.1. */
REDLATCH_API int redlatch_semaphore_start_release(redlatch_semaphore *semaphore, int64_t permits, uint64_t tag);

/* bindings: end */

#ifdef __cplusplus
}
#endif

#endif /* REDLATCH_SEMAPHORES_H */
