/* The inside of a client: one mutex around the engine, a connection for each pipeline and one for messages, and a
 * background thread.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Threads. The fields below `mutex` are used with the mutex held. One thread at a time reads a pipeline's connection:
 * the thread that has the reader role. While a thread has the role, no other thread opens, reads or closes the
 * connection. A blocking caller reads the callers' pipelines, and the host inside redlatch_client_next_event reads its
 * own. The background thread reads its own, and those that are left unread. The reader steps the machines of all
 * callers. A caller whose operation is done is woken on its own futex, after the mutex was dropped. */
#ifndef CLIENT_H
#define CLIENT_H

#include <pthread.h>
#include <stdatomic.h>

#include "acknowledgement.h"
#include "authentication.h"
#include "connection.h"
#include "current_server.h"
#include "engine.h"
#include "errors.h"
#include "host_watch.h"
#include "inherited.h"
#include "listener.h"
#include "parsed.h"
#include "adaptive_spin.h"
#include "successor.h"
#include "system.h"

struct redlatch_cancel;

/* One call: the engine's operation, and how its caller is woken or gets its event. It is on the caller's stack, in a
 * resumable wait, or on the heap for an asynchronous call. */
struct request {
    struct operation operation;
    struct client *client;
    _Atomic uint32_t *futex; /* the caller sleeps on it: own_futex, or the cancel object's; odd while the caller is
                                awake or woken */
    _Atomic uint32_t own_futex;
    struct redlatch_cancel *cancel;
    struct lock_answer answer;
    int64_t wait_ms;             /* how long it is to wait for others */
    struct finding *finding;     /* what the explanation of a failure found; of a started call on the heap; NULL if
                                    there is none */
    bool inside;                 /* a thread drives the call, and becomes the reader if it is woken */
    struct composite *composite; /* asynchronous, on a composite lock of one client: kept; else NULL */
    struct composite_op *op;     /* asynchronous, part of a composite operation; else NULL */
    struct inquiry *inquiry;     /* asynchronous: its question about a name or a page of a scan; else NULL */
    uint64_t tag;                /* asynchronous */
    struct list_link tagged;     /* asynchronous acquire or wait: in the client's list for its tag */
    int32_t event;               /* asynchronous: enum redlatch_event_kind */
};

enum { LABEL_SIZE_MAX = 64 };

/* Where a party of a report runs. All fields are zero if that is unknown. */
struct process_location {
    char host[72];
    char label[72]; /* of its client; empty if it has none */
    int64_t pid;
};

enum { STAGING_SIZE = 16384, WAKE_MAX = 64, TAG_LISTS = 256 };

/* The background thread reads a pipeline that has something under way and was not read for this long. */
#define UNREAD_LIMIT (5 * MILLISECOND)

/* Who reads a pipeline. The table at the head of reader.c has the transitions. */
enum reader {
    READER_NONE,
    READER_COMING,    /* a caller was woken to take the role */
    READER_CALLER,    /* a blocking call */
    READER_AT_SOCKET, /* a blocking call that waits for the socket without the mutex */
    READER_COMPOSITE, /* a thread that waits for several clients */
    READER_BACKGROUND /* the background thread */
};

