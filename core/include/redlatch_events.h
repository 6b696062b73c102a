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

enum redlatch_event_kind {
    REDLATCH_EVENT_ACQUIRED = 1,  /* a started acquire is done; see status */
    REDLATCH_EVENT_RELEASED = 2,  /* a started release is done; see status */
    REDLATCH_EVENT_EXTENDED = 3,  /* a started extend is done; see status */
    REDLATCH_EVENT_LOST = 4,      /* a hold was lost; see reason. A release by force is noticed when the hold is to be
                                     renewed next */
    REDLATCH_EVENT_ABANDONED = 5, /* an owner ended while it held; the lease runs out */
    REDLATCH_EVENT_OPENED = 6,    /* a started wait for a latch is done; see status */
    REDLATCH_EVENT_COUNTED = 7,   /* a started count-down is done; see status */
    REDLATCH_EVENT_FREE = 8,      /* a started wait until a name is free is done; see status */
    REDLATCH_EVENT_ANSWERED = 9   /* any other started call is done; see status and what it found */
};

typedef struct redlatch_event {
    uint32_t struct_size;
    int32_t kind;   /* enum redlatch_event_kind */
    int32_t status; /* of a completion: what the blocking call would have returned */
    int32_t reason; /* enum redlatch_reason, of LOST and ABANDONED, and of a completion whose status is
                       LOST */
    uint64_t tag;   /* of a completion: the number passed to the start call */
    uint64_t owner;
    uint64_t serial;                /* which hold; 0 if none */
    uint64_t name_size;             /* of the lock's name, prefix included; more than 255 if `name` was cut */
    char name[256];                 /* NUL-terminated; of a step of a walk the walk's pattern */
    int64_t number;                 /* of a completion that is OK: the number that the blocking call would have handed
                                       out, or 1 for yes and 0 for no; 0 where it hands out none */
    struct redlatch_report *report; /* of a started inspection or step of a walk, or NULL: the caller's, to be freed by
                                     redlatch_report_free. A caller whose struct ends before it gets none */
    const redlatch_lock_state *state; /* of a started query, or NULL: borrowed until the next
                                     redlatch_client_next_event of this client, in whatever thread */
    const char *message;              /* what went wrong, as redlatch_last_error would say it: which name, which server,
                                         what it answered; empty where nothing did. Never NULL; the client's, until the
                                         next call of the function that handed out the event, in whatever thread */
} redlatch_event;

/* A descriptor that is readable when redlatch_client_next_event has something to do: completions of this client's
 * asynchronous calls and lost holds. Borrowed for the life of the client; never read it, poll it (level-triggered).
 * From this call on lost holds are kept as events for redlatch_client_next_event.
 * INVALID, BAD_HANDLE, CLOSED, FORKED, SYSTEM. Since 0.1. */
REDLATCH_API int redlatch_client_event_fd(redlatch_client *client, int *fd_out);

/* Does what work there is without blocking and hands out one event; AGAIN when there is none. The call to make, in a
 * loop until it is not OK, whenever the descriptor is readable. INTERNAL comes after the completions: the calls under
 * way ended with it, the client is of no use any more, and its holds run out. INVALID, AGAIN, BAD_HANDLE, CLOSED,
 * FORKED, INTERNAL. Since 0.1. */
REDLATCH_API int redlatch_client_next_event(redlatch_client *client, redlatch_event *event_out);

/* Blocks until a hold of this client is lost or abandoned, at most wait_ms, and hands out that event; AGAIN when
 * there was none. Independent of redlatch_client_next_event: both see every loss. From the first call on losses are
 * kept for it. One thread at a time. INVALID, AGAIN, BAD_HANDLE, CLOSED, FORKED. Since 0.1. */
REDLATCH_API int redlatch_client_wait_lost(redlatch_client *client, int64_t wait_ms, redlatch_event *event_out);

/* Starts an acquire; its completion comes as an event with `tag`. owner: 0 only for a lock that is itself the owner,
 * whose handle must then live until its event was handed out. Never blocks. A grant is renewed from the start; if its
 * event is not collected within the claim time-out it is given back and the event says UNCLAIMED.
 * INVALID, BAD_HANDLE, CLOSED, FORKED, NO_MEMORY, SYSTEM. Since 0.1. */
REDLATCH_API int redlatch_lock_start_acquire(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                                             uint64_t tag);

/* Starts a release. As redlatch_lock_start_acquire. Since 0.1. */
REDLATCH_API int redlatch_lock_start_release(redlatch_lock *lock, uint64_t owner, uint64_t tag);

/* Starts an extend. As redlatch_lock_start_acquire. Since 0.1. */
REDLATCH_API int redlatch_lock_start_extend(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, uint64_t tag);

/* Cancels every started acquire or wait with this tag that is not done: its event will say CANCELLED, or OK if it was
 * granted before. Calls that do not wait for others are not cancelled: they are over within the command time-out.
 * BAD_HANDLE, CLOSED, FORKED. Since 0.1. */
REDLATCH_API int redlatch_client_cancel(redlatch_client *client, uint64_t tag);

/* Whatever else asks or changes something on the server can be started as well, by a function that is named after the
 * blocking one: redlatch_semaphore_drain and redlatch_semaphore_start_drain. It takes what that one takes, but instead
 * of places for what is handed out a tag, and never blocks. Its completion is an ANSWERED event, unless its comment
 * names another kind, with what the blocking call would have returned as `status` and what it would have handed out as
 * `number`, `report` or `state`. The handle may be freed before. Of two such calls on one name that are under way at
 * once either may be carried out first.
 * All of them return INVALID, BAD_HANDLE, CLOSED, FORKED, NO_MEMORY or SYSTEM if they were not started; no event comes
 * then.
 *
 * Not to be started: redlatch_client_open, which does not wait for the server if the options say lazy, and
 * redlatch_client_close, which has its own time-out. */

/* Starts redlatch_lock_query: its ANSWERED event has the `state`. Since 0.1. */
REDLATCH_API int redlatch_lock_start_query(redlatch_lock *lock, uint64_t tag);

/* Starts redlatch_lock_force_release: the `number` of its ANSWERED event says whether there was a lock. Since 0.1. */
REDLATCH_API int redlatch_lock_start_force_release(redlatch_lock *lock, uint64_t tag);

/* bindings: end */

#ifdef __cplusplus
}
#endif

#endif /* REDLATCH_EVENTS_H */
