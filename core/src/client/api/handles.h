/* Memory of the handles that users hold. A freed handle stays readable and marked as freed, so that using it again is
 * an error and not a crash. Its memory is reused only after many other handles were freed.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HANDLES_H
#define HANDLES_H

#include "client.h"

enum handle_magic {
    MAGIC_FREED = 0x64616564,
    MAGIC_CLIENT = 0x746e6c63,
    MAGIC_LOCK = 0x6b636f6c,
    MAGIC_CANCEL = 0x6c636e63,
    MAGIC_REPORT = 0x74706572,
    MAGIC_SCAN = 0x6e616373,
    MAGIC_SEMAPHORE = 0x6f6d6573,
    MAGIC_LATCH = 0x6374616c,
    MAGIC_PERMITS = 0x6d726570,
    MAGIC_WAIT = 0x74696177
};

struct redlatch_client {
    _Atomic uint32_t magic;
    struct client *client;
    struct redlatch_client *next_free;
};

/* The client and the name that a call is about. For a composite lock they are those of its first member. */
struct target {
    struct client *client;
    struct resource *resource;
    struct composite *composite; /* NULL for a single name */
};

struct redlatch_lock {
    _Atomic uint32_t magic;
    int32_t owner_mode;
    const struct lock_operations *operations;
    struct client *client;
    struct resource *resource;
    uint64_t owner; /* the handle's own with REDLATCH_OWNER_HANDLE, else 0 */
    int64_t lease_ms;
    int64_t max_hold_ms;
    uint8_t kind; /* enum redlatch_kind */
    bool reentrant;
    bool token_from_time;
    bool confirm_release;
    struct back_off back_off;
    struct composite *composite; /* of a multi lock or a RedLock: its members; client, resource and kind are those
                                    of the first. Else NULL */
    struct name_set *set;        /* all its names, if one operation acquires them; else NULL */
    struct redlatch_lock *next_free;
};

enum { CANCEL_WOKEN = 1, CANCEL_FIRED = 2 };

struct redlatch_cancel {
    _Atomic uint32_t magic;
    _Atomic uint32_t futex; /* CANCEL_WOKEN, CANCEL_FIRED */
    _Atomic uint32_t in_use;
    uint32_t fork_generation;
    struct system_signal signal; /* readable once fired, for a caller that polls a socket; own_cancel has none */
    struct redlatch_cancel *next_free;
};

struct redlatch_wait {
    _Atomic uint32_t magic;
    _Atomic uint32_t in_use;
    uint32_t fork_generation;
    int status;   /* AGAIN until it is over */
    bool started; /* by the first call of redlatch_wait_continue */
    bool named_owner;
    struct target target;      /* with references: the lock handle may be freed before the wait is over */
    struct redlatch_lock lock; /* a copy of the handle; unused if the wait is not for a lock */
    uint64_t owner;
    int64_t lease_ms;
    int64_t wait_ms;
    int (*start)(struct redlatch_wait *wait); /* holds the mutex on OK; NULL for an acquire over several clients */
    int (*advance)(struct redlatch_wait *wait, int64_t until); /* returns AGAIN, or the result */
    void (*give_back)(struct redlatch_wait *wait);             /* gives the grant back; NULL if there is none */
    struct composite_op *op;                                   /* an acquire over several clients; else NULL */
    struct request request;
    struct redlatch_cancel *cancel; /* the caller's, or own_cancel */
    struct redlatch_cancel own_cancel;
    struct redlatch_wait *next_free;
};

struct redlatch_report {
    _Atomic uint32_t magic;
    redlatch_facts facts;
    char *name;         /* NUL-terminated */
    char *record;       /* as the server sent it */
    uint32_t *party_at; /* the offset of each party in it */
    size_t record_size;
    struct process_location *locations; /* of each party; NULL if CLIENT LIST was not read */
    struct redlatch_report *next_free;
};

struct redlatch_scan {
    _Atomic uint32_t magic;
    uint32_t fork_generation;
    struct client *client;
    struct walk *walk; /* holds a reference */
    struct redlatch_scan *next_free;
};

struct redlatch_semaphore {
    _Atomic uint32_t magic;
    bool must_exist;
    struct client *client;
    struct resource *resource;
    int64_t limit;
    struct redlatch_semaphore *next_free;
};

struct redlatch_permit_semaphore {
    _Atomic uint32_t magic;
    bool must_exist;
    struct client *client;
    struct resource *resource;
    int64_t limit;
    int64_t lease_ms;
    struct redlatch_permit_semaphore *next_free;
};

struct redlatch_latch {
    _Atomic uint32_t magic;
    struct client *client;
    struct resource *resource;
    struct redlatch_latch *next_free;
};

struct redlatch_client *handle_new_client(void);
struct redlatch_lock *handle_new_lock(void);
struct redlatch_cancel *handle_new_cancel(void);
struct redlatch_wait *handle_new_wait(void);
struct redlatch_report *handle_new_report(void);
struct redlatch_scan *handle_new_scan(void);
struct redlatch_semaphore *handle_new_semaphore(void);
struct redlatch_latch *handle_new_latch(void);
struct redlatch_permit_semaphore *handle_new_permits(void);
void handle_free_client(struct redlatch_client *handle);
void handle_free_lock(struct redlatch_lock *handle);
void handle_free_cancel(struct redlatch_cancel *handle);
void handle_free_wait(struct redlatch_wait *handle);
void handle_free_report(struct redlatch_report *handle);
void handle_free_scan(struct redlatch_scan *handle);
void handle_free_semaphore(struct redlatch_semaphore *handle);
void handle_free_latch(struct redlatch_latch *handle);
void handle_free_permits(struct redlatch_permit_semaphore *handle);

/* Lock the pools before a fork, so that the child inherits them whole, and unlock them after it in parent and child. */
void handles_before_fork(void);
void handles_after_fork(void);

/* Returns OK, or BAD_HANDLE with the last error set. Closing and freeing check nothing else. */
int guard_client_handle(const struct redlatch_client *handle);

#endif
