/* redlatch: distributed locks on Redis, wire-compatible with Redisson.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Read this first: what a lock on Redis can and cannot promise
 *
 * - A hold is a lease. It ends when it is released or when its time is over, whichever is first. A process that was
 *   paused (stopped, swapped out, suspended) may run on for a moment after its lease is over and somebody else has
 *   the lock. redlatch tells the holder at once when it wakes (redlatch_lock_hold, lease-lost events, the status of
 *   release); only a fencing token checked by the guarded resource can stop a write that was already on its way.
 * - Redis replicates asynchronously. A failover may lose a lock that was granted a moment before.
 * - Redis keeps time by its own wall clock. A step of that clock shortens or lengthens every lease.
 * - A command may be carried out although its reply was lost. redlatch resolves that by itself: every script states
 *   the intended result, so it may be sent twice, and what could not be resolved in time is undone in the background.
 *
 * Conventions
 *
 * - Functions return a status: REDLATCH_OK (0) or a negative enum redlatch_status. What is handed out through a
 *   parameter ending in `_out` is untouched on failure and always set on success.
 * - Durations are milliseconds in int64_t and say so in their name. Every wait runs on a clock that also counts the
 *   time a machine is suspended; wall-clock steps change nothing.
 * - Names and strings are byte strings with a size; nothing is assumed of their encoding. They are copied.
 * - Structs that cross this interface begin with `struct_size`, which the caller sets to sizeof the struct (the _init
 *   functions do). Fields are only ever added at the end.
 * - Threads: a client, a lock handle and a cancel object may be used by any number of threads at once, except that
 *   freeing an object must be the last use of it. Handles may be freed in any order; a lock keeps its client's
 *   memory.
 * - Fork: a child process owns nothing of its parent's. Every call on an inherited handle returns REDLATCH_FORKED and
 *   writes nothing to the network; closing and freeing are allowed and touch only the child's copies.
 * - No function prints, aborts, installs a signal handler or calls back into the host.
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

/* Why a call failed. Groups of a hundred: -1xx expected outcomes, -2xx misuse, -3xx network, -4xx the server said no,
 * -5xx this machine. Numbers are never reused. Since 0.1. */
enum redlatch_status {
    REDLATCH_OK = 0,

    REDLATCH_TIMEOUT = -101,        /* what was waited for did not come in time: others held it all the while */
    REDLATCH_NOT_OWNED = -102,      /* the owner does not hold this lock */
    REDLATCH_LOST = -103,           /* the owner held it and lost it: the lease ran out or the server forgot it */
    REDLATCH_CANCELLED = -104,      /* the wait was cancelled; nothing is held or queued */
    REDLATCH_AGAIN = -105,          /* nothing to report yet; call again */
    REDLATCH_UNCLAIMED = -106,      /* an asynchronous grant was not collected in time and was given back */
    REDLATCH_ALREADY_HELD = -107,   /* the owner holds it, and the lock is not reentrant */
    REDLATCH_WOULD_DEADLOCK = -108, /* the owner holds the read lock, and would wait for itself to write */

    REDLATCH_INVALID = -201,     /* an argument is out of range; redlatch_last_error names it */
    REDLATCH_CLOSED = -202,      /* the client is closed */
    REDLATCH_FORKED = -203,      /* the handle belongs to the parent process; open a client of your own */
    REDLATCH_BAD_HANDLE = -204,  /* NULL, freed, or a handle of another kind */
    REDLATCH_UNSUPPORTED = -205, /* recognised, and not supported by this version */
    REDLATCH_IN_USE = -206,      /* the cancel object already names another wait, or a step of the walk is started */

    REDLATCH_UNREACHABLE = -301, /* no connection could be made, or it broke before the command was sent */
    REDLATCH_NO_REPLY = -302,    /* sent, and no reply came in time: it may or may not have been carried out */
    REDLATCH_PROTOCOL = -303,    /* what answers there is not a Redis server */

