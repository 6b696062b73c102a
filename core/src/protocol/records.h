/* The records of the protocol layer and who points at whom.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   resource   a name and the kind of lock it is used as, while anybody in this process has to do with it
 *     holds    what owners of this process hold of it (a mutex: one alive, others on their way out)
 *     queue    the wait queue: local waiters, and subscriptions to channels, only while there is something to queue or
 *              hear; of a fair lock also where its waiters are called
 *   operation  one call of a user: acquire, release, extend, force release, query, inspection, watch, change. Memory of
 *              the caller.
 *   command    one script on its way to the server and back. Memory of a pool, as is that of its entries when it is
 *              about several names.
 *   pipeline   an ordered way to the server: what is to be written, what is unanswered, what a broken connection left
 *              in doubt
 *
 * Nothing here reads a clock, a socket or a thread, or allocates: times come in as microseconds of one clock, memory
 * comes in through the engine's pools. */
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

/* Whoever waits for less than this learns nothing about the server: it may as well be busy, or this machine may. */
#define BRIEF_WAIT (100 * MILLISECOND)

/* Ways to the server. Blocking calls and asynchronous ones do not share a connection, so that neither reads the
 * other's replies; renewals have their own, so that no slow command delays them. A few callers at once each use a
 * pipeline alone; more of them share the first. */
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
    uint32_t unconfirmed; /* how many of them are unconfirmed releases: nobody waits for their replies */
    uint32_t awaited;     /* replies to WAIT and WAITAOF that come next: the driver counts them */
};

/* What belongs to one server: the pipelines to it, and what is known of its process. */
struct server {
    struct pipeline pipelines[PIPELINE_COUNT];
    uint64_t known_scripts[2][2]; /* those that it has, of what must not fail for want of its script (known_scripts.c):
                                     a bit for each; in the second row those for messages within a shard */
    int64_t verify_after;         /* when holds may be verified again because a connection ended */
    int64_t since;                /* when the client moved to this process; 0: it has been on no other */
    struct list subscription_changes; /* channels to be subscribed to there, or left */
    int64_t changes_from;             /* these are not sent before: see subscription_want_again */
    struct list stale_channels;       /* to be left there, as their names went to other servers of the cluster */
    int32_t subscriptions;            /* that are active there */
    bool leave_is_known;              /* it has the script by which waiters leave the queue of a fair lock */
    bool kill_denied;                 /* a broken connection could not be killed: what was sent on one may come late */
    bool shards_messages;             /* of a cluster: SPUBLISH and SSUBSCRIBE are used there (routes.h) */
};

enum timer_kind { TIMER_HOLD = 1, TIMER_OPERATION, TIMER_WAIT_QUEUE, TIMER_REFRESH, TIMER_COMMAND };

enum operation_kind {
    OPERATION_ACQUIRE,
    OPERATION_RELEASE,
    OPERATION_EXTEND,
    OPERATION_FORCE,
    OPERATION_QUERY,
    OPERATION_INSPECT,
    OPERATION_WATCH,         /* until a name is free, without taking it */
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
    PERMITS_RELEASE, /* of one that another process may have taken, as the next two */
    PERMITS_EXTEND,
    PERMITS_LEASE,
    PERMITS_AVAILABLE,
    PERMITS_TAKEN,
    PERMITS_ALL,
    PERMITS_DELETE,
    CHANGES
};

/* Where an operation stands. An acquire walks
 *   QUEUED -> REQUESTING -> PARKED -> REQUESTING ... -> DONE, or HANDED -> DONE, with PAUSED after a transient error.
 */
enum operation_phase {
    PHASE_NEW,
    PHASE_QUEUED,     /* behind other waiters of this process */
    PHASE_REQUESTING, /* its own command is under way */
    PHASE_PARKED,     /* foremost, waiting for a message or its timer */
    PHASE_PAUSED,     /* foremost, waiting to try again after the server could not be used */
    PHASE_HANDED,     /* a hand-over that names it is under way */
    PHASE_WAITING,    /* until the in doubt command of its hold is settled */
    PHASE_DONE
};

enum { ERROR_TEXT_SIZE = 192 };

/* A release was sent twice, and found nothing at last: it may have been the first one that freed the lock. */
#define RESULT_UNKNOWN (-1)

