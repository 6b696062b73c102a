/* redlatch: looking at locks, whoever wrote them.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of redlatch.h, whose conventions hold here. */
#ifndef REDLATCH_REPORTS_H
#define REDLATCH_REPORTS_H

#include "redlatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* bindings: begin */

/* -------------------------------------------------------------------------- looking at locks, whoever wrote them -- */

/* What a name is by the server's data, which do not tell every kind apart: a spin lock looks like a mutex, and a
 * semaphore like a latch, like any counter. The numbers are for ever. Since 0.1. */
enum redlatch_detected_kind {
    REDLATCH_DETECTED_NOTHING = 0, /* no such key */
    REDLATCH_DETECTED_MUTEX = 1,   /* a hash of one owner */
    REDLATCH_DETECTED_FENCED = 2,  /* the same, or free, with a counter of tokens beside it */
    REDLATCH_DETECTED_FAIR = 3,    /* the same, or free, with a queue of waiters beside it */
    REDLATCH_DETECTED_READ_WRITE = 4,
    REDLATCH_DETECTED_GROUP = 5, /* Redisson's FasterMultiLock: many values in one hash */
    REDLATCH_DETECTED_PLAIN = 6, /* a string with the owner's word as its value, and a lease; scans find redlatch's */
    REDLATCH_DETECTED_COUNT = 7, /* a number: what a semaphore or a latch has left, or any counter; scans pass it by */
    REDLATCH_DETECTED_PERMIT_SEMAPHORE = 8, /* a number, and leases of permits beside it; its holders have one */
    REDLATCH_DETECTED_UNKNOWN = 99          /* there is a key, and it is no lock of a kind we know */
};

/* "mutex", "read_write" and so on; "unknown" for any other number. Static memory. Any thread. Since 0.1. */
REDLATCH_API const char *redlatch_detected_kind_name(int detected_kind);

/* What was found out about one name. Plain data that no client is needed for any more. Opaque. */
typedef struct redlatch_report redlatch_report;

typedef struct redlatch_facts {
    uint32_t struct_size;
    int32_t detected_kind; /* enum redlatch_detected_kind */
    int64_t ttl_ms;        /* what is left of the lease, at most 10^12; -1: it has none; 0: there is nothing */
    uint64_t token;        /* of a fenced lock: the last one issued; else 0 */
    uint64_t holders;      /* how many hold it; 0: it is free, or nothing we know */
    uint64_t waiters;      /* how many queue on the server; 0 where the data do not show it */
    uint64_t parties;      /* how many of both the report tells of, holders first; of many only some */
    uint64_t name_size;
    char type[16]; /* the server's word for the type of the key: "hash", "string", "none" */
    int64_t count; /* COUNT: the number; PERMIT_SEMAPHORE: permits that may be taken; else 0 */
} redlatch_facts;

/* What part somebody has in a lock. Since 0.1. */
enum redlatch_role { REDLATCH_HOLDER = 1, REDLATCH_READER = 2, REDLATCH_WRITER = 3, REDLATCH_WAITER = 4 };

typedef struct redlatch_party {
    uint32_t struct_size;
    int32_t role;    /* enum redlatch_role */
    uint64_t count;  /* levels held; 0 for a waiter */
    char owner[128]; /* the owner id as it stands in Redis, cut if longer; of a permit its id in hex */
    char host[72];   /* of redlatch_inspect: the machine of an owner that is connected with redlatch */
    int64_t pid;     /* and its process there; empty and 0 where that is not known */
    char value[24];  /* of a group: the value that is held, as it stands in Redis, a digest; else empty */
    int64_t ttl_ms;  /* of a group's value and of a permit: what is left of its lease; -1: it has none of
                        its own */
} redlatch_party;

/* Finds out all there is to know of a name, a lock or not; writes nothing. The client's name prefix is put before it.
 * Owners of redlatch are looked up in the server's list of connections, where the server's access rules allow that.
 * The report is the caller's, to be freed by redlatch_report_free. Any thread.
 * INVALID, BAD_HANDLE, CLOSED, FORKED, NO_REPLY, UNREACHABLE, PROTOCOL, -4xx, NO_MEMORY. Since 0.1. */
REDLATCH_API int redlatch_inspect(redlatch_client *client, const char *name, size_t name_size,
                                  redlatch_report **report_out);

/* The same, and however many hold the name: `owner`, an id as of redlatch_party, is told of first if it is among them.
 * Of a group with very many values that takes the server its time. NULL: nobody in particular. Statuses as
 * redlatch_inspect. Since 0.1. */
REDLATCH_API int redlatch_inspect_owner(redlatch_client *client, const char *name, size_t name_size, const char *owner,
                                        redlatch_report **report_out);

