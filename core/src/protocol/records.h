/* The records of the protocol layer, and which of them point at which.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   resource   a name and the kind of lock it is used as, as long as a record of this process refers to it
 *     holds    the holds of owners of this process (of a mutex: one alive, others about to end)
 *     queue    the wait queue: waiters of this process, and their subscriptions, as long as there are any; of a fair
 *              lock with the wake-up channels of its waiters
 *   operation  one request of a user: acquire, release, extend, force release, query, inspection, watch, change,
 *              release or extension by owner. Memory of the caller.
 *   command    one script on its way to the server and back. Memory of a pool, as are its entries if it is about
 *              several names.
 *   pipeline   commands to a server in order: those to be written, those without a reply, and those that a broken
 *              connection left in doubt
 *
 * The protocol layer reads no clock, socket or thread, and does not allocate: times come in as microseconds of one
 * clock, memory comes in through the engine's pools. */
#ifndef RECORDS_H
#define RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "list.h"
#include "redlatch.h"
#include "timer_heap.h"

#define MILLISECOND INT64_C(1000)
#define SECOND INT64_C(1000000)

/* If a caller waits for less than this, a missing reply says nothing about the server: the server or this machine may
 * just be busy. */
#define BRIEF_WAIT (100 * MILLISECOND)

/* What a pipeline is for. Blocking and asynchronous calls do not share a connection, so that neither reads the other's
 * replies. Renewals have a connection of their own, so that no slow command delays them. A few callers at once use a
 * pipeline each; more callers share the first. */
enum pipeline_role {
    PIPELINE_CALLERS,
    PIPELINE_HOST,
    PIPELINE_BACKGROUND,
    PIPELINE_CALLERS_SECOND,
    PIPELINE_CALLERS_THIRD,
    PIPELINE_CALLERS_FOURTH,
    PIPELINE_COUNT
};

struct server;

struct pipeline {
    struct server *server;
    enum pipeline_role role;
    struct list unsent;   /* commands to write, in order */
    struct list sent;     /* commands written and not answered, in order */
    struct list in_doubt; /* commands that a broken connection left without a reply, in order */
    uint32_t in_flight;   /* length of `sent` */
    uint32_t unconfirmed; /* how many of them are unconfirmed releases, for whose replies nobody waits */
    uint32_t awaited;     /* how many replies to WAIT and WAITAOF come next; the driver counts them */
};

/* What belongs to one server: the pipelines to it, and what is known of its process. */
struct server {
    struct pipeline pipelines[PIPELINE_COUNT];
    uint64_t known_scripts[2][2]; /* a bit for each script that it is known to have (known_scripts.c); in the second row
                                     for the texts with messages within a shard */
    int64_t verify_after;         /* the end of a connection verifies the holds no sooner than this */
    int64_t since;                /* when the client moved to this process; 0: it has been on no other */
    struct list subscription_changes; /* channels to subscribe to there, or to leave */
    int64_t changes_from;             /* they are not sent before this: see subscription_want_again */
    struct list stale_channels;       /* channels to leave there: their names went to other servers of the cluster */
    int32_t subscriptions;            /* how many are active there */
    bool leave_is_known;              /* it has the script by which waiters leave the queue of a fair lock */
    bool kill_denied;     /* a broken connection could not be killed: commands that were sent on one may arrive late */
    bool shards_messages; /* of a cluster: SPUBLISH and SSUBSCRIBE are used there (routes.h) */
};

enum timer_kind { TIMER_HOLD = 1, TIMER_OPERATION, TIMER_WAIT_QUEUE, TIMER_REFRESH, TIMER_COMMAND };

enum operation_kind {
    OPERATION_ACQUIRE,
    OPERATION_RELEASE,
    OPERATION_EXTEND,
    OPERATION_FORCE,
    OPERATION_QUERY,
    OPERATION_INSPECT,
    OPERATION_WATCH,         /* waits until a name is free, without acquiring it */
    OPERATION_CHANGE,        /* of a count, or a question about one: enum change */
    OPERATION_RELEASE_OWNER, /* of what an owner of any process holds */
    OPERATION_EXTEND_OWNER
};

