/* redlatch: events and asynchronous use.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of redlatch.h, whose conventions hold here. */
#ifndef REDLATCH_EVENTS_H
#define REDLATCH_EVENTS_H

#include "redlatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* bindings: begin */

/* --------------------------------------------------------------------------------- events and asynchronous use -- */

/* Every call that asks or changes something on the server has a counterpart that starts it: redlatch_semaphore_drain
 * and redlatch_semaphore_start_drain. A start call takes a tag instead of the `_out` parameters, never blocks, and
 * completes with one event. The event is an ANSWERED event unless the comment names another kind. Its `status` is that
 * of the blocking call; its `number`, `report` or `state` is what the blocking call hands out. The handle may be freed
 * before the event comes, unless the comment says otherwise. Of two started calls on one name either may run first.
 *
 * A start call that fails returns INVALID, BAD_HANDLE, CLOSED, FORKED, NO_MEMORY or SYSTEM, and no event comes.
 *
 * These have no counterpart: redlatch_client_open, which does not wait for the server if options->lazy is 1;
 * redlatch_client_close, which has a timeout of its own; redlatch_client_nodes, redlatch_client_command,
 * redlatch_lock_release_owner and redlatch_lock_extend_owner. */

/* The kind of an event. Since 0.1. */
enum redlatch_event_kind {
    REDLATCH_EVENT_ACQUIRED = 1,  /* a started acquire is done; see status */
    REDLATCH_EVENT_RELEASED = 2,  /* a started release is done; see status */
    REDLATCH_EVENT_EXTENDED = 3,  /* a started extension is done; see status */
    REDLATCH_EVENT_LOST = 4,      /* a hold was lost; see reason. A forced release is noticed at the next renewal */
    REDLATCH_EVENT_ABANDONED = 5, /* an owner ended before it released its hold; the lease runs out */
    REDLATCH_EVENT_OPENED = 6,    /* a started wait for a latch is done; see status */
    REDLATCH_EVENT_COUNTED = 7,   /* a started count-down is done; see status */
    REDLATCH_EVENT_FREE = 8,      /* a started wait until a name is free is done; see status */
    REDLATCH_EVENT_ANSWERED = 9,  /* any other started call is done; see status */
    REDLATCH_EVENT_MOVED = 10,    /* redis+sentinel, redis+replicas: the client is on another master; see old_address */
    REDLATCH_EVENT_CREDENTIALS_REFUSED = 11, /* the server refused the user or the password; see message and
                                                redlatch_client_set_credentials */
    REDLATCH_EVENT_RENEWED_LATE = 12,        /* a lease was renewed after more than half of it; see number */
    REDLATCH_EVENT_RELEASE_FAILED = 13       /* an unconfirmed release failed; see status, and reason if it is LOST */
};

/* An event: the completion of a started call, a loss, or what became of the client. Since 0.1. */
typedef struct redlatch_event {
    uint32_t struct_size;
    int32_t kind;   /* enum redlatch_event_kind */
    int32_t status; /* completion, RELEASE_FAILED: the status of the blocking call */
    int32_t reason; /* enum redlatch_reason; of LOST, ABANDONED, and a completion or RELEASE_FAILED whose status is
                       LOST */
    uint64_t tag;   /* completion: the number passed to the start call */
    uint64_t owner;
    uint64_t serial;                /* the serial of the hold or permit; 0 if none */
    uint64_t name_size;             /* bytes in the name, prefix included; more than 255 if `name` is cut */
    char name[256];                 /* NUL-terminated; of a scan its pattern */
    int64_t number;                 /* completion with OK: the number that the blocking call hands out, 1 for yes and 0
                                       for no; 0 if it hands out none. LOST: for how many ms the lease was over when
                                       that was found out. RENEWED_LATE: ms since the confirmation before was
                                       requested */
    struct redlatch_report *report; /* inspection, scan: the report, or NULL. The caller owns it and frees it with
                                     redlatch_report_free. A caller whose struct ends before this field gets none */
    const redlatch_lock_state *state; /* query: the state, or NULL. Valid until the next redlatch_client_next_event of
                                     this client, in any thread */
    const char *message;              /* the message of a failure, as of redlatch_last_error; empty without one, never
                                         NULL. Valid until the next call of the function that returned the event, in any
                                         thread */
    const char *old_address;          /* MOVED: host:port of the master before. Else NULL. Valid as long as `message` */
    const char *new_address; /* MOVED: host:port of the master now. Holds are being verified there; those that it does
                                not have follow as LOST. Moves that were not collected in time become one event */
} redlatch_event;