    REDLATCH_SERVER = -401,     /* the server refused with an error that has no code of its own */
    REDLATCH_WRONG_TYPE = -402, /* the key holds something else than a lock of this kind, redlatch_last_error says
                                   what; it was not touched */
    REDLATCH_READ_ONLY = -403,  /* the server is a replica */
    REDLATCH_SERVER_OUT_OF_MEMORY = -404,
    REDLATCH_LOADING = -405,        /* the server is loading its data */
    REDLATCH_SERVER_BUSY = -406,    /* the server is running a script that does not end */
    REDLATCH_AUTHENTICATION = -407, /* no or wrong user name or password */
    REDLATCH_NO_PERMISSION = -408,  /* the server's access rules forbid a command, key or channel we need; of calls on
                                       one name redlatch_last_error ends with the server's words */
    REDLATCH_TOO_MANY_CLIENTS = -409,
    REDLATCH_NOT_WRITABLE = -410, /* refused for now: too few replicas, failed snapshot, or the master is down */

    REDLATCH_NO_MEMORY = -501,
    REDLATCH_SYSTEM = -502,  /* a system call failed: no descriptors, no threads */
    REDLATCH_INTERNAL = -503 /* a defect in redlatch; please report it. The client that met it is of no use any
                                more: all its calls say so, but that it can be closed; its leases run out */
};

/* One English sentence for a status, for any number. Static memory. Any thread. Since 0.1. */
REDLATCH_API const char *redlatch_strerror(int status);

/* The name of a status without its prefix, in lower case ("not_owned"); "unknown" for any other number. Static memory.
 * Any thread. Since 0.1. */
REDLATCH_API const char *redlatch_status_name(int status);

/* 1 if trying the same call again later may well succeed without anything being repaired by hand, else 0. Since 0.1. */
REDLATCH_API int redlatch_status_is_retryable(int status);

/* 1 if the server may have carried the command out although the call failed, else 0. Whatever an ambiguous acquire or
 * release left behind is being undone or completed in the background. Since 0.1. */
REDLATCH_API int redlatch_status_is_ambiguous(int status);

/* What went wrong in the calling thread's last failed call, in words that name the value and what was expected.
 * Never NULL; empty before the first failure. Borrowed until this thread's next failing call. Since 0.1. */
REDLATCH_API const char *redlatch_last_error(void);

/* The version of the library that is running, such as "0.1.0". Static memory. Since 0.1. */
REDLATCH_API const char *redlatch_version(void);

/* ---------------------------------------------------------------------------------------------- special numbers -- */

enum {
    REDLATCH_FOREVER = -1,       /* as a wait: until granted or cancelled */
    REDLATCH_RENEWED = -1,       /* as a lease: the watchdog's, renewed for as long as the lock is held */
    REDLATCH_LEASE_OF_LOCK = -2, /* as a lease: what the lock's options say */
    REDLATCH_DEFAULT = -3        /* in options where the URL has a say: what it says, else what this version does */
};

enum {
    REDLATCH_NAME_SIZE_MAX = 65535, /* bytes in a lock's name, prefix included */
    REDLATCH_MEMBERS_MAX = 100,     /* locks in a multi lock or a RedLock */
    REDLATCH_OWNER_SIZE = 64        /* room for an owner id as it stands in Redis, with its final NUL */
};

/* ------------------------------------------------------------------------------------------------------- client -- */

/* A connection to one Redis server with a watchdog that renews leases. Opaque. */
typedef struct redlatch_client redlatch_client;

/* For whom messages are: they say "use REDLATCH_PLAIN" and milliseconds, or what that is called there, and seconds. For
 * those who write bindings. Since 0.1. */
enum redlatch_language {
    REDLATCH_LANGUAGE_C = 0,
    REDLATCH_LANGUAGE_PYTHON = 1,
    REDLATCH_LANGUAGE_LUA = 2,
    REDLATCH_LANGUAGE_COMMAND = 3
};

/* How a client behaves. Fill with redlatch_client_options_init, then change what you need. Pointers are read during
 * redlatch_client_open only. Since 0.1. */
