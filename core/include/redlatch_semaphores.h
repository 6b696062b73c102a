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

/* The most permits there may be, as Redisson's, those of a permit semaphore that are taken included. What would make
 * them more is refused by the server as INVALID, and changes nothing. */
enum { REDLATCH_PERMITS_MAX = 2147483647 };

/* Makes a handle; nothing is sent. `name` is copied: 1 to REDLATCH_NAME_SIZE_MAX bytes of any value. The handle is the
 * caller's, to be freed by redlatch_semaphore_free. INVALID, BAD_HANDLE, CLOSED, FORKED, NO_MEMORY. Since 0.1. */
REDLATCH_API int redlatch_semaphore_new(redlatch_client *client, const char *name, size_t name_size,
                                        redlatch_semaphore **semaphore_out);

/* Gives the handle back; NULL is allowed. What was taken stays so. Since 0.1. */
REDLATCH_API void redlatch_semaphore_free(redlatch_semaphore *semaphore);

/* Takes `permits` (0 or more) at once, waiting until there are as many. wait_ms: 0 tries once, REDLATCH_FOREVER waits
 * without end. TIMEOUT: there were too few all the time; a semaphore that does not exist has none. `cancel` (may be
 * NULL) and max_block_ms: as of redlatch_lock_acquire_as. What was taken for a call that failed is given back in the
 * background.
 * INVALID, BAD_HANDLE, CLOSED, FORKED, NO_REPLY, UNREACHABLE, PROTOCOL, CANCELLED, AGAIN, IN_USE, -4xx, NO_MEMORY,
 * SYSTEM. Since 0.1. */
REDLATCH_API int redlatch_semaphore_acquire(redlatch_semaphore *semaphore, int64_t permits, int64_t wait_ms,
                                            redlatch_cancel *cancel, int64_t max_block_ms);

/* Adds `permits` (0 or more) and wakes waiters. A semaphore that does not exist is made. INVALID: also where there
 * would be more than REDLATCH_PERMITS_MAX. Also BAD_HANDLE, CLOSED, FORKED, NO_REPLY, UNREACHABLE, PROTOCOL, -4xx,
 * NO_MEMORY. Since 0.1. */
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

/* Deletes the semaphore; `deleted_out` says whether there was one. Who waits for permits goes on waiting. Statuses as
 * redlatch_semaphore_release. Since 0.1. */
REDLATCH_API int redlatch_semaphore_delete(redlatch_semaphore *semaphore, int32_t *deleted_out);

/* Starts an acquire of `permits` (1 or more): its completion is an ACQUIRED event with `tag`. Permits whose event is
 * not collected within the claim time-out are given back, and the event says UNCLAIMED. Never blocks;
 * redlatch_client_cancel ends it. INVALID, BAD_HANDLE, CLOSED, FORKED, NO_MEMORY, SYSTEM. Since 0.1. */
REDLATCH_API int redlatch_semaphore_start_acquire(redlatch_semaphore *semaphore, int64_t permits, int64_t wait_ms,
                                                  uint64_t tag);

/* Starts a release of `permits` (1 or more): its completion is a RELEASED event with `tag`. Statuses as
 * redlatch_semaphore_start_acquire. Since 0.1. */
REDLATCH_API int redlatch_semaphore_start_release(redlatch_semaphore *semaphore, int64_t permits, uint64_t tag);

/* Starts a release of `permits` (1 or more) unless the semaphore does not exist, which the `number` of its RELEASED
 * event says: see redlatch_events.h. Since 0.1. */
REDLATCH_API int redlatch_semaphore_start_release_if_exists(redlatch_semaphore *semaphore, int64_t permits,
                                                            uint64_t tag);

/* Starts a try to set: the `number` of its ANSWERED event says whether the semaphore was made. See redlatch_events.h
 * for this and the next four. Since 0.1. */
REDLATCH_API int redlatch_semaphore_start_try_set_permits(redlatch_semaphore *semaphore, int64_t permits,
                                                          int64_t ttl_ms, uint64_t tag);

/* Starts redlatch_semaphore_add_permits. Since 0.1. */
REDLATCH_API int redlatch_semaphore_start_add_permits(redlatch_semaphore *semaphore, int64_t permits, uint64_t tag);