/* What an operation does to a semaphore or latch with one command, whose reply is a number (change.c). */
enum change {
    SEMAPHORE_TRY_SET = 1,
    SEMAPHORE_ADD,
    SEMAPHORE_RELEASE,
    SEMAPHORE_RELEASE_IF_EXISTS,
    SEMAPHORE_DRAIN,
    SEMAPHORE_COUNT,
    SEMAPHORE_DELETE,
    LATCH_TRY_SET,
    LATCH_COUNT_DOWN,
    LATCH_COUNT,
    LATCH_DELETE,
    PERMITS_TRY_SET,
    PERMITS_SET,
    PERMITS_ADD,
    PERMITS_RELEASE, /* of a permit that another process may have acquired; the same for the next two */
    PERMITS_EXTEND,
    PERMITS_LEASE,
    PERMITS_AVAILABLE,
    PERMITS_TAKEN,
    PERMITS_ALL,
    PERMITS_DELETE,
    CHANGES
};

/* Where an operation stands. An acquire goes QUEUED -> REQUESTING -> PARKED -> REQUESTING ... -> DONE, or HANDED ->
 * DONE, with PAUSED after a transient error. */
enum operation_phase {
    PHASE_NEW,
    PHASE_QUEUED,     /* behind other waiters of this process */
    PHASE_REQUESTING, /* its own command is under way */
    PHASE_PARKED,     /* foremost, waiting for a message or its timer */
    PHASE_PAUSED,     /* foremost, waiting to request again after a transient error */
    PHASE_HANDED,     /* a hand-over to it is under way */
    PHASE_WAITING,    /* waiting until the command of its hold that is under way is done */
    PHASE_DONE
};

enum { ERROR_TEXT_SIZE = 192 };

/* A release was sent twice and finally found nothing: the first sending may have freed the lock. */
#define RESULT_UNKNOWN (-1)

/* The state of a lock on the server, as a query found it. For all operations, error_text has what the server said when
 * it refused one. */
struct lock_answer {
    int64_t ttl_ms;
    uint64_t count;
    uint64_t holders;
    uint64_t waiters; /* of a fair lock */
    bool locked;
    char owner[128];
    char error_text[ERROR_TEXT_SIZE]; /* the error reply, if no message of ours says what is wrong; else empty */
};

/* An argument of a command comes in one part or several, which are written one behind the other. */
struct argument_part {
    const char *text;
    size_t size;
};

struct reply;

/* What an inspection asks, and the functions that take the reply. Memory of the caller, valid until the operation is
 * done. */
struct question {
    const struct argument_part *arguments; /* keys, then arguments, of one part each */
    uint32_t key_count;
    uint32_t argument_count;
    struct server *server; /* of a cluster: the server to ask, and then the one that replied; NULL: that of the first
                              key, or any */
    bool plain;            /* the arguments are a command of Redis, not those of the script */
    bool (*take)(struct question *question, const char *text, size_t size);   /* false without memory */
    bool (*take_other)(struct question *question, const struct reply *reply); /* takes a reply that is no string; NULL:
                                                                                 that is a protocol error */
};

/* The pauses between the requests of an acquire that polls (back_off.c). */
struct back_off {
    uint32_t next_ms;
    uint32_t max_ms;
    uint32_t multiplier;
    uint32_t pauses; /* pauses so far */
};

enum { PERMIT_SIZE = 16 };

/* Several names that are acquired and released together. Memory of the caller, valid until the operation is done. */
struct name_set {
    uint32_t count; /* 1 to ENTRIES_MAX */
    struct set_member {
        struct resource *resource;
        uint8_t lock_kind;
        bool not_reentrant;
        bool token_from_time;
    } members[];
};
/* How many roles a watch may have. A name of unknown kind is watched as a mutex first, then in the role of the kind
 * that it turns out to be. There is a role for each channel on which its release may be published. */
enum { WATCH_ROLES = 5 };

