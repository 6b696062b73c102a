/* redlatch: distributed locks on Redis, wire-compatible with Redisson.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Limits of a lock on Redis
 *
 * - A hold is a lease. It ends when it is released or when its time is over, whichever is first. A paused process
 *   (stopped, swapped out, suspended) may go on for a moment after its lease ended and another owner acquired the lock.
 *   redlatch reports the loss when the process wakes: by redlatch_lock_hold_status, by events, and by the status of
 *   release. Only a fencing token that the guarded resource checks can stop a write that was already sent.
 * - Redis replicates asynchronously. A failover may lose a lock that was granted a moment before.
 * - Redis measures leases by its wall clock. A step of that clock shortens or lengthens every lease.
 * - A command may run although its reply was lost. redlatch resolves this: every script states the intended result, so
 *   that it can be sent twice, and what is not resolved before the deadline is undone in the background.
 *
 * Conventions
 *
 * - Functions return REDLATCH_OK (0) or a negative enum redlatch_status. A parameter whose name ends with `_out` is
 *   set on OK and unchanged on any other status.
 * - Durations are milliseconds in int64_t; their names end with `_ms`. Waits use a clock that includes the time for
 *   which the machine is suspended. Steps of the wall clock do not change them.
 * - Names and strings are byte strings with a size, in any encoding. The library copies them.
 * - Structs that cross the interface begin with `struct_size`, but for redlatch_value, which never changes. The caller
 *   sets it to sizeof the struct; the _init functions do so, too. New fields are added at the end only.
 * - Threads: any number of threads may use a client or a handle at once, unless a function's comment says otherwise.
 *   Freeing an object must be its last use. Handles may be freed in any order; a lock keeps its client's memory.
 * - Fork: a child process holds nothing of its parent. Inherited clients and handles get connections, a uuid and a
 *   thread of the child's own at their first use; see after_fork of redlatch_client_options. Calls about a hold of the
 *   parent, and on its waits, scans and cancel objects, return REDLATCH_FORKED and send nothing. Closing and freeing
 *   are allowed and change only the child's copies.
 * - No function prints, aborts, installs a signal handler or calls back into the host.
 *
 * Statuses
 *
 * The comment of a function lists the outcomes of that function. Two groups of outcomes are not repeated there. Every
 * function that takes a handle may return these:
 *
 *   status              when                                                  what to do
 *   INVALID             an argument is out of range                           read redlatch_last_error
 *   BAD_HANDLE          the handle is NULL, freed or of another type          -
 *   CLOSED              the client is closed                                  -
 *   FORKED              the hold, or the handle, belongs to the parent        leave it to the parent
 *                       process
 *   NO_MEMORY, SYSTEM   memory, threads or descriptors are used up            free some and call again
 *   INTERNAL            redlatch found a bug in itself                        close the client; report the bug
 *
 * Every function that sends a command to the server ("Server statuses also." in its comment) may return these, too:
 *
 *   status              when                                                  what to do
 *   UNREACHABLE         no connection could be made; the command was not      call again later
 *                       sent
 *   NO_REPLY            the command was sent, and no reply came before the    see the function's comment
 *                       deadline
 *   PROTOCOL            the peer is not a Redis server                        correct the URL
 *   -4xx                the server returned an error                          see enum redlatch_status
 */
#ifndef REDLATCH_H
#define REDLATCH_H

#include <stddef.h>
#include <stdint.h>

#define REDLATCH_VERSION "0.1.0"

#if defined(REDLATCH_STATIC)
#define REDLATCH_API
#elif defined(_WIN32)
#error "redlatch does not support Windows"
#else
#define REDLATCH_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* bindings: begin (the text between these two marks is what the language bindings are generated from) */

/* ------------------------------------------------------------------------------------------------- status codes -- */

/* The outcome of a call. -1xx: expected outcomes; -2xx: misuse; -3xx: network; -4xx: errors of the server; -5xx: this
 * machine. A number is never used for another meaning. Since 0.1. */
enum redlatch_status {
    REDLATCH_OK = 0,