/* Starts redlatch_semaphore_drain: the `number` says how many there were. Since 0.1. */
REDLATCH_API int redlatch_semaphore_start_drain(redlatch_semaphore *semaphore, uint64_t tag);

/* Starts redlatch_semaphore_available: the `number` says how many there are. Since 0.1. */
REDLATCH_API int redlatch_semaphore_start_available(redlatch_semaphore *semaphore, uint64_t tag);

/* Starts redlatch_semaphore_delete: the `number` says whether there was one. Since 0.1. */
REDLATCH_API int redlatch_semaphore_start_delete(redlatch_semaphore *semaphore, uint64_t tag);

/* -------------------------------------------------------------------------------------------- permit semaphores -- */

/* A number of permits that have an id and a lease each, Redisson's RPermitExpirableSemaphore. Whoever knows the id may
 * give a permit back, in any process; one that nobody gives back is free again when its lease is over. Without a lease
 * a permit is renewed, with one of the client's watchdog_lease_ms, until it is released or its process ends. Permits
 * belong to no thread. A lost permit is told of by a LOST event with its serial, and remembered for five minutes unless
 * it is released. Leases are measured by the server's clock.
 * Waiters are served as those of a semaphore. Opaque. */
typedef struct redlatch_permit_semaphore redlatch_permit_semaphore;

enum {
    REDLATCH_PERMIT_ID_SIZE = 33, /* room for an id, 32 hexadecimal digits, with its final NUL */
    REDLATCH_PERMITS_AT_ONCE_MAX = 1000
};

/* As redlatch_semaphore_new. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_new(redlatch_client *client, const char *name, size_t name_size,
                                               redlatch_permit_semaphore **permit_semaphore_out);

/* Gives the handle back; NULL is allowed. Permits that were taken are renewed as before. Since 0.1. */
REDLATCH_API void redlatch_permit_semaphore_free(redlatch_permit_semaphore *permit_semaphore);

/* Takes `permits` (1 to REDLATCH_PERMITS_AT_ONCE_MAX) at once, all or none, for lease_ms each, or REDLATCH_RENEWED.
 * `serial_out` names the first; the serials of the others follow. LOST: they were granted after their lease was over.
 * Else as redlatch_semaphore_acquire. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_acquire(redlatch_permit_semaphore *permit_semaphore, int64_t permits,
                                                   int64_t lease_ms, int64_t wait_ms, redlatch_cancel *cancel,
                                                   int64_t max_block_ms, uint64_t *serial_out);

/* How a permit stands, as far as this process knows without asking the server. */
typedef struct redlatch_permit {
    uint32_t struct_size;
    int32_t state;  /* enum redlatch_hold_state; NOT_HELD: not taken by this client, or released */
    int32_t reason; /* enum redlatch_reason, when GONE */
    uint32_t reserved;
    int64_t remaining_ms; /* safe time left, margin deducted, rounded down; 0 unless HELD or SUSPECT */
    uint64_t serial;
    char id[33]; /* 32 hexadecimal digits */
} redlatch_permit;

