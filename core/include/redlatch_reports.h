/* redlatch: inspecting locks of any library.
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

/* ------------------------------------------------------------------------------- inspecting locks of any library -- */

/* What the data of a key show. They do not tell all kinds apart: a spin lock looks like a mutex, and a semaphore like a
 * latch or any counter. Numbers never change. Since 0.1. */
enum redlatch_detected_kind {
    REDLATCH_DETECTED_NOTHING = 0, /* there is no such key */
    REDLATCH_DETECTED_MUTEX = 1,   /* a hash of one owner */
    REDLATCH_DETECTED_FENCED = 2,  /* a mutex, or a free one, with a token counter */
    REDLATCH_DETECTED_FAIR = 3,    /* a mutex, or a free one, with a server queue */
    REDLATCH_DETECTED_READ_WRITE = 4,
    REDLATCH_DETECTED_GROUP = 5,            /* Redisson's FasterMultiLock: many values in one hash */
    REDLATCH_DETECTED_PLAIN = 6,            /* a string with an owner and a lease; scans find those of redlatch only */
    REDLATCH_DETECTED_COUNT = 7,            /* a number: a semaphore, a latch or any counter; scans skip it */
    REDLATCH_DETECTED_PERMIT_SEMAPHORE = 8, /* a number and the leases of permits; each of its holders has a permit */
    REDLATCH_DETECTED_UNKNOWN = 99          /* a key that is no lock of a known kind */
};

/* Returns the name of a detected kind, such as "mutex" or "read_write"; "unknown" for any other number. Static memory.
 * Since 0.1. */
REDLATCH_API const char *redlatch_detected_kind_name(int detected_kind);

/* The result of an inspection of one name: facts and parties. It needs no client. Opaque. */
typedef struct redlatch_report redlatch_report;

/* The facts of a report. Since 0.1. */
typedef struct redlatch_facts {
    uint32_t struct_size;
    int32_t detected_kind; /* enum redlatch_detected_kind */
    int64_t ttl_ms;        /* time left of the lease, at most 10^12; -1: no lease; 0: there is no key */
    uint64_t token;        /* fenced: the last token that was issued; else 0 */
    uint64_t holders;      /* number of holders; 0: free, or not a known kind */
    uint64_t waiters;      /* number of waiters in the server queue; 0 if the data do not show it */
    uint64_t parties;      /* number of parties in the report, holders first; of many only some */
    uint64_t name_size;
    char type[16];  /* the server's type of the key: "hash", "string", "none" */
    int64_t count;  /* COUNT: the number; PERMIT_SEMAPHORE: the available permits; else 0 */
    char node[272]; /* the node that the name is on, as redlatch_client_nodes writes it */
} redlatch_facts;

/* The role of a party. Since 0.1. */
enum redlatch_role { REDLATCH_HOLDER = 1, REDLATCH_READER = 2, REDLATCH_WRITER = 3, REDLATCH_WAITER = 4 };

/* A party of a report: one holder or waiter. Since 0.1. */
typedef struct redlatch_party {
    uint32_t struct_size;
    int32_t role;    /* enum redlatch_role */
    uint64_t count;  /* hold count; 0 for a waiter */
    char owner[128]; /* the owner id in Redis, cut if longer; of a permit its id in hexadecimal digits */
    char host[72];   /* inspection of one name: the machine of an owner that is connected with redlatch; else empty */
    int64_t pid;     /* the owner's process on that machine; else 0 */
    char value[24];  /* group: the digest of the value that is held; else empty */
    int64_t ttl_ms;  /* group, permit: time left of the lease of this value or permit; -1: it has none of its own */
    char label[72];  /* beside `host`: the label that the owner's client was given; else empty */
} redlatch_party;

/* Asks the server what a name is: a lock of any library, or something else. Changes nothing.
 *
 * name: 1 to REDLATCH_NAME_SIZE_MAX bytes, the client's prefix included, which is put before it.
 * owner: an owner id as in redlatch_party, which is reported first if it holds the name, however many holders there
 * are; NULL: no owner in particular.
 * report_out: the report. The caller owns it and frees it with redlatch_report_free.
 *
 * Hosts, processes and labels of redlatch's owners are found in the server's list of connections, if its access rules
 * allow that. A group with very many values takes the server longer if `owner` is given. Server statuses also.
 * Since 0.1. */
REDLATCH_API int redlatch_client_inspect(redlatch_client *client, const char *name, size_t name_size, const char *owner,
                                         redlatch_report **report_out);

/* Starts redlatch_client_inspect. Its event has the `report`. Since 0.1. */
REDLATCH_API int redlatch_client_start_inspect(redlatch_client *client, const char *name, size_t name_size,
                                               const char *owner, uint64_t tag);