    REDLATCH_TIMEOUT = -101,        /* the wait reached its deadline */
    REDLATCH_NOT_OWNED = -102,      /* the owner does not hold the lock */
    REDLATCH_LOST = -103,           /* the owner held the lock and lost it: the lease ended, or the server forgot it */
    REDLATCH_CANCELLED = -104,      /* the wait was cancelled; nothing is held or queued */
    REDLATCH_AGAIN = -105,          /* not done yet; call again */
    REDLATCH_UNCLAIMED = -106,      /* the event of a grant was not collected in time; the grant was released */
    REDLATCH_ALREADY_HELD = -107,   /* the owner holds the lock, which is not reentrant */
    REDLATCH_WOULD_DEADLOCK = -108, /* the owner holds the read lock; waiting for the write lock would deadlock */
    REDLATCH_NOT_FOUND = -109,      /* nobody made the semaphore, and its option must_exist is 1 */

    REDLATCH_INVALID = -201,     /* an argument is out of range; redlatch_last_error names it */
    REDLATCH_CLOSED = -202,      /* the client is closed */
    REDLATCH_FORKED = -203,      /* the hold or the handle belongs to the parent process */
    REDLATCH_BAD_HANDLE = -204,  /* the handle is NULL, freed or of another type */
    REDLATCH_UNSUPPORTED = -205, /* recognised, but not supported by this version, or by the server */
    REDLATCH_IN_USE = -206,      /* another call uses the cancel object, the wait or the scan */

    REDLATCH_UNREACHABLE = -301, /* no connection could be made, or it broke before the command was sent */
    REDLATCH_NO_REPLY = -302,    /* the command was sent without a reply in time: it may or may not have run */
    REDLATCH_PROTOCOL = -303,    /* the peer is not a Redis server */

    REDLATCH_SERVER = -401,     /* the server returned an error that has no status of its own */
    REDLATCH_WRONG_TYPE = -402, /* the key is not a lock of this kind and was not changed; redlatch_last_error says what
                                   it is */
    REDLATCH_READ_ONLY = -403,  /* the server is a replica */
    REDLATCH_SERVER_OUT_OF_MEMORY = -404,
    REDLATCH_LOADING = -405,        /* the server is loading its data */
    REDLATCH_SERVER_BUSY = -406,    /* the server is running a script that does not end */
    REDLATCH_AUTHENTICATION = -407, /* the user name or password is missing or wrong, or a certificate is refused */
    REDLATCH_NO_PERMISSION = -408,  /* the server's access rules forbid a command, key or channel; redlatch_last_error
                                       quotes the server */
    REDLATCH_TOO_MANY_CLIENTS = -409,
    REDLATCH_NOT_WRITABLE = -410,   /* no writes for now: too few replicas, a failed snapshot, or the master is down */
    REDLATCH_NOT_REPLICATED = -411, /* fewer than min_replicas replicas acknowledged it within the replica timeout, or,
                                       with durable, the disk did not: what was granted was given back */

    REDLATCH_NO_MEMORY = -501,
    REDLATCH_SYSTEM = -502,  /* a system call failed: no descriptors, no threads */
    REDLATCH_INTERNAL = -503 /* redlatch found a bug in itself; please report it. Every call on this client but closing
                                and freeing returns this from now on, and the client's leases run out */
};

/* Returns an English sentence for any status. Static memory. Since 0.1. */
REDLATCH_API const char *redlatch_strerror(int status);

/* Returns the name of a status in lower case and without its prefix, such as "not_owned"; "unknown" for any other
 * number. Static memory. Since 0.1. */
REDLATCH_API const char *redlatch_status_name(int status);

/* Returns 1 if the same call may succeed later without repair by hand, else 0. Since 0.1. */
REDLATCH_API int redlatch_status_is_retryable(int status);

/* Returns 1 if the server may have run the command although the call failed, else 0. What an ambiguous acquire or
 * release left behind is undone or completed in the background. Since 0.1. */
REDLATCH_API int redlatch_status_is_ambiguous(int status);