struct operation {
    struct list_link
        link; /* in waiters or watchers of a wait queue, in `waiting` of a hold, or in the engine's finished list */
    struct list_link all;  /* in the engine's list of operations that are not done */
    struct list_link turn; /* watch, acquire of a set: in the list of those that recheck after one event (watch.c) */
    struct timer timer;
    struct resource *resource;
    struct hold *hold;       /* the hold that it works on or waits for, while it does */
    uint32_t granted;        /* asynchronous: how many holds of its grant are neither claimed nor ended */
    struct command *command; /* the command that it waits for */
    struct lock_answer *answer;
    struct question *question;           /* of an inspection */
    const char *owner_id;                /* of RELEASE_OWNER and EXTEND_OWNER, as on the server */
    struct resource *roles[WATCH_ROLES]; /* watch: the name in each of its roles; NULL: it has one role only */
    struct subscription *wake_channel;   /* fair: its wake-up channel; NULL: it is not among the foremost */
    const struct name_set *set; /* acquire, release: of all these names; `resource` is the one waited for. NULL: of one
                                   name */
    uint64_t owner;
    uint64_t id;     /* acquire: the wire number of its request; 0 before the first; of several numbers the first */
    uint64_t serial; /* of the hold that it was granted or found; 0: none; of several permits the first */
    uint64_t wait_number;      /* WAITING: its number among all waits for holds, in order */
    int64_t lease_ms;          /* REDLATCH_RENEWED or a fixed lease */
    int64_t amount;            /* permits, or what a count is set to */
    int64_t limit;             /* acquire of permits: those of a missing semaphore that it creates; 0: none */
    int64_t result;            /* change: the number in the reply; RELEASE_OWNER, EXTEND_OWNER: whether there was a
                                  hold, or RESULT_UNKNOWN */
    int64_t acknowledged;      /* how many replicas acknowledged a grant that was given back because that was too few */
    int64_t max_hold_ms;       /* REDLATCH_FOREVER or a bound */
    int64_t wait_until;        /* the caller's deadline, or NEVER; non-blocking: when its command times out */
    int64_t started_at;        /* when its caller began it */
    int64_t recheck_at;        /* PARKED, PAUSED: when to request again */
    int64_t unusable_since;    /* when the server became unusable for it; 0 while it replies */
    uint32_t seen;             /* the sequence of the wait queue before the last request */
    uint32_t pause_ms;         /* PAUSED: the last pause */
    struct back_off back_off;  /* spin */
    uint32_t batch;            /* fair: the refresh that it was last put into */
    uint32_t departures;       /* fair: the departures of the wait queue before the last request */
    int transient_error;       /* the last transient error */
    int status;                /* valid once DONE */
    int verdict;               /* release of a set: the status as known before the reply */
    uint8_t reason;            /* enum redlatch_reason: why the hold was lost, once DONE with LOST */
    uint32_t contended_member; /* of a set: the last member that was found held */
    uint8_t kind;
    uint8_t lock_kind; /* enum redlatch_kind */
    uint8_t change;    /* enum change */
    uint8_t phase;
    uint8_t pipeline;
    uint8_t reserved_commands;  /* how many commands of the pool are still reserved for it, and so on */
    uint8_t returning_commands; /* how many of its commands are bound in undos, and will be in the pool again */
    uint8_t reserved_wait_queues;
    uint8_t reserved_entries;
    uint32_t reserved_holds;
    bool uses_wait_queue;              /* counted in wait_queue_users of its resource */
    bool non_blocking;                 /* does not wait for others */
    bool brief;                        /* waits so briefly that a missing reply says nothing about the server */
    bool not_reentrant;                /* a re-entry is an error */
    bool token_from_time;              /* fenced: tokens are no smaller than the server's time */
    bool asynchronous;                 /* no thread sleeps in it: the engine ends it at its deadline */
    bool named_owner;                  /* the owner may have several operations at once */
    bool contended;                    /* found the lock held by others */
    bool unanswered;                   /* brief, and timed out before any reply */
    bool forced;                       /* force release: there was a lock */
    bool must_exist;                   /* acquire of permits: ends with NOT_FOUND if the semaphore does not exist */
    bool has_position;                 /* fair: has a position in the server queue, as far as known */
    bool position_in_doubt;            /* fair: a request that got an error may have made a position under `id` */
    bool woken;                        /* fair: woken since the last request */
    unsigned char permit[PERMIT_SIZE]; /* change: the id of the permit, as on the server */
    bool unclaimed;   /* asynchronous: done, and the permits of its grant are to be claimed or given back */
    bool unconfirmed; /* release: done when its command is pushed; a failure is reported as an event of the hold */
};