/* How a lock stands with the server, the reply to a query; of any call what the server said when it refused it. */
struct lock_answer {
    int64_t ttl_ms;
    uint64_t count;
    uint64_t holders;
    uint64_t waiters; /* of a fair lock */
    bool locked;
    char owner[128];
    char error_text[ERROR_TEXT_SIZE]; /* the server's words where no sentence of ours says what is wrong; else empty */
};

/* An argument of a command comes in up to three parts that belong together. */
struct argument_part {
    const char *text;
    size_t size;
};

struct reply;

/* What an inspection asks and who takes the reply: memory of the caller, who is gone when the operation is. */
struct question {
    const struct argument_part *arguments; /* keys, then arguments, of one part each */
    uint32_t key_count;
    uint32_t argument_count;
    struct server *server; /* of a cluster, who replies; NULL: whoever has the first key, or anybody */
    bool plain;            /* the words are a command of the server's own, not arguments of the script */
    bool (*take)(struct question *question, const char *text, size_t size);   /* false: no memory */
    bool (*take_other)(struct question *question, const struct reply *reply); /* a reply that is no text; NULL: an error
                                                                                 of the protocol */
};

/* The pauses between the looks of one acquire of a spin lock (back_off.c). */
struct back_off {
    uint32_t next_ms;
    uint32_t max_ms;
    uint32_t multiplier;
    uint32_t pauses; /* pauses so far */
};

enum { PERMIT_SIZE = 16 };

/* Several names that are acquired and released together. Memory of the caller, who is gone when the operation is. */
struct name_set {
    uint32_t count; /* 1 to ENTRIES_MAX */
    struct set_member {
        struct resource *resource;
        uint8_t lock_kind;
        bool not_reentrant;
        bool token_from_time;
    } members[];
};
/* A name of unknown kind is watched as a mutex at first, then as what it is: by how many channels it may be told of. */
enum { WATCH_ROLES = 5 };

struct operation {
    struct list_link
        link; /* in the wait queue's queue, its watchers, those waiting for a hold, or the engine's finished list */
    struct list_link all; /* in the engine's list of operations under way */
    struct timer timer;
    struct resource *resource;
    struct hold *hold;       /* the hold it works on, while it does */
    uint32_t granted;        /* asynchronous: holds it was granted that are neither claimed nor ended */
    struct command *command; /* under way for it */
    struct lock_answer *answer;
    struct question *question;           /* of an inspection */
    const char *owner_id;                /* of RELEASE_OWNER and EXTEND_OWNER, as it stands on the server */
    struct resource *roles[WATCH_ROLES]; /* watch: the name as each kind it may be found to be; NULL: as one only */
    struct subscription *wake_channel;   /* fair: where it is called; NULL: it is not among the foremost */
    const struct name_set *set; /* acquire, release: of all of these; `resource` is the one waited for. NULL: of one */
    uint64_t owner;
    uint64_t id;               /* acquire: the wire number asked with; 0 before the first; of several the first */
    uint64_t serial;           /* of the hold it got or met; 0: none; of several permits the first */
    int64_t lease_ms;          /* REDLATCH_RENEWED or a fixed lease */
    int64_t amount;            /* permits, or what a count is set to */
    int64_t limit;             /* acquire of permits: what a semaphore that does not exist is made with; 0: it is not */
    int64_t result;            /* change: the number answered; RELEASE_OWNER: RESULT_UNKNOWN, or as EXTEND_OWNER whether
                                  there was a hold */
    int64_t acknowledged;      /* replicas that had what was given back as too few had it */
    int64_t max_hold_ms;       /* REDLATCH_FOREVER or a bound */
    int64_t wait_until;        /* the caller's deadline, NEVER without end; a try: its command time-out */
    int64_t recheck_at;        /* PARKED, PAUSED: when to ask again */
    int64_t unusable_since;    /* when the server became unusable for it; 0 while it answers */
    uint32_t seen;             /* messages of the wait queue before the last ask */
    uint32_t pause_ms;         /* PAUSED: the last back-off */
    struct back_off back_off;  /* spin */
    uint32_t batch;            /* fair: the refresh that it was last put into */
    uint32_t departures;       /* fair: those of the wait queue before the last ask */
    int transient_error;       /* the last transient error */
    int status;                /* valid once DONE */
    int verdict;               /* release of a set: what is known before the server answers */
    uint8_t reason;            /* enum redlatch_reason: why the hold was lost, once DONE with LOST */
    uint32_t contended_member; /* of a set: the last one that was found held */
    uint8_t kind;
    uint8_t lock_kind; /* enum redlatch_kind */
    uint8_t change;    /* enum change */
    uint8_t phase;
    uint8_t pipeline;
    uint8_t reserved_commands;  /* how many pool commands are still set aside for it, and so on */
    uint8_t returning_commands; /* how many of them are bound in undos, and will be in the pool again */
    uint8_t reserved_wait_queues;
    uint8_t reserved_entries;
    uint32_t reserved_holds;
    bool uses_wait_queue;              /* counted in its resource's contenders */
    bool non_blocking;                 /* does not wait for others */
    bool brief;                        /* waits for so short that a missing reply says nothing about the server */
    bool not_reentrant;                /* a hold that the owner has already is an error */
    bool token_from_time;              /* fenced: tokens are no smaller than the server's time */
    bool asynchronous;                 /* nobody sleeps in it: its time-out is the engine's business */
    bool named_owner;                  /* the owner may have several operations at once */
    bool contended;                    /* was told that somebody holds the lock */
    bool unanswered;                   /* brief, and timed out before the server said anything */
    bool forced;                       /* force release: there was a lock */
    bool must_exist;                   /* acquire of permits: a semaphore that does not exist is not waited for */
    bool has_position;                 /* fair: stands in the server's queue, as far as is known */
    bool woken;                        /* fair: since the last ask */
    unsigned char permit[PERMIT_SIZE]; /* change: which, as it stands on the server */
    bool unclaimed;   /* asynchronous: done, and permits it was granted are to be collected or given back */
    bool unconfirmed; /* release: done when its command is on its way; what the reply says is reported of the hold */
};