typedef struct redlatch_client_options {
    uint32_t struct_size;
    int32_t lazy;                   /* 1: connect at the first use, for servers that may be down now; 0 */
    int64_t watchdog_lease_ms;      /* lease of a lock that is renewed, 30 to 86400000; 30000, as Redisson's */
    int64_t connect_timeout_ms;     /* to a usable connection, name look-up included; 5000 */
    int64_t command_timeout_ms;     /* a call that does not wait for others gives up after this; 5000 */
    int64_t dead_peer_timeout_ms;   /* a connection that owes a reply for this long is given up; 10000 */
    int64_t unreachable_timeout_ms; /* a wait without end fails when the server cannot be used for this long; 30000 */
    int64_t close_timeout_ms;       /* redlatch_client_close waits at most this long; 1000 */
    int64_t claim_timeout_ms;       /* an asynchronous grant that is not collected is given back after this; 30000 */
    int64_t linger_ms;              /* a subscription outlives its last waiter by this; 3000 */
    int32_t release_on_close;       /* 1: closing releases what is held; 0: leases run out. 1 */
    int32_t busy_poll;              /* 1: poll the socket, or yield the processor, briefly before sleeping where
                                  that pays; 0: never. 1 */
    const char *name_prefix;        /* put before every name, as Redisson's NameMapper; NULL */
    uint64_t name_prefix_size;
    const char *username;    /* overrides the URL's; NULL */
    const char *password;    /* overrides the URL's; NULL */
    int32_t database;        /* overrides the URL's; REDLATCH_DEFAULT */
    int32_t language;        /* enum redlatch_language, whose words and units messages use; LANGUAGE_C */
    int64_t fair_timeout_ms; /* fair locks: a waiter whose client is silent for this long loses its place, 100 or
                                more; the same in every process that uses a lock; 30000 */
} redlatch_client_options;

/* Writes the defaults. `struct_size` is sizeof(redlatch_client_options) as the caller knows it.
 * INVALID: NULL or an impossible size. Since 0.1. */
REDLATCH_API int redlatch_client_options_init(redlatch_client_options *options, uint32_t struct_size);

/* Opens a client and connects, unless options say lazy.
 *
 * url: redis://[user[:password]@]host[:port][/database][?option=value&...] or unix://[user[:password]@]/path[?db=N],
 * NUL-terminated; NULL means the environment's REDIS_URL, else redis://127.0.0.1:6379/0. Options in the URL:
 * connect_timeout, command_timeout, dead_peer_timeout (in seconds, fractions allowed), name_prefix, db.
 * rediss, redis+sentinel and redis+cluster URLs are recognised and refused as not supported yet.
 * options: NULL for defaults; explicit options win over the URL.
 *
 * The client is the caller's, to be freed by redlatch_client_free. Any thread; may block for the connect time-out.
 * INVALID, UNSUPPORTED, UNREACHABLE, NO_REPLY, PROTOCOL, AUTHENTICATION, NO_PERMISSION, TOO_MANY_CLIENTS, LOADING,
 * NO_MEMORY, SYSTEM. Since 0.1. */
REDLATCH_API int redlatch_client_open(const char *url, const redlatch_client_options *options,
                                      redlatch_client **client_out);

/* Ends the client: waiters return CLOSED, what is held is released (unless the options say otherwise), connections
 * and threads end. Returns within the close time-out even if the server is gone. Closing twice is harmless. In a
 * forked child it closes the child's descriptors and writes nothing. BAD_HANDLE. Since 0.1. */
REDLATCH_API int redlatch_client_close(redlatch_client *client);

/* Closes if that was not done, and gives the client back. NULL is allowed. Must be the caller's last use of it; locks
 * of this client may be freed afterwards. Since 0.1. */
REDLATCH_API void redlatch_client_free(redlatch_client *client);

/* The client's uuid, 36 characters, the first part of every owner id it writes; version nibble 8. Borrowed for the
 * life of the client; NULL for a bad handle. Since 0.1. */
REDLATCH_API const char *redlatch_client_uuid(const redlatch_client *client);

/* An owner number that this process never used and never will again, for calls with an explicit owner, which take no
 * other numbers: one that was made up is INVALID. It is below 2^53, so that a double holds it. INVALID. Since 0.1. */
REDLATCH_API int redlatch_owner_new(uint64_t *owner_out);