/* A pipeline's connection and who reads it. */
struct pipeline_io {
    struct client *client;
    struct node *node;
    struct pipeline *pipeline;
    struct connection connection;
    struct reply_holder holder;
    enum reader reader; /* who reads; only reader.c changes it */
    bool writing;       /* a thread writes without the mutex; until it is done, no other thread touches the output */
    bool wanted;        /* the background thread is to open it before an operation needs it */
    bool moves;         /* the client moved: the thread that reads or writes this connection closes it */
    bool searched;      /* a search found its addresses; since then no connection stood and no failure was reported */
    bool must_lookup;   /* its addresses are to be looked up anew, not taken from another pipeline */
    struct lookup *lookup; /* the lookup of the server's name under way; else NULL */
    int64_t lookup_until;
    bool ended;           /* the background thread saw the end of the connection, and no thread has read it since */
    const char *failure;  /* why the thread that reads or writes is to give the connection up; else NULL */
    bool in_set;          /* its descriptor is in the host's pollable set */
    int64_t unread_since; /* since when no thread reads although something is under way; else 0 */
    int64_t received_at;  /* when the last reply was complete */
    int64_t doubted_at;   /* of a cluster: when the topology was last requested because no reply came */
    struct authentication authentication;
    int64_t starved_until;      /* there was no memory to write with: writing is tried again then; else 0 */
    struct busy_poll busy_poll; /* of a reader that is the only caller */
    struct yielding yielding;   /* of a reader among several callers */
    void *kept;                 /* a reply that is kept until those to its WAIT and WAITAOF have come; else NULL */
    struct acknowledgement acknowledgement; /* what those said so far */
    char staging[STAGING_SIZE];             /* used by the reader */
};

/* The connection for messages. Only the background thread opens, reads and closes it. */
struct subscriber {
    struct connection connection;
    struct reply_holder holder;
    struct successor next;
    bool moves;             /* the client moved to another server: this connection is to be given up */
    int64_t received_at;    /* when the last message was complete */
    int64_t pinged_at;      /* when a PING was sent; 0: no reply to one is due */
    int64_t read_at;        /* a step read its whole buffer: the next read is not before; else 0 */
    bool held;              /* changes wait for server.changes_from */
    struct list unanswered; /* in order: the subscriptions, by their link `sent`, and the two links below, whose
                               commands the server has not answered */
    struct list_link ping;
    struct list_link farewell; /* the oldest unanswered UNSUBSCRIBE from a channel whose name went to another node */
};

/* One server that the client uses, and the connections to it. */
struct node {
    struct node *next; /* in the client's list */
    struct client *client;
    struct server server; /* what the engine knows of the server */
    struct current_server current;
    struct pipeline_io ios[PIPELINE_COUNT];
    struct subscriber subscriber;

    /* of a cluster */
    struct endpoint endpoint;
    struct uri where; /* the same, for lookups and messages */
    struct connection_settings settings;
    bool serves; /* has slots, by the current routes */
    bool served; /* had slots at the last io_follow_routes */
};

/* The loss of a composite lock's hold, not reported yet. */
struct loss_event {
    struct loss_event *next;
    redlatch_event event;
};

struct client {
    struct client *next; /* in the process's list */
    _Atomic uint32_t references;
    _Atomic uint32_t fork_generation; /* of the process that the client belongs to; set last (reopen.c) */
    bool refuses_forks;
    enum sharded_messages sharded_messages; /* of a cluster */
    struct inherited_holds inherited;
    atomic_bool closed;
    atomic_bool stopping;
    atomic_bool broken; /* an invariant failed: all calls return INTERNAL */
    bool busy_poll;
    bool release_on_close;
    bool credentials_change;        /* the host has changed the credentials before: those that the server refuses now,
                                       it may accept later */
    char label[LABEL_SIZE_MAX + 1]; /* empty if there is none */
    int32_t language;               /* enum redlatch_language */
    int64_t command_timeout;        /* microseconds */
    int64_t close_timeout;
    int64_t replica_silence; /* how long the server may be silent for WAIT and WAITAOF; 0 if they are not sent */
    char *name_prefix;
    size_t name_prefix_size;
    struct uri uri;
    char *shown_url;
    struct credentials credentials, sentinel_credentials;
    struct refused_credentials refused;
    struct connection_settings connection_settings;
    struct host_watch host_watch;
    struct listener *listener; /* NULL if the URL names no sentinels */

    pthread_mutex_t mutex;
    struct engine engine;
    struct node node;        /* the server that the URL names; of a cluster the first node, see cluster.h */
    struct cluster *cluster; /* NULL if the URL is not of a cluster */