/* Returns the name of a report, without the client's prefix. Its size is in the facts; a NUL follows it. Valid until
 * the report is freed. NULL for a bad handle. Since 0.1. */
REDLATCH_API const char *redlatch_report_name(const redlatch_report *report);

/* Copies the facts of a report to `facts_out`, whose struct_size the caller sets. INVALID, BAD_HANDLE. Since 0.1. */
REDLATCH_API int redlatch_report_facts(const redlatch_report *report, redlatch_facts *facts_out);

/* Copies a party of a report to `party_out`, whose struct_size the caller sets. index: 0 to facts.parties - 1.
 * INVALID, BAD_HANDLE. Since 0.1. */
REDLATCH_API int redlatch_report_party(const redlatch_report *report, uint64_t index, redlatch_party *party_out);

/* Frees a report. NULL is allowed. Since 0.1. */
REDLATCH_API void redlatch_report_free(redlatch_report *report);

/* A scan: it inspects the locks of a server page by page. Opaque. */
typedef struct redlatch_scan redlatch_scan;

/* Makes a scan. Sends nothing.
 *
 * pattern: a glob of Redis (* ? [a-z] \x) that the names match, after the client's prefix; a size of 0 matches all.
 * scan_out: the scan. The caller owns it and frees it with redlatch_scan_free. Since 0.1. */
REDLATCH_API int redlatch_scan_new(redlatch_client *client, const char *pattern, size_t pattern_size,
                                   redlatch_scan **scan_out);

/* Finds the next lock. One thread at a time.
 *
 * report_out: its report, which the caller owns and frees with redlatch_report_free; NULL: there are no more locks.
 *
 * Each command asks for about a hundred keys, or for one large lock, so that it does not block the server for long. As
 * with Redis's SCAN, a lock that exists during the whole scan is found, perhaps more than once. After a failure the
 * scan may be continued. IN_USE: another step is in progress, or the event of a started step was not handed
 * out yet. Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_scan_next(redlatch_scan *scan, redlatch_report **report_out);

/* Returns 1 if redlatch_scan_next would return a report without a command, as the last page of keys has more locks;
 * else 0, also of a bad handle. Since 0.1. */
REDLATCH_API int redlatch_scan_is_ready(const redlatch_scan *scan);

/* Starts one step of the scan, of one command at most. It completes with an ANSWERED event.
 *
 *   status of the event  when                                                 what to do
 *   OK, with `report`    a lock was found                                     start the next step
 *   OK, no `report`      there are no more locks                              free the scan
 *   AGAIN                this step found no lock                              start the next step
 *
 * IN_USE: another step is in progress, or the event of a started step was not handed out yet. The scan may be freed
 * before the event. Since 0.1. */
REDLATCH_API int redlatch_scan_start_next(redlatch_scan *scan, uint64_t tag);

/* Frees a scan. NULL is allowed. Since 0.1. */
REDLATCH_API void redlatch_scan_free(redlatch_scan *scan);

/* Waits until a name is free, without acquiring it. When the call returns, somebody else may hold it already.
 *
 * name: as of redlatch_client_inspect.
 * wait_ms: how long to wait. 0 checks once, REDLATCH_FOREVER waits without a deadline.
 * cancel: as of redlatch_lock_acquire_as, with its statuses CANCELLED and IN_USE.
 *
 *   status              when                                                  what to do
 *   OK                  the name was free: a lock without a holder, a         -
 *                       semaphore with a permit, an open latch
 *   TIMEOUT             it was not free until the deadline                    try again later
 *   WRONG_TYPE          the key is no lock of a known kind                    -
 *
 * The data of a count do not show whether it is a semaphore or a latch: one above zero is waited for as a latch, until
 * it is zero; any other as a semaphore. Besides notifications, the wait rechecks when the lease ends and every 5 s; of
 * a plain lock every 0.25 s, as other libraries do not notify. Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_client_wait_free(redlatch_client *client, const char *name, size_t name_size, int64_t wait_ms,
                                           redlatch_cancel *cancel);

/* Makes a resumable wait for redlatch_client_wait_free, as redlatch_lock_begin_acquire does. Since 0.1. */
REDLATCH_API int redlatch_client_begin_wait_free(redlatch_client *client, const char *name, size_t name_size,
                                                 int64_t wait_ms, redlatch_cancel *cancel, redlatch_wait **wait_out);

/* Starts redlatch_client_wait_free. It completes with a FREE event; redlatch_client_cancel cancels it. Since 0.1. */
REDLATCH_API int redlatch_client_start_wait_free(redlatch_client *client, const char *name, size_t name_size,
                                                 int64_t wait_ms, uint64_t tag);

/* bindings: end */

#ifdef __cplusplus
}
#endif

#endif /* REDLATCH_REPORTS_H */