/* Says that an owner is gone for good (hosts that issue owners to their own threads or tasks call this at their end;
 * for plain threads the library sees to it). Holds of the owner, in any client, are no longer renewed and run out,
 * with an ABANDONED event each. INVALID. Any thread. Since 0.1. */
REDLATCH_API int redlatch_owner_end(uint64_t owner);

/* What a client has done since it was opened. Counters only ever rise; gauges are marked so. Since 0.1. */
typedef struct redlatch_stats {
    uint32_t struct_size;
    uint32_t reserved;
    uint64_t round_trips;    /* replies received */
    uint64_t scripts;        /* scripts sent, repeats included */
    uint64_t script_loads;   /* times a script had to be sent as text */
    uint64_t acquired;       /* levels granted, re-entries included */
    uint64_t contended;      /* acquires that found the lock held */
    uint64_t hand_overs;     /* grants passed on inside this process */
    uint64_t renewals;       /* leases renewed */
    uint64_t late_renewals;  /* renewals confirmed after half of the lease was gone */
    uint64_t lost;           /* holds lost */
    uint64_t reconnects;     /* connections made again after one broke */
    uint64_t busy_polls;     /* times a caller polled the socket before sleeping */
    uint64_t busy_polls_hit; /* of these, those that saw the reply */
    uint64_t compensations;  /* undo commands sent for calls that gave up */
    uint64_t resends;        /* commands sent again after a connection broke */
    uint64_t messages;       /* wake-up messages received */
    uint64_t empty_polls;    /* redlatch_client_next_event calls that found nothing */
    uint64_t held;           /* gauge: holds alive */
    uint64_t waiters;        /* gauge: waits in progress */
    uint64_t subscriptions;  /* gauge: channels subscribed to */
    uint64_t connections;    /* gauge: sockets open */
} redlatch_stats;

/* Fills `stats_out`; its struct_size must be set. INVALID, BAD_HANDLE, FORKED. Since 0.1. */
REDLATCH_API int redlatch_client_stats(redlatch_client *client, redlatch_stats *stats_out);

/* -------------------------------------------------------------------------------------------------------- locks -- */

/* A name to lock on a client, with options. Holds belong to (client, name, owner), not to the handle. Opaque. */
typedef struct redlatch_lock redlatch_lock;

/* What kind of lock. A name is to be used as one kind only, here and in Redisson. The numbers are for ever.
 *
 * READ and WRITE are the two sides of a name: many readers or one writer. Both re-enter, each side has holds of its
 * own. Who writes may also read, and reads on after releasing the write lock; who reads and asks to write gets
 * WOULD_DEADLOCK at once, or LOST if the read lock has been lost, until a release has told it. That goes by owners:
 * both sides are to be used by one thread, or by handles that share a number.
 *
 * In one process, who comes first goes first: no reader overtakes a writer who waits. Readers of other processes do,
 * for the format has no place for a waiting writer; while reads overlap somewhere without a gap, it waits for ever.
 * Where that matters use a mutex, or let readers pause. A reader that died is in the way until its lease is over.
 * Since 0.1. */
enum redlatch_kind {
    REDLATCH_MUTEX = 1,  /* reentrant mutex, Redisson's RLock */
    REDLATCH_FENCED = 2, /* the same with a fencing token for every first acquire, RFencedLock: see redlatch_hold */
    REDLATCH_FAIR = 3,   /* a mutex that is granted in the order in which waiters came to the server, RFairLock. Waiters
                            keep their places however long they wait; those of a client that is dead or cut off lose
                            them after fair_timeout_ms, all at once: the next one alive holds at most that time and
                            5 s after the lock became free */
    REDLATCH_SPIN = 4,   /* a mutex whose waiters ask again and again instead of listening, RSpinLock; its release tells
                            waiters all the same */
    REDLATCH_READ = 5,   /* the read lock of Redisson's RReadWriteLock */
    REDLATCH_WRITE = 6,  /* its write lock */
    REDLATCH_PLAIN = 7,  /* a string with the owner as its value, as of redis-py, redsync, bsm/redislock, node-redlock;
                            not reentrant. Those do not tell of a release: behind them a waiter polls every 0.1 s */
    REDLATCH_GROUP = 8,  /* many values of one name at once, RedissonClient.getMultiLock(group, values): made by
                            redlatch_group_lock_new */
    /* With handles of their own: redlatch_semaphores.h, redlatch_latch.h. */
    REDLATCH_SEMAPHORE = 9,
    REDLATCH_PERMIT_SEMAPHORE = 10,
    REDLATCH_LATCH = 11
};

