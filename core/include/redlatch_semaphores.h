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

/* A handle of a semaphore: a number of permits, Redisson's RSemaphore. Permits have no owner: anybody may release them,
 * and those of a process that died stay acquired. Use a permit semaphore if they must not.
 *
 * The waiters of one client are served in the order of their arrival. A waiter for many permits delays those behind it,
 * and an acquire without waiting fails while anybody waits.
 *
 * A change runs once, even if its command is sent again: the server records its outcome for 60 s
 * (unreachable_timeout_ms and 30 s), or for an hour if its access rules forbid CLIENT KILL, CLIENT ID or INFO. A
 * copy of a command that arrives later than that counts again. Opaque. */
typedef struct redlatch_semaphore redlatch_semaphore;

/* The most permits of a semaphore, as in Redisson; of a permit semaphore those that are acquired included. The server
 * returns INVALID for a change that would exceed it, and changes nothing. */
enum { REDLATCH_PERMITS_MAX = 2147483647 };

/* The options of both kinds of semaphores. redlatch_semaphore_options_init sets the defaults, which end each comment
 * below. Since 0.1. */
typedef struct redlatch_semaphore_options {
    uint32_t struct_size;
    int32_t must_exist; /* 1: an acquire of a semaphore that nobody made returns NOT_FOUND; 0: it waits for one; 0 */
    int64_t limit;      /* 1 to REDLATCH_PERMITS_MAX: an acquire of a semaphore that nobody made makes it with so many
                           permits, without a TTL; 0: it does not make one; 0 */
    int64_t lease_ms;   /* of a permit semaphore: what REDLATCH_LEASE_OF_LOCK means to its acquires: RENEWED, or 1 ms to
                           10 years; of a semaphore RENEWED; RENEWED */
} redlatch_semaphore_options;

/* Sets the default options. `struct_size` is sizeof(redlatch_semaphore_options). INVALID: `options` is NULL, or the
 * size is impossible. Since 0.1. */
REDLATCH_API int redlatch_semaphore_options_init(redlatch_semaphore_options *options, uint32_t struct_size);

/* Makes a handle of a semaphore. Sends nothing.
 *
 * name: 1 to REDLATCH_NAME_SIZE_MAX bytes of any value, the client's prefix included.
 * options: NULL for the defaults.
 * semaphore_out: the handle. The caller owns it and frees it with redlatch_semaphore_free. Since 0.1. */
REDLATCH_API int redlatch_semaphore_new(redlatch_client *client, const char *name, size_t name_size,
                                        const redlatch_semaphore_options *options, redlatch_semaphore **semaphore_out);

/* Frees a handle. NULL is allowed. Acquired permits stay acquired. Since 0.1. */
REDLATCH_API void redlatch_semaphore_free(redlatch_semaphore *semaphore);

/* Acquires permits, all at once.
 *
 * permits: 0 or more; 0 returns OK at once.
 * wait_ms: how long to wait for permits. 0 tries once, REDLATCH_FOREVER waits without a deadline.
 * cancel: as of redlatch_lock_acquire_as, with its statuses CANCELLED and IN_USE.
 *
 *   status              when                                                  what to do
 *   OK                  the permits are acquired                              release as many
 *   TIMEOUT             there were too few permits until the deadline; a      try again later
 *                       semaphore that does not exist has none
 *   NOT_FOUND           the semaphore does not exist, and the option          redlatch_semaphore_try_set_permits, or
 *                       must_exist is 1                                       the option limit
 *   NO_REPLY            no reply came; the acquire is undone in the           try again
 *                       background
 *
 * Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_semaphore_acquire(redlatch_semaphore *semaphore, int64_t permits, int64_t wait_ms,
                                            redlatch_cancel *cancel);

/* Makes a resumable wait for redlatch_semaphore_acquire, as redlatch_lock_begin_acquire does. Since 0.1. */
REDLATCH_API int redlatch_semaphore_begin_acquire(redlatch_semaphore *semaphore, int64_t permits, int64_t wait_ms,
                                                  redlatch_cancel *cancel, redlatch_wait **wait_out);