/* A permit of a permit semaphore is a hold of its own. Its owner is the wire number of this hold with this mark, which
 * no number of a thread or task has. */
#define PERMIT_OWNER (UINT64_C(1) << 63)

enum hold_stage {
    HOLD_ALIVE,
    HOLD_RELEASING, /* the last release is under way; no longer renewed */
    HOLD_GONE       /* lost; kept until a release has reported that to its owner */
};

#define RELEASE_ALL UINT32_MAX

/* A hold of an owner. All commands about it name its wire number, which is used once. */
struct hold {
    struct hold *next; /* of the same resource */
    struct resource *resource;
    struct timer timer;
    struct list_link owned;    /* in the chain of its owner's holds: see engine_owner_end */
    struct list waiting;       /* operations that wait until `busy` is done */
    struct command *busy;      /* its one command that is under way, renewals apart */
    struct command *batch;     /* the renewal under way */
    struct operation *claim;   /* the asynchronous acquire that was granted it; NULL: none, or claimed */
    struct hold *next_loss[5]; /* queues of unreported losses: see enum loss_queue */
    uint64_t owner;
    uint64_t id;            /* the wire number, which an extension may change: see in_doubt.c */
    uint64_t serial;        /* the hold's name for its user: the wire number that it was granted with */
    uint64_t token;         /* fenced: the token of its grant */
    int64_t deadline;       /* end of the safe time */
    int64_t confirmed_at;   /* when the last confirmed grant or renewal was sent */
    int64_t renew_at;       /* next renewal; NEVER when not renewed */
    int64_t separate_until; /* renewed only with holds of its renewal group until then: a batch was refused */
    int64_t max_hold_at;    /* the time at which the hold must be over; NEVER: none */
    int64_t claim_by;
    int64_t release_again_at; /* deferred releases found no memory: when they are sent */
    int64_t lease_ms;         /* of the last grant, renewal or extension */
    int64_t late_ms;          /* how old the last confirmation was at the last late renewal */
    int64_t over_ms;          /* how long after the deadline the loss was found */
    int release_status;       /* why its unconfirmed release failed: enum redlatch_status; OK: it did not */
    uint32_t count;           /* hold count */
    uint32_t renewed_from;    /* the lowest hold count that was acquired without a stated lease; 0: none */
    uint32_t
        deferred_releases;    /* how much of `count` to release in the background when `busy` is done; or RELEASE_ALL */
    uint32_t renewal_group;   /* see separate_until */
    uint32_t hand_overs;      /* how many hand-overs in a row led to this hold */
    int64_t hand_overs_since; /* when the first of them began */
    uint8_t lock_kind;
    uint8_t stage;
    uint8_t reason;
    uint8_t reported;    /* a bit for each loss queue that it is in */
    uint8_t batch_entry; /* its entry in `batch` */
    bool single_grant;   /* one of its acquires was granted by itself */
    bool in_set;         /* one of its acquires was granted as part of a set */
    bool ended;          /* kept only until its loss has been reported */
    bool unconfirmed;    /* RELEASING, and nobody waits for the reply */
    bool command_kept;   /* a command is reserved for its release */
};

enum subscription_state {
    SUBSCRIPTION_NONE,
    SUBSCRIPTION_WANTED, /* requested or to be requested, and not confirmed since the last connection */
    SUBSCRIPTION_ACTIVE,
    SUBSCRIPTION_LEAVING, /* unsubscribed from or about to be, and not confirmed */
    SUBSCRIPTION_DENIED   /* the server's access rules forbid it: waiters poll */
};

/* A channel to which this process is subscribed, wants to be, or was. */
struct subscription {
    struct list_link link;     /* in subscription_changes of its server */
    struct list_link notified; /* in the list of those that a message is for */
    struct list_link sent;     /* in the driver's list of those that the server has not answered */
    struct list_link stale;    /* in stale_channels of a server that still sends its messages */
    struct wait_queue *queue;
    struct server *server;      /* where it is wanted, or was last */
    struct operation *listener; /* fair: the waiter it is for; NULL: that waiter is gone */
    uint64_t waiter; /* fair: the number of the waiter whose wake-up channel it is; 0: it is the channel of the name */
    uint8_t state;
    bool was_active;
};