/* A permit of a permit semaphore is a hold of its own; its owner is the number of this hold, so marked that it is no
 * number of a thread or task. */
#define PERMIT_OWNER (UINT64_C(1) << 63)

enum hold_stage {
    HOLD_ALIVE,
    HOLD_RELEASING, /* the last release is under way; no longer renewed */
    HOLD_GONE       /* lost; kept until its owner has been told by release */
};

#define RELEASE_ALL UINT32_MAX

/* An owner's hold. Everything of a hold hangs on its wire number, which is used once. */
struct hold {
    struct hold *next; /* of the same resource */
    struct resource *resource;
    struct timer timer;
    struct list_link owned;    /* beside the other holds of its owner: see engine_owner_end */
    struct list waiting;       /* operations that wait for `busy` to be settled */
    struct command *busy;      /* the one in doubt command, renewals apart */
    struct command *batch;     /* the renewal under way */
    struct operation *claim;   /* granted asynchronously and not collected yet */
    struct hold *next_loss[4]; /* queues of unreported losses: see enum loss_queue */
    uint64_t owner;
    uint64_t id;          /* the wire number, which an extension may change: see in_doubt.c */
    uint64_t serial;      /* the hold's name for its user: the wire number it was granted with */
    uint64_t token;       /* fenced: the one this hold was granted with */
    int64_t deadline;     /* safe until then */
    int64_t confirmed_at; /* when the last confirmed grant or renewal was sent */
    int64_t renew_at;     /* next renewal; NEVER when not renewed */
    int64_t max_hold_at;  /* NEVER or the time the hold must be over */
    int64_t claim_by;
    int64_t lease_ms;      /* of the last grant, renewal or extension */
    int64_t late_ms;       /* how old the last confirmation was at the last late renewal */
    int64_t over_ms;       /* for how long the lease was over when the hold was found lost */
    int release_status;    /* why its unconfirmed release failed: enum redlatch_status; OK: it did not */
    uint32_t count;        /* levels */
    uint32_t renewed_from; /* lowest level taken without a lease; 0: none */
    uint32_t
        deferred_releases;    /* levels to be released in the background as soon as `busy` is settled, or RELEASE_ALL */
    uint32_t hand_overs;      /* hand-overs in a row that led here */
    int64_t hand_overs_since; /* when the first of them began */
    uint8_t lock_kind;
    uint8_t stage;
    uint8_t reason;
    uint8_t reported;    /* bit per loss queue it stands in */
    uint8_t batch_entry; /* its line in `batch` */
    bool single_grant;   /* some level was granted by itself */
    bool in_set;         /* some level was granted as part of a set */
    bool ended;          /* kept only until its loss has been reported */
    bool unconfirmed;    /* RELEASING, and nobody waits for the reply */
    bool command_kept;   /* a command is set aside to give it back with */
};