/* "mutex", "fenced" and so on; "unknown" for any other number. Static memory. Any thread. Since 0.1. */
REDLATCH_API const char *redlatch_kind_name(int kind);

/* Who owns what is acquired when a call names no owner. Since 0.1. */
enum redlatch_owner_mode {
    REDLATCH_OWNER_THREAD = 0, /* the calling thread; it re-enters through any handle of that name */
    REDLATCH_OWNER_HANDLE = 1  /* the handle; any thread may release, freeing the handle releases */
};

typedef struct redlatch_lock_options {
    uint32_t struct_size;
    int32_t owner_mode;      /* enum redlatch_owner_mode; THREAD */
    int64_t lease_ms;        /* REDLATCH_RENEWED, or a fixed lease of 1 to 10 years; RENEWED */
    int64_t max_hold_ms;     /* renewal ends so that the lease is over after this; REDLATCH_FOREVER */
    int32_t reentrant;       /* 0: an acquire by the owner that holds it is ALREADY_HELD, as of Redisson's
                                RNonReentrantLock; 1 */
    int32_t token_from_time; /* fenced: 1: no token is smaller than the server's time in microseconds, so that tokens go
                             on rising when the server loses their counter; 0 */
    const char *key_template; /* plain: the key, with {name} once in the place of the name, such as lock:{name}; the
                                 client's prefix stands before it all. Read during redlatch_lock_new only. NULL:
                                 {name} */
    uint64_t key_template_size;
    int64_t back_off_initial_ms; /* spin: the first pause between two attempts, 1 to one hour; 1 */
    int64_t back_off_max_ms;     /* spin: the longest, from the first to one hour; as long as the first for pauses of
                                    one length; 128 */
    int32_t back_off_multiplier; /* spin: by what a pause is longer than the one before, 1 to 1000; 2 */
    int32_t reserved;            /* 0 */
    uint64_t owner; /* with OWNER_HANDLE: a number of redlatch_owner_new, so that handles are one owner, such as
                       those of the two sides of a read-write lock; 0: a number of the handle's own */
} redlatch_lock_options;

/* Writes the defaults. INVALID. Since 0.1. */
REDLATCH_API int redlatch_lock_options_init(redlatch_lock_options *options, uint32_t struct_size);

/* Makes a handle; nothing is sent. `name` is copied: 1 to REDLATCH_NAME_SIZE_MAX bytes of any value. options: NULL for
 * defaults. The handle is the caller's, to be freed by redlatch_lock_free.
 * INVALID, BAD_HANDLE, CLOSED, FORKED, NO_MEMORY. Since 0.1. */
REDLATCH_API int redlatch_lock_new(redlatch_client *client, int kind, const char *name, size_t name_size,
                                   const redlatch_lock_options *options, redlatch_lock **lock_out);

/* Gives the handle back; NULL is allowed. A thread's holds live on; a hold owned by this handle is released in the
 * background, also when other handles share its owner. Since 0.1. */
REDLATCH_API void redlatch_lock_free(redlatch_lock *lock);

/* Names one wait at a time, so that it can be cancelled. Opaque. */
typedef struct redlatch_cancel redlatch_cancel;

/* Makes a cancel object, the caller's, to be freed by redlatch_cancel_free after the call it was passed to has
 * returned. INVALID, NO_MEMORY, SYSTEM. Since 0.1. */
REDLATCH_API int redlatch_cancel_new(redlatch_cancel **cancel_out);

/* Ends the wait that the object names, or the next one it is passed to. Safe in a signal handler and from any thread.
 * BAD_HANDLE, FORKED. Since 0.1. */
REDLATCH_API int redlatch_cancel_fire(redlatch_cancel *cancel);