/* Fills `permit_out` (its struct_size must be set) for a permit that this client took. Sends nothing.
 * INVALID, BAD_HANDLE, CLOSED, FORKED. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_permit(redlatch_permit_semaphore *permit_semaphore, uint64_t serial,
                                                  redlatch_permit *permit_out);

/* Gives a permit back, by its id, 32 hexadecimal digits and a NUL, whoever took it. LOST: its lease was over.
 * NOT_OWNED: there is no such permit, or others have had it since. NO_REPLY: it goes on in the background. Also
 * INVALID, BAD_HANDLE, CLOSED, FORKED, UNREACHABLE, PROTOCOL, -4xx, NO_MEMORY. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_release(redlatch_permit_semaphore *permit_semaphore, const char *id);

/* Lets a permit's lease end lease_ms from now, also if that is sooner than it was; one that is renewed goes on being
 * renewed. Statuses as redlatch_permit_semaphore_release. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_update_lease(redlatch_permit_semaphore *permit_semaphore, const char *id,
                                                        int64_t lease_ms);

/* Asks the server how long a permit is taken yet: 0 when it is not, REDLATCH_FOREVER when it has no lease (Redisson's
 * may have none). Statuses as redlatch_semaphore_release. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_lease_of(redlatch_permit_semaphore *permit_semaphore, const char *id,
                                                    int64_t *lease_ms_out);

/* Makes a semaphore of so many permits unless it exists, which `set_out` says. Statuses as redlatch_semaphore_release.
 * Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_try_set_permits(redlatch_permit_semaphore *permit_semaphore, int64_t permits,
                                                           int32_t *set_out);

/* Lets there be so many permits in all, those that are taken included; if more are taken, it owes the rest. Statuses as
 * redlatch_semaphore_release. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_set_permits(redlatch_permit_semaphore *permit_semaphore, int64_t permits);

/* As redlatch_semaphore_add_permits. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_add_permits(redlatch_permit_semaphore *permit_semaphore, int64_t permits);

/* Asks the server how many permits can be taken: less than 0 if the semaphore owes some. Statuses as
 * redlatch_semaphore_release. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_available(redlatch_permit_semaphore *permit_semaphore,
                                                     int64_t *available_out);

/* Asks the server how many permits are taken. Statuses as redlatch_semaphore_release. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_acquired(redlatch_permit_semaphore *permit_semaphore, int64_t *acquired_out);

/* Asks the server how many permits there are in all. Statuses as redlatch_semaphore_release. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_permits(redlatch_permit_semaphore *permit_semaphore, int64_t *permits_out);

/* Deletes the semaphore with all leases; `deleted_out` says whether there was one. Who waits for permits goes on
 * waiting. Statuses as redlatch_semaphore_release. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_delete(redlatch_permit_semaphore *permit_semaphore, int32_t *deleted_out);

/* Starts an acquire: its completion is an ACQUIRED event with `tag`, whose serial is that of the first permit. Permits
 * whose event is not collected within the claim time-out are given back, and the event says UNCLAIMED. Never blocks;
 * redlatch_client_cancel ends it. INVALID, BAD_HANDLE, CLOSED, FORKED, NO_MEMORY, SYSTEM. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_acquire(redlatch_permit_semaphore *permit_semaphore, int64_t permits,
                                                         int64_t lease_ms, int64_t wait_ms, uint64_t tag);

/* Starts a release of a permit that this client took: its completion is a RELEASED event with `tag`. Statuses as
 * redlatch_permit_semaphore_start_acquire. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_release(redlatch_permit_semaphore *permit_semaphore, uint64_t serial,
                                                         uint64_t tag);

/* Starts redlatch_permit_semaphore_release, by the id of a permit that anybody may have taken: its completion is a
 * RELEASED event. See redlatch_events.h for this and all that follow. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_release_by_id(redlatch_permit_semaphore *permit_semaphore,
                                                               const char *id, uint64_t tag);

/* Starts redlatch_permit_semaphore_update_lease: its completion is an EXTENDED event. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_update_lease(redlatch_permit_semaphore *permit_semaphore,
                                                              const char *id, int64_t lease_ms, uint64_t tag);

/* Starts redlatch_permit_semaphore_lease_of: the `number` of its ANSWERED event is the lease. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_lease_of(redlatch_permit_semaphore *permit_semaphore, const char *id,
                                                          uint64_t tag);

/* Starts a try to set: the `number` says whether the semaphore was made. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_try_set_permits(redlatch_permit_semaphore *permit_semaphore,
                                                                 int64_t permits, uint64_t tag);

/* Starts redlatch_permit_semaphore_set_permits. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_set_permits(redlatch_permit_semaphore *permit_semaphore,
                                                             int64_t permits, uint64_t tag);

/* Starts redlatch_permit_semaphore_add_permits. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_add_permits(redlatch_permit_semaphore *permit_semaphore,
                                                             int64_t permits, uint64_t tag);

/* Starts redlatch_permit_semaphore_available: the `number` says how many can be taken. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_available(redlatch_permit_semaphore *permit_semaphore, uint64_t tag);

/* Starts redlatch_permit_semaphore_acquired: the `number` says how many are taken. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_acquired(redlatch_permit_semaphore *permit_semaphore, uint64_t tag);

/* Starts redlatch_permit_semaphore_permits: the `number` says how many there are in all. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_permits(redlatch_permit_semaphore *permit_semaphore, uint64_t tag);

/* Starts redlatch_permit_semaphore_delete: the `number` says whether there was one. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_delete(redlatch_permit_semaphore *permit_semaphore, uint64_t tag);

/* bindings: end */

#ifdef __cplusplus
}
#endif

#endif /* REDLATCH_SEMAPHORES_H */