/* Adds `permits` (0 or more) and wakes waiters; makes the semaphore if it does not exist.
 *
 *   status              when                                                  what to do
 *   INVALID             `permits` is out of range, or there would be more     -
 *                       than REDLATCH_PERMITS_MAX permits
 *   NO_REPLY            no reply came; the release goes on in the background  do not release again
 *   UNREACHABLE         the release did not run                               try again
 *
 * Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_semaphore_release(redlatch_semaphore *semaphore, int64_t permits);

/* Adds permits as redlatch_semaphore_release, unless the semaphore does not exist. released_out, which may be NULL: 1
 * if it exists, else 0. Since 0.1. */
REDLATCH_API int redlatch_semaphore_release_if_exists(redlatch_semaphore *semaphore, int64_t permits,
                                                      int32_t *released_out);

/* Makes the semaphore with `permits` (0 or more) unless it exists.
 *
 * ttl_ms: the time after which the semaphore vanishes; REDLATCH_FOREVER: never.
 * set_out: 1 if it was made, else 0. May be NULL.
 *
 * NO_REPLY: the change may or may not have run. Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_semaphore_try_set_permits(redlatch_semaphore *semaphore, int64_t permits, int64_t ttl_ms,
                                                    int32_t *set_out);

/* Changes the number of permits by `permits`, which may be negative and exceed what is available. Its TTL stays.
 * NO_REPLY: the change may or may not have run. Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_semaphore_add_permits(redlatch_semaphore *semaphore, int64_t permits);

/* Acquires all available permits. drained_out: how many; negative if the semaphore was in debt, which ends with it.
 * May be NULL. NO_REPLY: the change is undone in the background. Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_semaphore_drain(redlatch_semaphore *semaphore, int64_t *drained_out);

/* Asks the server for the number of available permits: 0 if the semaphore does not exist, negative if it is in debt.
 * Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_semaphore_available(redlatch_semaphore *semaphore, int64_t *available_out);

/* Deletes the semaphore. deleted_out, which may be NULL: 1 if it existed, else 0. Waiters continue to wait. NO_REPLY:
 * the change may or may not have run. Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_semaphore_delete(redlatch_semaphore *semaphore, int32_t *deleted_out);

/* Starts redlatch_semaphore_acquire of 1 or more permits. It completes with an ACQUIRED event; redlatch_client_cancel
 * cancels it. If the event is not collected within claim_timeout_ms, the permits are released, and its status is
 * UNCLAIMED. Since 0.1. */
REDLATCH_API int redlatch_semaphore_start_acquire(redlatch_semaphore *semaphore, int64_t permits, int64_t wait_ms,
                                                  uint64_t tag);

/* Starts redlatch_semaphore_release of 1 or more permits. It completes with a RELEASED event. Since 0.1. */
REDLATCH_API int redlatch_semaphore_start_release(redlatch_semaphore *semaphore, int64_t permits, uint64_t tag);

/* Starts redlatch_semaphore_release_if_exists of 1 or more permits. It completes with a RELEASED event, whose `number`
 * is `released_out`. Since 0.1. */
REDLATCH_API int redlatch_semaphore_start_release_if_exists(redlatch_semaphore *semaphore, int64_t permits,
                                                            uint64_t tag);

/* Starts redlatch_semaphore_try_set_permits. The event's `number` is `set_out`. Since 0.1. */
REDLATCH_API int redlatch_semaphore_start_try_set_permits(redlatch_semaphore *semaphore, int64_t permits,
                                                          int64_t ttl_ms, uint64_t tag);

/* Starts redlatch_semaphore_add_permits. Since 0.1. */
REDLATCH_API int redlatch_semaphore_start_add_permits(redlatch_semaphore *semaphore, int64_t permits, uint64_t tag);

/* Starts redlatch_semaphore_drain. The event's `number` is `drained_out`. Since 0.1. */
REDLATCH_API int redlatch_semaphore_start_drain(redlatch_semaphore *semaphore, uint64_t tag);

/* Starts redlatch_semaphore_available. The event's `number` is `available_out`. Since 0.1. */
REDLATCH_API int redlatch_semaphore_start_available(redlatch_semaphore *semaphore, uint64_t tag);

/* Starts redlatch_semaphore_delete. The event's `number` is `deleted_out`. Since 0.1. */
REDLATCH_API int redlatch_semaphore_start_delete(redlatch_semaphore *semaphore, uint64_t tag);

/* -------------------------------------------------------------------------------------------- permit semaphores -- */