enum subscription_state {
    SUBSCRIPTION_NONE,
    SUBSCRIPTION_WANTED, /* asked for, not confirmed since the last connection */
    SUBSCRIPTION_ACTIVE,
    SUBSCRIPTION_LEAVING, /* unsubscribed from, not confirmed */
    SUBSCRIPTION_DENIED   /* the server's access rules forbid it: waiters poll */
};

/* A channel that somebody of this process wants to hear. */
struct subscription {
    struct list_link link;     /* in the engine's list of subscriptions to change */
    struct list_link notified; /* in the list of those that a message is for */
    struct list_link sent;     /* in the driver's list of what the server has not answered */
    struct list_link stale;    /* in the list of a server where it is still heard */
    struct wait_queue *queue;
    struct server *server;      /* where it is wanted, or was last */
    struct operation *listener; /* fair: the waiter it is for; NULL: gone */
    uint64_t waiter;            /* fair: the number of the waiter whose own channel it is; 0: the channel of the name */
    uint8_t state;
    bool was_active;
};

/* The foremost waiters of a fair lock hear their own channels; more of these may be on their way out. */
enum { LISTENING_WAITERS = 4, WAKE_CHANNELS = 2 * LISTENING_WAITERS, DEPARTED_WAITERS = 16 };

struct wait_queue {
    struct list_link link;                            /* in the engine's pool */
    struct list_link all;                             /* in the engine's list of wait queues */
    struct subscription subscription;                 /* to the channel of the name */
    struct subscription wake_channels[WAKE_CHANNELS]; /* fair: to the channels of the foremost waiters */
    struct timer timer;                               /* end of the linger time */
    struct timer refresh;                             /* fair: when those behind the foremost are to be refreshed */
    uint32_t batches;                                 /* fair: refreshes sent */
    uint32_t departures; /* fair: waiters with a place who left the queue, and the numbers of the last of them */
    uint64_t departed[DEPARTED_WAITERS];
    struct resource *resource;
    struct list waiters;        /* operations; the first is the foremost */
    struct list watchers;       /* operations that wait for the name to be free, beside the queue */
    struct command *handing;    /* the hand-over under way */
    struct operation *receiver; /* who will get it; NULL when it gave up meanwhile */
    int64_t yield_until;        /* no attempt before, so that other processes get their turn */
    uint32_t sequence;          /* messages heard */
    uint32_t waiter_count;
    uint32_t exclusive_count; /* waiters who go alone; others may go together: see struct kind */
    uint32_t named_owners;    /* waiters whose owner may have several operations at once */
    bool yielding;            /* a release with message was owed to other processes; wait for its echo */
};

struct resource {
    struct resource *next; /* in its bucket */
    struct wait_queue *queue;
    struct server *server; /* of a cluster, where its commands go, and since when; 0: they have gone nowhere else */
    int64_t moved_at;
    struct hold *holds;
    uint32_t references;       /* handles, operations, holds, commands, wait queue */
    uint32_t wait_queue_users; /* operations under way that may need the wait queue */
    uint32_t hash;
    uint32_t name_size;
    uint16_t slot;        /* of the name, in a cluster */
    bool channel_in_slot; /* in a cluster: its channels are in that slot, too */
    uint32_t value_count; /* of a group: its values, GROUP_VALUE_SIZE characters each, sorted, stand behind the name */
    uint8_t kind;         /* enum redlatch_kind; the sides of a read-write lock share REDLATCH_READ */
    char name[];
};

/* COMMAND_ACQUIRE and so on, and how many there are. */
enum command_kind {
#define COMMAND(constant, ...) COMMAND_##constant,
#include "commands.def"
    COMMAND_KINDS
};

enum { RENEWAL_BATCH_SIZE = 100, BATCHES_TOGETHER = 64, ENTRIES_MAX = REDLATCH_MEMBERS_MAX };

/* The longest array that a script answers with: of a set of fenced locks a word, and a token for each. */
enum { REPLY_ELEMENTS_MAX = ENTRIES_MAX + 1 };
_Static_assert((int)RENEWAL_BATCH_SIZE <= (int)REPLY_ELEMENTS_MAX, "a renewal is answered line by line");