/* The foremost waiters of a fair lock subscribe to their wake-up channels. More channels may be about to be left. */
enum { LISTENING_WAITERS = 4, WAKE_CHANNELS = 2 * LISTENING_WAITERS, DEPARTED_WAITERS = 16 };

struct wait_queue {
    struct list_link link;                            /* in the engine's pool */
    struct list_link all;                             /* in the engine's list of wait queues */
    struct subscription subscription;                 /* to the channel of the name */
    struct subscription wake_channels[WAKE_CHANNELS]; /* fair: to the wake-up channels of the foremost waiters */
    struct timer timer;                               /* end of the linger time */
    struct timer refresh;                             /* fair: when the positions of its waiters are refreshed */
    uint32_t batches;                                 /* fair: how many refreshes were begun */
    uint32_t departures; /* fair: how many waiters with a position left the queue; below, the numbers of the last */
    uint64_t departed[DEPARTED_WAITERS];
    struct resource *resource;
    struct list waiters;        /* operations; the first is the foremost */
    struct list watchers;       /* watches and sets, which wait beside the queue until the name is free */
    struct command *handing;    /* the hand-over under way */
    struct operation *receiver; /* the waiter that gets it; NULL: that waiter gave up meanwhile */
    int64_t yield_until;        /* no request before this, so that other processes get their turn */
    uint32_t sequence;          /* how many messages it has counted */
    uint32_t waiter_count;
    uint32_t exclusive_count; /* exclusive waiters; the others are concurrent: see struct kind */
    uint32_t named_owners;    /* waiters whose owner may have several operations at once */
    bool yielding;            /* a hold is being released for other processes, instead of being handed over */
};

struct resource {
    struct resource *next; /* in its bucket */
    struct wait_queue *queue;
    struct server *server; /* of a cluster: where its commands go */
    int64_t moved_at;      /* when that changed last; 0: never */
    struct hold *holds;
    uint32_t references;       /* by handles, operations, holds, commands, wait queue */
    uint32_t wait_queue_users; /* operations in progress that may need the wait queue */
    uint32_t refreshes;        /* fair: refreshes of its positions that have no reply yet */
    uint32_t hash;
    uint32_t name_size;
    uint16_t slot;        /* of the name, in a cluster */
    bool channel_in_slot; /* in a cluster: its channels are in that slot, too */
    uint32_t value_count; /* of a group: its values, of GROUP_VALUE_SIZE characters each, are sorted behind the name */
    uint8_t kind;         /* enum redlatch_kind; the modes of a read-write lock share REDLATCH_READ */
    char name[];
};

/* COMMAND_ACQUIRE and so on, and how many there are. */
enum command_kind {
#define COMMAND(constant, ...) COMMAND_##constant,
#include "commands.def"
    COMMAND_KINDS
};

enum { RENEWAL_BATCH_SIZE = 100, BATCHES_TOGETHER = 64, ENTRIES_MAX = REDLATCH_MEMBERS_MAX };

/* The longest array in a reply. For a set of fenced locks it has a number, and a token for each lock. */
enum { REPLY_ELEMENTS_MAX = ENTRIES_MAX + 1 };
_Static_assert((int)RENEWAL_BATCH_SIZE <= (int)REPLY_ELEMENTS_MAX, "a renewal is answered line by line");

/* Fair: whether an acquire wants a position in the server queue, or has one. */
enum queue_position { POSITION_UNWANTED, POSITION_WANTED, POSITION_TAKEN };