/* A handle of a permit semaphore: a number of permits with an id and a lease each, Redisson's
 * RPermitExpirableSemaphore. Anybody who knows the id may release a permit, in any process. A permit that nobody
 * releases is available again when its lease ends. A permit with REDLATCH_RENEWED is renewed, with the client's
 * watchdog_lease_ms, until it is released or its process ends. Permits do not belong to threads. The loss of a permit
 * is a LOST event with its serial; the client knows it for five minutes unless it is released. Leases are measured by
 * the server's clock. Waiters are served as those of a semaphore. Opaque. */
typedef struct redlatch_permit_semaphore redlatch_permit_semaphore;

enum {
    REDLATCH_PERMIT_ID_SIZE = 33, /* bytes of a permit's id, 32 hexadecimal digits and a NUL */
    REDLATCH_PERMITS_AT_ONCE_MAX = 1000
};

/* Makes a handle of a permit semaphore. As redlatch_semaphore_new; redlatch_permit_semaphore_free frees it.
 * Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_new(redlatch_client *client, const char *name, size_t name_size,
                                               const redlatch_semaphore_options *options,
                                               redlatch_permit_semaphore **permit_semaphore_out);

/* Frees a handle. NULL is allowed. Acquired permits stay acquired and renewed. Since 0.1. */
REDLATCH_API void redlatch_permit_semaphore_free(redlatch_permit_semaphore *permit_semaphore);

/* Acquires permits, all at once.
 *
 * permits: 1 to REDLATCH_PERMITS_AT_ONCE_MAX.
 * lease_ms: the lease of each permit: 1 ms to 10 years, REDLATCH_RENEWED, or REDLATCH_LEASE_OF_LOCK for that of the
 * options.
 * serial_out: the serial of the first permit; those of the others are the next numbers.
 * wait_ms, cancel: as of redlatch_semaphore_acquire. Statuses as well, and LOST: the lease ended before
 * the reply came. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_acquire(redlatch_permit_semaphore *permit_semaphore, int64_t permits,
                                                   int64_t lease_ms, int64_t wait_ms, redlatch_cancel *cancel,
                                                   uint64_t *serial_out);

/* Makes a resumable wait for redlatch_permit_semaphore_acquire, as redlatch_lock_begin_acquire does;
 * redlatch_wait_continue returns the serial. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_begin_acquire(redlatch_permit_semaphore *permit_semaphore, int64_t permits,
                                                         int64_t lease_ms, int64_t wait_ms, redlatch_cancel *cancel,
                                                         redlatch_wait **wait_out);

/* The state of a permit, as this process knows it without asking the server. Since 0.1. */
typedef struct redlatch_permit {
    uint32_t struct_size;
    int32_t state;  /* enum redlatch_hold_state; NOT_HELD: this client did not acquire it, or it was released */
    int32_t reason; /* enum redlatch_reason, when GONE */
    uint32_t reserved;
    int64_t remaining_ms; /* safe time left, less a margin, rounded down; 0 unless HELD or SUSPECT */
    uint64_t serial;
    char id[33]; /* 32 hexadecimal digits */
} redlatch_permit;