/* Returns the message of the calling thread's last failed call. It names the value and what was expected. Never NULL;
 * empty before the first failure. Valid until this thread's next failed call. Since 0.1. */
REDLATCH_API const char *redlatch_last_error(void);

/* Returns the version of the library, such as "0.1.0". Static memory. Since 0.1. */
REDLATCH_API const char *redlatch_version(void);

/* ---------------------------------------------------------------------------------------------- special numbers -- */

enum {
    REDLATCH_FOREVER = -1,        /* as a wait: without a deadline */
    REDLATCH_RENEWED = -1,        /* as a lease: the watchdog lease, renewed for as long as the lock is held */
    REDLATCH_LEASE_OF_LOCK = -2,  /* as a lease: the one in the options of the lock or semaphore */
    REDLATCH_DEFAULT = -3,        /* as an option: the URL's value, or else this version's default */
    REDLATCH_CONFIRM_OF_LOCK = -4 /* as `confirm` of a release: the lock's option confirm_release */
};

enum {
    REDLATCH_NAME_SIZE_MAX = 65535, /* bytes in a lock's name, prefix included */
    REDLATCH_MEMBERS_MAX = 100,     /* locks in a multi lock or a RedLock */
    REDLATCH_OWNER_SIZE = 64,       /* bytes of an owner id in Redis, with its final NUL */
    REDLATCH_ARGUMENTS_MAX = 16     /* arguments of redlatch_client_command */
};

/* ------------------------------------------------------------------------------------------------------- client -- */

/* A client of one Redis server: its connections, and a watchdog that renews leases. Opaque. */
typedef struct redlatch_client redlatch_client;

/* -------------------------------------------------------------------------------------------------------- locks -- */

/* A handle of a lock: a client, a kind, a name and options. Holds belong to client, name and owner, not to the handle.
 * Opaque. */
typedef struct redlatch_lock redlatch_lock;

/* The kind of a lock. Use a name as one kind only, here and in Redisson. Numbers never change.
 *
 * READ and WRITE are the two modes of a read-write lock: many readers or one writer. Both are reentrant, with a hold of
 * its own for each mode. A writer may also read, and keeps reading after it released the write lock. A reader that asks
 * to write gets WOULD_DEADLOCK at once; if its read lock is lost, it gets LOST until it released the read lock. The
 * owner decides that, so that both modes need one thread, or handles with one owner number.
 *
 * Inside one process a reader does not overtake a writer that came before it. Readers of other processes do, as the
 * format cannot store a waiting writer: while reads overlap without a gap, a writer waits for ever. Use a mutex then,
 * or let the readers pause. The hold of a reader that died ends with its lease. Since 0.1. */
enum redlatch_kind {
    REDLATCH_MUTEX = 1,  /* reentrant mutex, Redisson's RLock */
    REDLATCH_FENCED = 2, /* a mutex with a fencing token for every hold, RFencedLock; see redlatch_hold */
    REDLATCH_FAIR = 3,   /* a mutex granted in the order in which waiters reached the server, RFairLock. The waiters of
                            a client that is dead or cut off lose their queue positions together after
                            fair_timeout_ms: the next live waiter holds the lock at most that time and 5 s after it
                            became free */
    REDLATCH_SPIN = 4,   /* a mutex whose waiters poll with a back-off and do not subscribe, RSpinLock; its release
                            notifies other waiters all the same */
    REDLATCH_READ = 5,   /* the read lock of Redisson's RReadWriteLock */
    REDLATCH_WRITE = 6,  /* the write lock of Redisson's RReadWriteLock */
    REDLATCH_PLAIN = 7,  /* a string with the owner as its value, as redis-py, redsync, bsm/redislock and node-redlock
                            write it; not reentrant. Those libraries do not notify of a release: while one of them holds
                            the lock, waiters poll every 0.1 s */
    REDLATCH_GROUP = 8,  /* many values of one name at once, RedissonClient.getMultiLock(group, values); made by
                            redlatch_group_lock_new */
    /* These have handles of their own: redlatch_semaphores.h, redlatch_latch.h. */
    REDLATCH_SEMAPHORE = 9,
    REDLATCH_PERMIT_SEMAPHORE = 10,
    REDLATCH_LATCH = 11
};