    pthread_t background_thread;
    void *(*background_main)(void *client); /* the function that the thread runs */
    bool background_started;
    bool background_kick; /* the thread is to be signalled when the mutex is dropped */
    struct system_signal background_signal;
    int background_alarm;        /* ends the thread's long sleeps; -1 if there is none */
    int64_t alarm_at;            /* the time that it is set to; NEVER if it is not set */
    int64_t background_wakes_at; /* when the thread will wake by itself; 0 while it is awake */
    int64_t unread_until;        /* the thread wakes by then to check that no replies to unconfirmed releases are left
                                    unread, so not each release has to kick it */

    struct system_signal event_signal; /* open since redlatch_client_event_fd */
    int event_set;                     /* the set that the host polls: event_signal and sockets; -1 before, and where
                                          the system has no sets */
    bool event_raised;
    bool event_polling;            /* a thread is inside redlatch_client_next_event */
    struct list events;            /* completed asynchronous calls */
    struct list tagged[TAG_LISTS]; /* started acquires and waits, by tag, until their events are collected */
    char located_uuid[36]; /* the uuid of the client that an explanation located last; located_at is where that runs */
    struct process_location located_at;
    int64_t locations_from;            /* no CLIENT LIST is requested before */
    int64_t holders_from;              /* no explanation of a timeout asks for the holder before */
    int64_t explained_from;            /* no explanation is requested before: the server denied one */
    redlatch_lock_state event_state;   /* the state that the last event points to */
    struct error_text event_errors[2]; /* the messages of the last event and of redlatch_client_wait_lost: by enum
                                          loss_queue */
    _Atomic uint32_t loss_futex;
    atomic_bool losses_watched[2];          /* the host asks for losses: by enum loss_queue */
    struct loss_event *composite_losses[2]; /* by enum loss_queue; under the mutex of composite_holds.c */
    struct composite_op
        *composite_ops;       /* asynchronous composite operations on locks whose first member is of this client */
    uint32_t callers;         /* calls that have entered and not left */
    struct yielding yielding; /* of callers that wait for a reader */
    uint32_t crowded;         /* callers that found no free pipeline since a further connection was last requested */

    _Atomic uint32_t *wakes[WAKE_MAX];
    size_t wake_count;
};

/* Returns the next command connection. client->node.ios is the first of a client's. Returns NULL after the last one of
 * the last node. */
static inline struct pipeline_io *io_next(const struct pipeline_io *io) {
    if (io->pipeline->role + 1 < PIPELINE_COUNT) {
        return &io->node->ios[io->pipeline->role + 1];
    }
    return io->node->next ? io->node->next->ios : NULL;
}

struct client *client_keep(struct client *client);
void client_drop(struct client *client);
int fail_broken(const struct client *client);
int client_status(const struct client *client); /* OK, INTERNAL or CLOSED; sets the last error */

/* Returns whether the client belongs to an ancestor of this process: it was inherited by fork. */
static inline bool client_is_inherited(const struct client *client) {
    return atomic_load_explicit(&client->fork_generation, memory_order_acquire) != system_fork_generation();
}

/* Frees the engine's records except the names and the timer heap. Frees losses that were not reported. */
void client_free_records(struct client *client);

/* Closes the child's copies of the descriptors. Runs in the child's fork handler, so it calls close(2) only. */
void client_forget_descriptors(struct client *client);

static inline bool client_is_open(const struct client *client) {
    return !atomic_load(&client->closed) && !atomic_load(&client->broken);
}

/* Returns whether concurrent callers yield before they sleep, because it paid lately. If so, they share a pipeline. */
static inline bool client_yields(const struct client *client) {
    return client->busy_poll && yielding_pays(&client->yielding);
}

/* Closes the descriptor if it is open, and sets it to -1. */
void client_close_descriptor(int *fd);

/* Checks that a name, with this client's prefix, has an allowed size. Returns OK, or INVALID with the last error
 * set. */
int check_name(const struct client *client, const char *name, size_t size);

#endif