/* Gives the object back; NULL is allowed. A sliced wait it still names is cancelled. Since 0.1. */
REDLATCH_API void redlatch_cancel_free(redlatch_cancel *cancel);

/* Acquires for the lock's own owner (see owner_mode) with the lock's own lease. A further acquire by the owner
 * re-enters and must be released as often. wait_ms: 0 tries once, REDLATCH_FOREVER waits without end. TIMEOUT: held
 * by someone else until then; of a wait for less than 100 ms, also that no answer came by then. The message names the
 * holder if the server tells at once. Finding that out may prolong a wait of 50 ms or more by a tenth, at most 100 ms.
 * LOST: this owner held the lock and lost it. Release it first: until then every acquire says LOST; the release of each
 * level says so once.
 * ALREADY_HELD and WOULD_DEADLOCK: see the options and the kinds.
 * NO_REPLY: undone in the background, within 200 ms of the server answering again. Also INVALID, BAD_HANDLE, CLOSED,
 * FORKED, UNREACHABLE, PROTOCOL, -4xx, NO_MEMORY, SYSTEM. Since 0.1. */
REDLATCH_API int redlatch_lock_acquire(redlatch_lock *lock, int64_t wait_ms);

/* redlatch_lock_acquire with a wait of 0. Since 0.1. */
REDLATCH_API int redlatch_lock_try_acquire(redlatch_lock *lock);

/* Acquires for an explicit owner (0: the lock's own) with an explicit lease (ms, REDLATCH_RENEWED or
 * REDLATCH_LEASE_OF_LOCK); `cancel` may be NULL.
 *
 * max_block_ms: REDLATCH_FOREVER, or with a cancel object the call returns REDLATCH_AGAIN after that time while the
 * wait goes on, keeping its place; call again with the same cancel object to go on (the other arguments are then
 * ignored), fire it to end the wait, and call until the answer is no longer AGAIN. Hosts that must check their
 * signals now and then wait this way. Statuses as redlatch_lock_acquire, and CANCELLED, AGAIN, IN_USE. Since 0.1. */
REDLATCH_API int redlatch_lock_acquire_as(redlatch_lock *lock, uint64_t owner, int64_t lease_ms, int64_t wait_ms,
                                          redlatch_cancel *cancel, int64_t max_block_ms);

/* Releases one level. At the last level the lock is free and other waiters are told. NOT_OWNED: not held by this
 * owner. LOST: it was, and was lost; nobody else's hold is touched. If the connection breaks before the reply, the
 * release is sent again, and OK when it finds nothing: it was carried out, or the lock was lost while it was under way,
 * which cannot be told apart. If the connection had already ended, a new one is made first and the answer is certain.
 * NO_REPLY, UNREACHABLE, and transient errors, such as SERVER_OUT_OF_MEMORY: the release goes on in the
 * background for as long as the lease may last, so do not repeat it; after the release of the last level the lock is no
 * longer renewed. Any other error: the last level runs out with its lease, any other level stays held. Also
 * BAD_HANDLE, CLOSED, FORKED, -4xx. Since 0.1. */
REDLATCH_API int redlatch_lock_release(redlatch_lock *lock);

/* Releases one level of an explicit owner (0: the lock's own). Since 0.1. */
REDLATCH_API int redlatch_lock_release_as(redlatch_lock *lock, uint64_t owner);

/* Sets the lease to end lease_ms from now, also if that is sooner than it was; a renewed lock goes on being renewed.
 * Statuses as redlatch_lock_release, and INVALID. Since 0.1. */
REDLATCH_API int redlatch_lock_extend(redlatch_lock *lock, uint64_t owner, int64_t lease_ms);

/* Deletes the lock whoever holds it and wakes waiters. `released_out` (may be NULL) says whether there was one. The
 * holder does not listen: it learns of the loss from its next call on the lock, or from the next renewal, which comes
 * after a third of the watchdog lease (10 s of 30 s); one whose lease is fixed from its release. A side
 * of a read-write lock is left alone while the lock is held for the other; who writes and reads holds it for writing.
 * WRONG_TYPE: the key is no lock of this kind, as a string without a TTL is no plain lock, unless its word is such as
 * redis-py and python-redis-lock write, whose locks may have no lease. Also BAD_HANDLE, CLOSED, FORKED, NO_REPLY,
 * UNREACHABLE, -4xx. Since 0.1. */