/* Returns the name of a kind, such as "mutex"; "unknown" for any other number. Static memory. Since 0.1. */
REDLATCH_API const char *redlatch_kind_name(int kind);

/* The owner of a hold when the call names none. Since 0.1. */
enum redlatch_owner_mode {
    REDLATCH_OWNER_THREAD = 0, /* the calling thread; any handle of the name serves for its nested acquires */
    REDLATCH_OWNER_HANDLE = 1  /* the handle; any thread may release it, and freeing the handle releases it */
};

/* The options of a lock. redlatch_lock_options_init sets the defaults, which end each comment below. Since 0.1. */
typedef struct redlatch_lock_options {
    uint32_t struct_size;
    int32_t owner_mode;       /* enum redlatch_owner_mode; THREAD */
    int64_t lease_ms;         /* REDLATCH_RENEWED, or a fixed lease of 1 ms to 10 years; RENEWED */
    int64_t max_hold_ms;      /* a hold is not renewed beyond this; REDLATCH_FOREVER */
    int32_t reentrant;        /* 0: a nested acquire returns ALREADY_HELD, like Redisson's RNonReentrantLock; 1 */
    int32_t token_from_time;  /* fenced: 1: no token is smaller than the server's time in microseconds, so that tokens
                                 grow even when the server lost their counter; 0 */
    const char *key_template; /* plain: the key, with {name} once for the name, such as lock:{name}; the client's prefix
                                 precedes the key. Read during redlatch_lock_new only. NULL: {name} */
    uint64_t key_template_size;
    int64_t back_off_initial_ms; /* spin: the first pause between two attempts, 1 ms to one hour; 1 */
    int64_t back_off_max_ms;     /* spin: the longest pause, back_off_initial_ms to one hour; 128 */
    int32_t back_off_multiplier; /* spin: the factor from each pause to the next, 1 to 1000; 2 */
    int32_t reserved;            /* 0 */
    uint64_t owner; /* OWNER_HANDLE: a number of redlatch_owner_new, which several handles may share, such as the read
                       and the write lock of a name; 0: a number of the handle's own. 0 */
    int32_t confirm_release; /* 0: a release does not wait for the server's reply, see redlatch_lock_release_with; not
                                of a multi lock or a RedLock, nor if the client has min_replicas or durable. 1 */
} redlatch_lock_options;

/* Sets the default options. `struct_size` is sizeof(redlatch_lock_options). INVALID: `options` is NULL, or the size is
 * impossible. Since 0.1. */
REDLATCH_API int redlatch_lock_options_init(redlatch_lock_options *options, uint32_t struct_size);

/* Makes a handle of a lock. Sends nothing.
 *
 * kind: REDLATCH_MUTEX to REDLATCH_PLAIN of enum redlatch_kind.
 * name: 1 to REDLATCH_NAME_SIZE_MAX bytes of any value, the client's prefix included.
 * options: NULL for the defaults.
 * lock_out: the handle. The caller owns it and frees it with redlatch_lock_free.
 *
 * UNSUPPORTED: confirm_release is 0, and the client has min_replicas or durable. Since 0.1. */
REDLATCH_API int redlatch_lock_new(redlatch_client *client, int kind, const char *name, size_t name_size,
                                   const redlatch_lock_options *options, redlatch_lock **lock_out);

/* Frees a handle. NULL is allowed. Holds of threads stay; if the handle is that of a multi lock or a RedLock, no event
 * reports a later loss of its hold, but the state and the release of another handle with the same members do. With
 * OWNER_HANDLE the hold of the handle's owner is released in the background, even if other handles share that owner.
 * Since 0.1. */
REDLATCH_API void redlatch_lock_free(redlatch_lock *lock);

/* An object that cancels a wait. It belongs to one wait at a time. Opaque. */
typedef struct redlatch_cancel redlatch_cancel;