struct command {
    struct list_link link; /* in a pipeline or the pool */
    struct server *server; /* where it goes, set when it is pushed */
    struct timer timer;    /* when it is sent again */
    struct resource *resource;
    struct operation *operation; /* the operation that waits for it; NULL: none does any more, or none ever did */
    struct hold *hold;
    uint64_t id;
    uint64_t record_key; /* the number in the key of its record; 0: it has none */
    uint64_t successor;  /* hand-over, move: the wire number of the new owner; read: of the owner's own write lock */
    int64_t lease_ms;
    int64_t wait_ms; /* acquire: ms until the caller's deadline; 0 if it has passed, or if there is none */
    int64_t amount;  /* permits, or what a count is set to */
    int64_t limit;   /* acquire of permits: as of its operation */
    int64_t first_sent_at;
    int64_t shortest_life_ms; /* of its record, as its sendings stated */
    int64_t sent_at;
    int64_t held_since;   /* not sent since then, as the pipeline waits for acknowledgements; 0: not held back */
    int64_t give_up_at;   /* a refused release is not repeated after this; 0: not refused yet */
    int64_t repeat_until; /* retired ids: released every second until then; else 0 */
    uint32_t count; /* reenter, hand-over, move: intended hold count; release: hold count left; refresh: its number */
    uint32_t released_count; /* release: how much it takes from the hold count; an undo takes nothing */
    uint32_t pause_ms;
    uint8_t kind;
    uint8_t lock_kind;
    uint8_t change;                    /* enum change */
    unsigned char permit[PERMIT_SIZE]; /* change: the id of the permit */
    uint8_t pipeline;                  /* enum pipeline_role */
    uint8_t position;                  /* acquire: enum queue_position */
    bool leaves;                       /* release: ends a position, too */
    bool token_from_time;              /* acquire, hand-over of a fenced lock */
    bool was_sent;                     /* sent at least once: the server may run it */
    bool abandoned;                    /* its operation gave up: it is never sent again */
    bool repeated;                     /* sent more than once */
    bool refused;                      /* waits to be sent again after an error reply */
    bool answered;                     /* answered, and no copy of it can arrive any more: its record is not needed */
    bool as_text;                      /* sent as the text of the script, because the server may not have it */
    bool unconfirmed;                  /* an unconfirmed release, or the hand-over that it became */
    bool unwanted;        /* of a hold that was lost and released: what the server still has of it is released, too */
    bool importing;       /* goes behind ASKING to a server that imports its slot; until ASKING is answered */
    uint8_t redirections; /* how often it was redirected since its machine pushed it */
    bool needs_acknowledgement; /* as it was last sent: WAIT or WAITAOF follow it */
    uint32_t batch_count;       /* renewal */
    uint32_t batch_values;      /* renewal: values of groups in all its entries */
    struct renewal *batch;
    uint32_t entry_count;       /* acquire and release of several names */
    uint32_t entry_first;       /* the request is about the entries from this one... */
    uint32_t entry_end;         /* ...to the one before this */
    bool releases_only;         /* of such a release: counts that it was to lower are not lowered any more */
    bool all_may_have_executed; /* of a release with a request for each entry: the request about all may have run */
    struct entries *entries;
};

/* The entries of a command about several names. */
struct entries {
    struct list_link link; /* in the engine's pool */
    struct entry {
        struct hold *hold;     /* raised or lowered by it; NULL: none, or gone meanwhile */
        struct resource *name; /* referenced */
        uint64_t id;
        uint64_t pass;           /* read: the wire number of the owner's own write lock; 0: none */
        uint32_t count;          /* acquire: intended hold count; release: hold count left */
        uint32_t released_count; /* release: how much it takes from the hold count; an undo takes nothing */
        uint32_t seen;           /* acquire: sequence of the name's wait queue before the request */
        uint8_t lock_kind;
        bool token_from_time;
        bool unwanted; /* release: as in struct command */
    } entry[ENTRIES_MAX];
};

/* One entry of a renewal. Its hold may be gone when the reply comes. */
struct renewal {
    struct hold *hold;
    struct resource *name; /* referenced until the reply */
    uint64_t id;
    uint32_t lease_ms; /* 0: the hold is only queried */
    uint8_t lock_kind;
    bool live;    /* the reply is still to be reported to the hold */
    bool expired; /* the hold was lost meanwhile, as its deadline passed: if the server renewed it, it is released */
};

enum reply_kind { REPLY_NIL, REPLY_INTEGER, REPLY_STRING, REPLY_ERROR, REPLY_ARRAY };

struct acknowledgement;

/* A reply of a server. The memory is the parser's. */
struct reply {
    enum reply_kind kind;
    int64_t integer;
    const char *text;
    size_t size;
    const struct reply *elements;
    size_t count;                                  /* 0 unless it is an array */
    const struct acknowledgement *acknowledgement; /* the acknowledgements that followed it (acknowledgement.h); NULL:
                                                      none */
};

#endif