/* Returns a descriptor that is readable while redlatch_client_next_event has work: completions of this client's started
 * calls, losses and late renewals. Poll it level-triggered, never read it. Valid until the client is closed. From this
 * call on losses and late renewals are kept as events. A late renewal that was not collected before the next one of its
 * hold is one event with it. SYSTEM: no descriptor is left. Since 0.1. */
REDLATCH_API int redlatch_client_event_fd(redlatch_client *client, int *fd_out);

/* Does the pending work of the event descriptor without blocking, and hands out one event. Call it whenever the
 * descriptor is readable, until it does not return OK. The caller sets event_out->struct_size.
 *
 *   status              when                                                  what to do
 *   OK                  `event_out` has an event                              handle it and call again
 *   AGAIN               there is no event now                                 poll the descriptor
 *   INTERNAL            redlatch found a bug in itself, and all completions   close the client; report the bug
 *                       were handed out; the holds' leases run out
 *   CLOSED              the client is closed, and all losses and failed       -
 *                       releases were handed out
 *
 * Since 0.1. */
REDLATCH_API int redlatch_client_next_event(redlatch_client *client, redlatch_event *event_out);

/* Waits until a hold of this client is lost, abandoned or renewed late, an unconfirmed release fails, the client moves
 * to another master, or the server refuses its user or password, and hands out that event. One thread at a time may
 * call it.
 *
 * wait_ms: how long to wait; REDLATCH_FOREVER: without a deadline.
 *
 * AGAIN: nothing was lost until the deadline. CLOSED: as of redlatch_client_next_event. Losses are kept for this call
 * from its first use on. It and redlatch_client_next_event both report every loss, late renewal, failed release, move
 * and refusal. Since 0.1. */
REDLATCH_API int redlatch_client_wait_lost(redlatch_client *client, int64_t wait_ms, redlatch_event *event_out);

/* Starts redlatch_lock_acquire_as. It completes with an ACQUIRED event.
 *
 * owner: a number of redlatch_owner_new; 0 only for a lock with OWNER_HANDLE, whose handle must then stay until the
 * event is handed out.
 *
 * A grant is renewed at once. If its event is not collected within claim_timeout_ms, the grant is released and the
 * event's status is UNCLAIMED. Since 0.1. */
REDLATCH_API int redlatch_lock_start_acquire(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                                             uint64_t tag);

/* Starts redlatch_lock_release_as. It completes with a RELEASED event. owner: as of redlatch_lock_start_acquire.
 * Since 0.1. */
REDLATCH_API int redlatch_lock_start_release(redlatch_lock *lock, uint64_t owner, uint64_t tag);

/* Starts redlatch_lock_release_with. It completes with a RELEASED event; of an unconfirmed release that event is there
 * as soon as the command was handed to the socket. owner: as of redlatch_lock_start_acquire. UNSUPPORTED also.
 * Since 0.1. */
REDLATCH_API int redlatch_lock_start_release_with(redlatch_lock *lock, uint64_t owner, int32_t confirm, uint64_t tag);

/* Starts redlatch_lock_extend. It completes with an EXTENDED event. owner: as of redlatch_lock_start_acquire.
 * Since 0.1. */
REDLATCH_API int redlatch_lock_start_extend(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, uint64_t tag);

/* Cancels all started acquires and waits with this tag. Their events follow, with CANCELLED, or with OK if the grant
 * came first. Other started calls are not cancelled; they end within the command timeout. Since 0.1. */
REDLATCH_API int redlatch_client_cancel(redlatch_client *client, uint64_t tag);

/* Starts redlatch_lock_query. Its event has the `state`. Since 0.1. */
REDLATCH_API int redlatch_lock_start_query(redlatch_lock *lock, uint64_t tag);

/* Starts redlatch_lock_force_release. The event's `number` is 1 if there was a lock, else 0. Since 0.1. */
REDLATCH_API int redlatch_lock_start_force_release(redlatch_lock *lock, uint64_t tag);

/* bindings: end */

#ifdef __cplusplus
}
#endif

#endif /* REDLATCH_EVENTS_H */