/* Makes a cancel object. The caller owns it and frees it with redlatch_cancel_free, after the call that uses it has
 * returned, or the wait that uses it has ended. INVALID, NO_MEMORY, SYSTEM. Since 0.1. */
REDLATCH_API int redlatch_cancel_new(redlatch_cancel **cancel_out);

/* Cancels the wait of a cancel object, or else the next wait that uses it. May be called from a signal handler.
 * BAD_HANDLE, FORKED. Since 0.1. */
REDLATCH_API int redlatch_cancel_fire(redlatch_cancel *cancel);

/* Frees a cancel object. NULL is allowed. Since 0.1. */
REDLATCH_API void redlatch_cancel_free(redlatch_cancel *cancel);

/* Acquires the lock for its own owner (owner_mode) with its own lease.
 *
 * wait_ms: how long to wait for other owners. 0 tries once, REDLATCH_FOREVER waits without a deadline.
 *
 * Each acquire of a hold needs a release: a nested acquire raises the hold count. On TIMEOUT redlatch_last_error names
 * the holder if the server returns it soon; asking for it may prolong a wait of 50 ms or more by a tenth, 100 ms at
 * most. On WRONG_TYPE it says what the key is; asking for it may take 1 s.
 *
 *   status              when                                                  what to do
 *   OK                  the owner holds the lock                              release it
 *   TIMEOUT             other owners held the lock until the deadline; of a   try again later
 *                       wait below 100 ms also: no reply by then
 *   LOST                the owner's hold is lost, or the lease of a new hold  if the hold's state is GONE, release as
 *                       ended before the reply came                           often as acquired; acquire again
 *   ALREADY_HELD        the lock is not reentrant, and its owner holds it     release it first
 *   WOULD_DEADLOCK      the owner holds the read lock and asked to write      release the read lock first
 *   NO_REPLY            no reply came in time; the acquire is undone in the   try again
 *                       background, within 200 ms of the server's return
 *
 * Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_lock_acquire(redlatch_lock *lock, int64_t wait_ms);

/* Acquires the lock without waiting: redlatch_lock_acquire with a wait of 0. Since 0.1. */
REDLATCH_API int redlatch_lock_try_acquire(redlatch_lock *lock);

/* Acquires the lock for an explicit owner with an explicit lease.
 *
 * owner: a number of redlatch_owner_new; 0: the lock's own owner.
 * lease_ms: 1 ms to 10 years, REDLATCH_RENEWED or REDLATCH_LEASE_OF_LOCK.
 * wait_ms: as of redlatch_lock_acquire.
 * cancel: an object that can cancel this wait; NULL for none.
 *
 *   status              when                                                  what to do
 *   CANCELLED           redlatch_cancel_fire ended the wait                   -
 *   IN_USE              another wait uses the cancel object                   use one cancel object for each wait
 *
 * Other statuses as redlatch_lock_acquire. Since 0.1. */
REDLATCH_API int redlatch_lock_acquire_as(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                                          redlatch_cancel *cancel);

/* A wait that goes on between calls, for hosts that have to check for signals while they wait. The functions with
 * begin_ in their name make one and send nothing. The wait starts with the first redlatch_wait_continue; its time and
 * its position then run on between the calls. It keeps what it waits for: the handle and the client may be closed and
 * freed before it. One thread uses it at a time. Opaque. */
typedef struct redlatch_wait redlatch_wait;

/* Makes a resumable wait for redlatch_lock_acquire_as, with its arguments.
 *
 * cancel: may be NULL; redlatch_wait_drop cancels without one.
 * wait_out: the wait. The caller owns it and ends it with redlatch_wait_drop, whatever its result.
 *
 * IN_USE: another wait uses the cancel object. Since 0.1. */
REDLATCH_API int redlatch_lock_begin_acquire(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                                             redlatch_cancel *cancel, redlatch_wait **wait_out);