REDLATCH_API int redlatch_lock_force_release(redlatch_lock *lock, int32_t *released_out);

/* How an owner stands with a lock, as far as this process knows without asking the server. Since 0.1. */
enum redlatch_hold_state {
    REDLATCH_NOT_HELD = 0,
    REDLATCH_HELD = 1,
    REDLATCH_SUSPECT = 2, /* still ours by the clock, but a renewal is overdue */
    REDLATCH_GONE = 3     /* was held and is lost; release will say LOST */
};

/* Why a hold was lost. Since 0.1. */
enum redlatch_reason {
    REDLATCH_REASON_NONE = 0,
    REDLATCH_REASON_EXPIRED = 1, /* the deadline passed without a confirmed renewal */
    REDLATCH_REASON_MISSING = 2, /* the server no longer knows the hold: deleted, flushed, evicted, restarted, stolen */
    REDLATCH_REASON_MAX_HOLD = 3, /* the lock's max_hold_ms was reached */
    REDLATCH_REASON_ABANDONED = 4 /* the owning thread ended */
};

/* The name of a reason without its prefix, in lower case ("max_hold"); "unknown" for any other number. Static memory.
 * Any thread. Since 0.1. */
REDLATCH_API const char *redlatch_reason_name(int reason);

/* Why the hold was lost of which the calling thread's last failed call said LOST: enum redlatch_reason, NONE if that is
 * not known or another status was the last. redlatch_last_error says it in words. Since 0.1. */
REDLATCH_API int redlatch_last_reason(void);

typedef struct redlatch_hold {
    uint32_t struct_size;
    int32_t state;        /* enum redlatch_hold_state */
    int32_t reason;       /* enum redlatch_reason, when GONE */
    uint32_t count;       /* levels */
    int64_t remaining_ms; /* safe time left, margin deducted, rounded down; 0 unless HELD or SUSPECT */
    uint64_t serial;      /* names this hold, never another, also once GONE; 0 when not held */
    uint64_t token;       /* of a fenced lock: greater than that of every hold before; else 0 */
    char owner[64];       /* owner id in Redis, "uuid:number"; empty when not held. An extension whose reply was
                             lost may change it, where old connections cannot be killed */
} redlatch_hold;

/* Fills `hold_out` (its struct_size must be set) for an owner (0: the lock's own). Sends nothing.
 * INVALID, BAD_HANDLE, CLOSED, FORKED. Since 0.1. */
REDLATCH_API int redlatch_lock_hold(redlatch_lock *lock, uint64_t owner, redlatch_hold *hold_out);

/* What the server says of a lock, whoever holds it. Since 0.1. */
typedef struct redlatch_lock_state {
    uint32_t struct_size;
    int32_t locked;   /* 1 if anybody holds it */
    int64_t ttl_ms;   /* what is left of the lease, at most 10^12; -1: it has none; 0 when not locked */
    uint64_t count;   /* the holder's hold count; of several readers, that of one */
    char owner[128];  /* the holder's id, cut if longer; empty when not locked */
    uint64_t holders; /* how many hold it at once: a read lock may have several */
    uint64_t waiters; /* of a fair lock: how many queue on the server; else 0 */
} redlatch_lock_state;

/* Asks the server. Statuses: INVALID, BAD_HANDLE, CLOSED, FORKED, NO_REPLY, UNREACHABLE, PROTOCOL, -4xx. Since 0.1. */
REDLATCH_API int redlatch_lock_query(redlatch_lock *lock, redlatch_lock_state *state_out);

/* bindings: end */

#ifdef __cplusplus
}
#endif

/* The rest of the interface; each of these may be included alone, too. */
#include "redlatch_events.h"
#include "redlatch_groups.h"
#include "redlatch_latch.h"
#include "redlatch_multi.h"
#include "redlatch_reports.h"
#include "redlatch_semaphores.h"

#endif /* REDLATCH_H */