/* Fair: how an acquire stands to the server's queue. */
enum queue_position { POSITION_UNWANTED, POSITION_WANTED, POSITION_TAKEN };

struct command {
    struct list_link link; /* in a pipeline or the pool */
    struct server *server; /* that it goes to, since it was pushed */
    struct timer timer;    /* to be sent again then */
    struct resource *resource;
    struct operation *operation; /* who waits for it; NULL: nobody does any more, or nobody ever did */
    struct hold *hold;
    uint64_t id;
    uint64_t record_key; /* the number in the key of its record; 0: it has none */
    uint64_t successor;  /* hand-over, move: the wire number of the new owner; read: of the owner's own write lock */
    int64_t lease_ms;
    int64_t wait_ms; /* acquire: what is left of the caller's deadline; 0 if it is over, or without end */
    int64_t amount;  /* permits, or what a count is set to */
    int64_t limit;   /* acquire of permits: as of its operation */
    int64_t first_sent_at;
    int64_t sent_at;
    int64_t held_since;      /* not sent since then, as the pipeline waits for acknowledgements; 0: not held back */
    int64_t give_up_at;      /* a refused release is not repeated after this; 0: not refused yet */
    int64_t repeat_until;    /* retired ids: released every second until then; else 0 */
    uint32_t count;          /* reenter, hand-over, move: intended levels; release: levels left; refresh: its number */
    uint32_t released_count; /* release: how many it takes; an undo takes none */
    uint32_t pause_ms;
    uint8_t kind;
    uint8_t lock_kind;
    uint8_t change;                    /* enum change */
    unsigned char permit[PERMIT_SIZE]; /* change: which */
    uint8_t pipeline;                  /* enum pipeline_role */
    uint8_t position;                  /* acquire: enum queue_position */
    bool leaves;                       /* release: leaves the queue, too */
    bool token_from_time;              /* acquire, hand-over of a fenced lock */
    bool was_sent;                     /* at least once: the server may carry it out */
    bool abandoned;                    /* gave up on: never to be sent again */
    bool repeated;                     /* sent more than once */
    bool answered;                     /* and no copy of it can arrive any more: nothing will ask for its record */
    bool as_text;                      /* the server does not have the script */
    bool unconfirmed;                  /* an unconfirmed release, or the hand-over that it became */
    bool importing;             /* ASKING goes before it, to a server that imports its slot; until that is answered */
    uint8_t redirections;       /* since its machine pushed it */
    bool needs_acknowledgement; /* as it was last sent: WAIT or WAITAOF follow it */
    uint32_t batch_count;       /* renewal */
    uint32_t batch_values;      /* of groups, in all its lines */
    struct renewal *batch;
    uint32_t entry_count; /* acquire and release of several names */
    struct entries *entries;
};

/* The lines of a command about several names. */
struct entries {
    struct list_link link; /* in the engine's pool */
    struct entry {
        struct hold *hold;     /* raised or lowered by it; NULL: none, or gone meanwhile */
        struct resource *name; /* counted */
        uint64_t id;
        uint64_t pass;           /* read: the wire number of the owner's own write lock; 0: none */
        uint32_t count;          /* acquire: intended levels; release: levels left */
        uint32_t released_count; /* release: how many it takes; an undo takes none */
        uint32_t seen;           /* acquire: messages of the name's wait queue before it was sent */
        uint8_t lock_kind;
        bool token_from_time;
    } entry[ENTRIES_MAX];
};

/* One line of a renewal: the hold it was for may be gone when the reply comes. */
struct renewal {
    struct hold *hold;
    struct resource *name; /* counted until the reply */
    uint64_t id;
    uint32_t lease_ms; /* 0: only asked about */
    uint8_t lock_kind;
    bool live;    /* still to be reported to the hold */
    bool expired; /* the hold was lost meanwhile by its clock alone: what was renewed all the same is released */
};

enum reply_kind { REPLY_NIL, REPLY_INTEGER, REPLY_STRING, REPLY_ERROR, REPLY_ARRAY };

struct acknowledgement;

/* A server's reply, borrowed from whoever parsed it. */
struct reply {
    enum reply_kind kind;
    int64_t integer;
    const char *text;
    size_t size;
    const struct reply *elements;
    size_t count;                                  /* 0 unless it is an array */
    const struct acknowledgement *acknowledgement; /* what followed it (acknowledgement.h); NULL: nothing */
};

#endif