/* Starts a resumable wait, or goes on with it.
 *
 * max_block_ms: how long this call blocks, 0 or more. REDLATCH_FOREVER: until the wait ends.
 * serial_out: on OK of a permit semaphore the serial of the first permit; else without meaning. May be NULL.
 *
 *   status              when                                                  what to do
 *   OK                  the wait ended; what it was granted is the caller's   drop the wait
 *   AGAIN               max_block_ms passed; the wait goes on                 call again
 *   IN_USE              another thread's call uses the wait                   use one wait for each thread
 *
 * Any other status is the result of the wait, as of the blocking call. A call after the end returns the result again.
 * Since 0.1. */
REDLATCH_API int redlatch_wait_continue(redlatch_wait *wait, int64_t max_block_ms, uint64_t *serial_out);

/* Frees a resumable wait. NULL is allowed. A wait that has not ended is cancelled first, and what it was granted
 * meanwhile is given back. In a forked child it frees the child's copy only. Since 0.1. */
REDLATCH_API void redlatch_wait_drop(redlatch_wait *wait);

/* Releases one acquire of the lock's own owner. The release of the last acquire frees the lock and notifies waiters.
 *
 *   status              when                                                  what to do
 *   OK                  the hold count is one less                            -
 *   NOT_OWNED           the owner does not hold the lock                      -
 *   LOST                the owner's hold was lost; other holds are unchanged  release as often as acquired
 *   NO_REPLY,           the release goes on in the background until the       do not release again
 *   UNREACHABLE         lease would end
 *   -4xx, retryable     the same; see redlatch_status_is_retryable            do not release again
 *   -4xx, others        the hold count stays; after the release of the last   see enum redlatch_status
 *                       acquire the hold ends with its lease
 *
 * If the connection breaks before the reply, the release is sent again. It then returns OK also if the server knows
 * no hold: the first release ran, or the hold was lost meanwhile. If the connection had ended before, a new one is made
 * first, and the status is certain. The release of the last acquire ends the renewal even if it fails on the server.
 * With the option confirm_release 0 it does not wait for the reply: see redlatch_lock_release_with.
 * Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_lock_release(redlatch_lock *lock);

/* Releases one acquire of an explicit owner; 0: the lock's own. Statuses as redlatch_lock_release. Since 0.1. */
REDLATCH_API int redlatch_lock_release_as(redlatch_lock *lock, uint64_t owner);

/* Releases one acquire of an owner, and waits for the server's reply or not.
 *
 * owner: 0 for the lock's own.
 * confirm: 1 waits. 0 does not wait: an unconfirmed release. REDLATCH_CONFIRM_OF_LOCK: as the option of the lock.
 *
 * An unconfirmed release returns when its command is queued on its connection. Normally it is written by then; if
 * the socket takes nothing now, another thread is writing, or there is no connection, the client sends it soon or
 * later. NOT_OWNED, and LOST after the deadline of the lease, are returned as by a confirmed release. The reply comes
 * later: an error is a RELEASE_FAILED event, a success is not reported. If the connection breaks before the reply, the
 * release is sent again, as by a confirmed release. While no reply comes, nothing is reported until the client is
 * closed.
 *
 * - The owner may acquire again at once: the acquire runs after the release. Whoever learns in another way that the
 *   release was called may find the lock held.
 * - Closing the client waits for these releases, for half of the close timeout at most. Those without a reply by then
 *   are RELEASE_FAILED events with NO_REPLY. A process that ends without closing its client does not wait: what the
 *   server did not receive does not run, and the lease runs out.
 * - The release of a nested acquire sends nothing. The server learns the hold count with the hold's next command.
 * - If an earlier command of the hold is in progress, the call waits for its end.
 *
 *   status              when                                                  what to do
 *   INVALID             confirm is none of the three                          correct it
 *   NOT_OWNED           the owner does not hold the lock                      -
 *   LOST                the owner's hold was lost                             release as often as acquired
 *   UNSUPPORTED         a multi lock or a RedLock, or the client has          confirm it
 *                       min_replicas or durable
 *   UNREACHABLE         an earlier command of the hold did not end in time;   do not release again
 *                       the release goes on in the background
 *
 * With `confirm` 1 statuses as redlatch_lock_release. Since 0.1. */
REDLATCH_API int redlatch_lock_release_with(redlatch_lock *lock, uint64_t owner, int32_t confirm);