/* Starts redlatch_inspect_owner, or redlatch_inspect with an `owner` of NULL: its ANSWERED event has the `report`. See
 * redlatch_events.h. Since 0.1. */
REDLATCH_API int redlatch_start_inspect(redlatch_client *client, const char *name, size_t name_size, const char *owner,
                                        uint64_t tag);

/* The name that was found, without the client's prefix; its size is in the facts, and a NUL follows it. Borrowed for
 * the life of the report; NULL for a bad handle. Since 0.1. */
REDLATCH_API const char *redlatch_report_name(const redlatch_report *report);

/* Fills `facts_out`; its struct_size must be set. INVALID, BAD_HANDLE. Since 0.1. */
REDLATCH_API int redlatch_report_facts(const redlatch_report *report, redlatch_facts *facts_out);

/* Fills `party_out` (its struct_size must be set) for an index below the facts' `parties`. INVALID, BAD_HANDLE.
 * Since 0.1. */
REDLATCH_API int redlatch_report_party(const redlatch_report *report, uint64_t index, redlatch_party *party_out);

/* Gives the report back; NULL is allowed. Since 0.1. */
REDLATCH_API void redlatch_report_free(redlatch_report *report);

/* A walk over the locks of a server. Opaque. */
typedef struct redlatch_scan redlatch_scan;

/* Begins a walk; nothing is sent. Names match `pattern`, a glob of Redis (* ? [a-z] \x), below the client's name
 * prefix; a size of 0 matches all. The walk is the caller's, to be freed by redlatch_scan_free.
 * INVALID, BAD_HANDLE, CLOSED, FORKED, NO_MEMORY. Since 0.1. */
REDLATCH_API int redlatch_scan_new(redlatch_client *client, const char *pattern, size_t pattern_size,
                                   redlatch_scan **scan_out);

/* The next lock, or NULL in `report_out` when there are no more. Asks the server for about a hundred keys at a time,
 * and for large locks one by one, so that it never blocks others for long. As Redis's SCAN: what is there all the time
 * is found, perhaps more than once. One thread at a time. The report is the caller's. Statuses as redlatch_inspect, and
 * IN_USE; the walk may go on after a failure. Since 0.1. */
REDLATCH_API int redlatch_scan_next(redlatch_scan *scan, redlatch_report **report_out);

/* Starts a step of the walk, of one question to the server at most. Its ANSWERED event has the `report` of the next
 * lock; without one OK means that there are no more, and AGAIN that this step came upon none: start the next. One that
 * the last answer told of already needs no question; its event comes at once. Until the event was handed out IN_USE is
 * what this and redlatch_scan_next return. The walk may be freed before. See redlatch_events.h. Since 0.1. */
REDLATCH_API int redlatch_scan_start_next(redlatch_scan *scan, uint64_t tag);

/* Gives the walk back; NULL is allowed. Since 0.1. */
REDLATCH_API void redlatch_scan_free(redlatch_scan *scan);

/* Waits until a name is free, without taking it: when this returns somebody else may hold it already. A lock is free
 * that nobody holds, a semaphore that has a permit, a latch that is open. Of a number without leases the data do not
 * say which it is: one above zero is waited for as a latch, until it is down to zero, any other as a semaphore. Listens
 * where its kind is told of, and asks again when the lease ends and every 5 s, of a plain lock every 0.25 s, since
 * others do not tell. wait_ms: 0 checks once, REDLATCH_FOREVER waits without end. `cancel`, which may be NULL, and
 * max_block_ms: as redlatch_lock_acquire_as. OK: it was free. TIMEOUT: it was held all the time. WRONG_TYPE: not a
 * lock. Also INVALID, BAD_HANDLE, CLOSED, FORKED, CANCELLED, AGAIN, IN_USE, NO_REPLY, UNREACHABLE, PROTOCOL, -4xx,
 * NO_MEMORY, SYSTEM. Since 0.1. */
REDLATCH_API int redlatch_wait_free(redlatch_client *client, const char *name, size_t name_size, int64_t wait_ms,
                                    redlatch_cancel *cancel, int64_t max_block_ms);

/* Starts such a wait: its completion is a FREE event with `tag`. Never blocks; redlatch_client_cancel ends it.
 * INVALID, BAD_HANDLE, CLOSED, FORKED, NO_MEMORY, SYSTEM. Since 0.1. */
REDLATCH_API int redlatch_start_wait_free(redlatch_client *client, const char *name, size_t name_size, int64_t wait_ms,
                                          uint64_t tag);

/* bindings: end */

#ifdef __cplusplus
}
#endif

#endif /* REDLATCH_REPORTS_H */