/* Copies the state of a permit that this client acquired to `permit_out`, whose struct_size the caller sets. Sends
 * nothing. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_permit_status(redlatch_permit_semaphore *permit_semaphore, uint64_t serial,
                                                         redlatch_permit *permit_out);

/* Releases a permit, whoever acquired it. id: 32 hexadecimal digits and a NUL.
 *
 *   status              when                                                  what to do
 *   LOST                the permit's lease had ended                          -
 *   NOT_OWNED           there is no such permit, or others acquired it since  -
 *   NO_REPLY            no reply came; the release goes on in the background  do not release again
 *
 * Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_release(redlatch_permit_semaphore *permit_semaphore, const char *id);

/* Sets the lease of a permit to end lease_ms (1 ms to 10 years) from now, earlier or later than before. A renewed
 * permit continues to be renewed. NO_REPLY: the change may or may not have run. LOST, NOT_OWNED: as of
 * redlatch_permit_semaphore_release. Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_update_lease(redlatch_permit_semaphore *permit_semaphore, const char *id,
                                                        int64_t lease_ms);

/* Asks the server for the time left of a permit's lease in ms: 0 if the permit is not acquired, REDLATCH_FOREVER if it
 * has no lease, as some of Redisson's. Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_lease_of(redlatch_permit_semaphore *permit_semaphore, const char *id,
                                                    int64_t *lease_ms_out);

/* Makes the semaphore with `permits` (0 or more) unless it exists. set_out, which may be NULL: 1 if it was made, else
 * 0. NO_REPLY: the change may or may not have run. Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_try_set_permits(redlatch_permit_semaphore *permit_semaphore, int64_t permits,
                                                           int32_t *set_out);

/* Sets the number of all permits, acquired ones included; the semaphore is in debt if more are acquired. NO_REPLY: the
 * change may or may not have run. Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_set_permits(redlatch_permit_semaphore *permit_semaphore, int64_t permits);

/* Changes the number of permits by `permits`, as redlatch_semaphore_add_permits. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_add_permits(redlatch_permit_semaphore *permit_semaphore, int64_t permits);

/* Asks the server for the number of available permits, negative if the semaphore is in debt. Server statuses also.
 * Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_available(redlatch_permit_semaphore *permit_semaphore,
                                                     int64_t *available_out);

/* Asks the server for the number of acquired permits. Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_acquired(redlatch_permit_semaphore *permit_semaphore, int64_t *acquired_out);

/* Asks the server for the number of all permits. Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_permits(redlatch_permit_semaphore *permit_semaphore, int64_t *permits_out);

/* Deletes the semaphore with all its leases. deleted_out, which may be NULL: 1 if it existed, else 0. Waiters continue
 * to wait. NO_REPLY: the change may or may not have run. Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_delete(redlatch_permit_semaphore *permit_semaphore, int32_t *deleted_out);

/* Starts redlatch_permit_semaphore_acquire. It completes with an ACQUIRED event, whose serial is that of the first
 * permit; redlatch_client_cancel cancels it. If the event is not collected within claim_timeout_ms, the permits are
 * released, and its status is UNCLAIMED. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_acquire(redlatch_permit_semaphore *permit_semaphore, int64_t permits,
                                                         int64_t lease_ms, int64_t wait_ms, uint64_t tag);

/* Starts the release of a permit that this client acquired, by its serial. It completes with a RELEASED event.
 * Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_release(redlatch_permit_semaphore *permit_semaphore, uint64_t serial,
                                                         uint64_t tag);

/* Starts redlatch_permit_semaphore_release. It completes with a RELEASED event. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_release_by_id(redlatch_permit_semaphore *permit_semaphore,
                                                               const char *id, uint64_t tag);

/* Starts redlatch_permit_semaphore_update_lease. It completes with an EXTENDED event. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_update_lease(redlatch_permit_semaphore *permit_semaphore,
                                                              const char *id, int64_t lease_ms, uint64_t tag);

/* Starts redlatch_permit_semaphore_lease_of. The event's `number` is `lease_ms_out`. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_lease_of(redlatch_permit_semaphore *permit_semaphore, const char *id,
                                                          uint64_t tag);

/* Starts redlatch_permit_semaphore_try_set_permits. The event's `number` is `set_out`. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_try_set_permits(redlatch_permit_semaphore *permit_semaphore,
                                                                 int64_t permits, uint64_t tag);

/* Starts redlatch_permit_semaphore_set_permits. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_set_permits(redlatch_permit_semaphore *permit_semaphore,
                                                             int64_t permits, uint64_t tag);

/* Starts redlatch_permit_semaphore_add_permits. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_add_permits(redlatch_permit_semaphore *permit_semaphore,
                                                             int64_t permits, uint64_t tag);

/* Starts redlatch_permit_semaphore_available. The event's `number` is `available_out`. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_available(redlatch_permit_semaphore *permit_semaphore, uint64_t tag);

/* Starts redlatch_permit_semaphore_acquired. The event's `number` is `acquired_out`. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_acquired(redlatch_permit_semaphore *permit_semaphore, uint64_t tag);

/* Starts redlatch_permit_semaphore_permits. The event's `number` is `permits_out`. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_permits(redlatch_permit_semaphore *permit_semaphore, uint64_t tag);

/* Starts redlatch_permit_semaphore_delete. The event's `number` is `deleted_out`. Since 0.1. */
REDLATCH_API int redlatch_permit_semaphore_start_delete(redlatch_permit_semaphore *permit_semaphore, uint64_t tag);

/* bindings: end */

#ifdef __cplusplus
}
#endif

#endif /* REDLATCH_SEMAPHORES_H */