/* Sets the lease of an owner's hold to end lease_ms (1 ms to 10 years) from now, earlier or later than before. A
 * renewed hold continues to be renewed.
 *
 *   status              when                                                  what to do
 *   NOT_OWNED           the owner does not hold the lock                      acquire it
 *   LOST                the owner's hold was lost                             release as often as acquired
 *   NO_REPLY            the extension may or may not have run                 call again
 *
 * Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_lock_extend(redlatch_lock *lock, uint64_t owner, int64_t lease_ms);

/* Ends an owner's hold in this process, all its acquires at once, and leaves it to the server, where the lock stays
 * locked until its lease ends. It is neither renewed nor released from here on, also not when the client is closed, and
 * its end is no loss. The next acquire of the owner waits for it as for any other owner's. Sends nothing.
 *
 * For a job that runs at most once a period, whichever process starts it, as with ShedLock:
 *
 *   1. redlatch_lock_acquire_as with the longest time that the job may take as its lease, and a wait of 0. On TIMEOUT
 *      the job is skipped: another process runs it, or has run it in this period. If this process dies, the lock stays
 *      locked for that lease.
 *   2. The job.
 *   3. Before the shortest time for which the others are to be kept away is over, counted from the grant:
 *      redlatch_lock_extend to the rest of that time, then redlatch_lock_leave. After it: redlatch_lock_release.
 *      If it was held then, and the extension returns LOST with the reason EXPIRED, that time was over before the
 *      reply: the hold was not lost while the job ran, and redlatch_lock_release ends it. A LOST event may report it.
 *
 * A leader is the owner of a mutex that is renewed. It acquires the mutex with REDLATCH_FOREVER, works, and waits with
 * redlatch_client_wait_lost. After a loss it stops the work, releases, and acquires again. To resign it stops the work
 * and releases.
 *
 *   status              when                                                  what to do
 *   NOT_OWNED           the owner does not hold the lock                      -
 *   LOST                the owner's hold was lost                             release as often as acquired
 *   UNSUPPORTED         a multi lock or a RedLock                             leave its members' locks
 *
 * owner: 0 for the lock's own. Since 0.1. */
REDLATCH_API int redlatch_lock_leave(redlatch_lock *lock, uint64_t owner);

/* Deletes the lock, whoever holds it, and notifies waiters.
 *
 * released_out: 1 if there was a lock, else 0. May be NULL.
 *
 * The holder learns of the loss from its next call on the lock, or from the next renewal, which comes after a third of
 * the watchdog lease (10 s of 30 s). The holder of a fixed lease learns of it from its release. A read or write lock is
 * left alone while the name is held in the other mode; a writer that also reads holds it in write mode.
 * WRONG_TYPE: the key is not a lock of this kind. A string without a TTL is a plain lock only if its value is one that
 * redis-py or python-redis-lock writes, whose locks may have no lease. Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_lock_force_release(redlatch_lock *lock, int32_t *released_out);

/* Releases all acquires of an owner who is named by its id, whichever process it is in, and notifies waiters. Nobody
 * else's hold is changed. For steps of a job that are processes of their own: one acquires with a fixed lease and ends
 * without a release, another releases.
 *
 * lock: a lock of one name, of the kind that the owner acquired.
 * owner: an owner id as in redlatch_hold or redlatch_party.
 * released_out: 1 if the owner held the lock, else 0. May be NULL.
 *
 * An owner in this process learns of it as of redlatch_lock_force_release. UNSUPPORTED: a group lock, a multi lock or a
 * RedLock. NO_REPLY also: the connection broke before the reply, and the owner holds nothing now. Server statuses also.
 * Since 0.1. */
REDLATCH_API int redlatch_lock_release_owner(redlatch_lock *lock, const char *owner, int32_t *released_out);

/* Sets the lease of an owner who is named by its id to end lease_ms (1 ms to 10 years) from now, earlier or later than
 * before. The watchdog of the owner's process, if it renews the lock, continues.
 *
 * lock, owner: as of redlatch_lock_release_owner, with its statuses.
 * extended_out: 1 if the owner holds the lock, else 0. May be NULL.
 *
 * min_replicas and durable do not count here. Server statuses also. Since 0.1. */
REDLATCH_API int redlatch_lock_extend_owner(redlatch_lock *lock, const char *owner, int64_t lease_ms,
                                            int32_t *extended_out);

/* The state of an owner's hold, as this process knows it without asking the server. Since 0.1. */
enum redlatch_hold_state {
    REDLATCH_NOT_HELD = 0,
    REDLATCH_HELD = 1,
    REDLATCH_SUSPECT = 2, /* held by the clock, but a renewal is overdue */
    REDLATCH_GONE = 3     /* was held and is lost; release returns LOST */
};

/* The reason of a loss. Since 0.1. */
enum redlatch_reason {
    REDLATCH_REASON_NONE = 0,
    REDLATCH_REASON_EXPIRED = 1, /* the lease ended without a confirmed renewal */
    REDLATCH_REASON_MISSING = 2, /* the server has no such hold: force-released, deleted, flushed, evicted, restarted */
    REDLATCH_REASON_MAX_HOLD = 3, /* the lock's max_hold_ms was reached */
    REDLATCH_REASON_ABANDONED = 4 /* the owner ended */
};

/* Returns the name of a reason in lower case and without its prefix, such as "max_hold"; "unknown" for any other
 * number. Static memory. Since 0.1. */
REDLATCH_API const char *redlatch_reason_name(int reason);

/* Returns the reason (enum redlatch_reason) if the calling thread's last failed call returned LOST and the reason is
 * known, else NONE. redlatch_last_error has it in words. Since 0.1. */
REDLATCH_API int redlatch_last_reason(void);

/* An owner's hold. Since 0.1. */
typedef struct redlatch_hold {
    uint32_t struct_size;
    int32_t state;        /* enum redlatch_hold_state */
    int32_t reason;       /* enum redlatch_reason, when GONE */
    uint32_t count;       /* hold count: acquires that are not released */
    int64_t remaining_ms; /* safe time left, less a margin, rounded down; 0 unless HELD or SUSPECT */
    uint64_t serial;      /* names this hold and no other, even when GONE; 0 when not held */
    uint64_t token;       /* fenced: greater than the token of every earlier hold; else 0 */
    char owner[64];       /* owner id in Redis, "uuid:number"; empty when not held. An extension whose reply was lost
                             may change it if CLIENT KILL is forbidden */
} redlatch_hold;

/* Copies the state of an owner's hold to `hold_out`, whose struct_size the caller sets. owner: 0 for the lock's own.
 * Sends nothing. Since 0.1. */
REDLATCH_API int redlatch_lock_hold_status(redlatch_lock *lock, uint64_t owner, redlatch_hold *hold_out);

/* The state of a lock on the server, whoever holds it. Since 0.1. */
typedef struct redlatch_lock_state {
    uint32_t struct_size;
    int32_t locked;   /* 1 if anybody holds it */
    int64_t ttl_ms;   /* time left of the lease, at most 10^12; -1: no lease; 0: not locked */
    uint64_t count;   /* the holder's hold count; of several readers, that of one */
    char owner[128];  /* the holder's owner id, cut if longer; empty when not locked */
    uint64_t holders; /* number of holders; several for a read lock only */
    uint64_t waiters; /* fair: number of waiters in the server queue; else 0 */
} redlatch_lock_state;

/* Asks the server for the state of the lock. The caller sets state_out->struct_size. Server statuses also.
 * Since 0.1. */
REDLATCH_API int redlatch_lock_query(redlatch_lock *lock, redlatch_lock_state *state_out);

/* bindings: end */

#ifdef __cplusplus
}
#endif

/* The rest of the interface. Each of these may be included alone. */
#include "redlatch_client.h"
#include "redlatch_events.h"
#include "redlatch_groups.h"
#include "redlatch_latch.h"
#include "redlatch_multi.h"
#include "redlatch_reports.h"
#include "redlatch_semaphores.h"

#endif /* REDLATCH_H */
