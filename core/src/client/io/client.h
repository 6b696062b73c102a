/* The inside of a client: one lock around the engine, a connection for each pipeline and one for messages, and a
 * background thread.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Threads. Everything below `mutex` belongs to whoever holds it. A pipeline's connection is read by one thread at a
 * time, the one that has its reader role; only that thread opens, reads or closes it. The role passes: a blocking
 * caller, else the host inside redlatch_client_next_event, else the background thread. Whoever reads steps any machine;
 * callers whose operation is done are woken on a futex of their own, after the mutex has been dropped. */
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

/* One call: the engine's operation and how to wake or notify who made it. On the caller's stack, in a resumable
 * wait, or on the heap for an asynchronous call. */
struct request {
    struct operation operation;
    struct client *client;
    _Atomic uint32_t *futex; /* slept on; own_word, or the cancel object's; odd while the caller is awake, or woken */
    _Atomic uint32_t own_futex;
    struct redlatch_cancel *cancel;
    struct lock_answer answer;
    int64_t wait_ms;             /* how long it is to wait for others */
    struct finding *finding;     /* what a failed one found out for its message; of a started one on the heap. NULL */
    bool inside;                 /* a thread is in it and will read if it is woken */
    struct composite *composite; /* asynchronous, and about all its members: kept; else NULL */
    struct composite_op *op;     /* asynchronous, and part of it; else NULL */
    struct inquiry *inquiry;     /* asynchronous, and what it asks of a name or a page; else NULL */
    uint64_t tag;                /* asynchronous */
    struct list_link tagged;     /* asynchronous acquire or wait: in the client's list for its tag */
    int32_t event;               /* asynchronous: enum redlatch_event_kind */
};

enum { LABEL_SIZE_MAX = 64 };

/* Where a party of a report runs; all zero if unknown. */
struct process_location {
    char host[72];
    char label[72]; /* of its client; empty: none */
    int64_t pid;
};

enum { STAGING_SIZE = 16384, WAKE_MAX = 64, TAG_LISTS = 256 };

/* Left unread for this long although something is under way, a pipeline is read by the background thread. */
#define UNREAD_LIMIT (5 * MILLISECOND)

/* Who reads a pipeline: the table stands in reader.c. */
enum reader {
    READER_NONE,
    READER_COMING,    /* a caller has been woken to take the role */
    READER_CALLER,    /* a blocking call */
    READER_AT_SOCKET, /* the same, which waits for the socket without the mutex */
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
    enum reader reader;    /* who reads; changed by reader.c */
    bool writing;          /* somebody writes, without the mutex; nobody else touches the output then */
    bool wanted;           /* the background thread is to open it ahead of need */
    bool moves;            /* the client is on another server: the connection is given up by who may */
    bool searched;         /* its addresses are those of a search, and were not used since */
    bool must_lookup;      /* addresses that served another pipeline were of no use */
    struct lookup *lookup; /* of the server's name, under way; else NULL */
    int64_t lookup_until;
    bool ended;           /* the background thread has seen the end of the connection, and nobody has read it yet */
    const char *failure;  /* why the connection is to be given up by who may; NULL */
    bool in_set;          /* its descriptor is in the host's pollable set */
    int64_t unread_since; /* nobody reads although something is under way; 0: not so */
    int64_t received_at;  /* when a reply was last complete */
    int64_t doubted_at;   /* of a cluster: when the topology was last searched for since none came */
    struct authentication authentication;
    int64_t starved_until;                  /* there was no memory to write with: to be tried again then; 0: not so */
    struct busy_poll busy_poll;             /* of a reader alone */
    struct yielding yielding;               /* of a reader for many */
    void *kept;                             /* the reply before them, until they have come; NULL: it was handed over */
    struct acknowledgement acknowledgement; /* what they said so far */
    char staging[STAGING_SIZE];             /* the reader's */
};

/* The connection for messages; the background thread's alone. */
struct subscriber {
    struct connection connection;
    struct reply_holder holder;
    struct successor next;
    bool moves;             /* the client is on another server: the connection is to be given up */
    int64_t received_at;    /* when a message was last complete */
    int64_t pinged_at;      /* 0: no reply owed */
    int64_t read_at;        /* more came than one step reads: the rest is not read before; 0: not so */
    bool held;              /* channels wait for server.changes_from */
    struct list unanswered; /* what was sent, by its subscription's link, and the last two of these, in order */
    struct list_link ping;
    struct list_link farewell; /* the oldest UNSUBSCRIBE from a channel whose name went to another node */
};

/* One server that the client has to do with, and the connections to it. */
struct node {
    struct node *next; /* of the same client */
    struct client *client;
    struct server server; /* what the engine knows of it */
    struct current_server current;
    struct pipeline_io ios[PIPELINE_COUNT];
    struct subscriber subscriber;

    /* of a cluster */
    struct endpoint endpoint;
    struct uri where; /* the same, for look-ups and messages */
    struct connection_settings settings;
    bool serves; /* slots, as the routes are now */
    bool served; /* as they were before */
};

/* A loss of a hold of several members, to be told. */
struct loss_event {
    struct loss_event *next;
    redlatch_event event;
};

struct client {
    struct client *next; /* in the process's list */
    _Atomic uint32_t references;
    _Atomic uint32_t fork_generation; /* of the process that it is of; set last (reopen.c) */
    bool refuses_forks;
    enum sharded_messages sharded_messages; /* of a cluster */
    struct inherited_holds inherited;
    atomic_bool closed;
    atomic_bool stopping;
    atomic_bool broken; /* by a defect of ours: its calls are INTERNAL */
    bool busy_poll;
    bool release_on_close;
    bool credentials_change;        /* the host has replaced them once: what is refused now may be let in later */
    char label[LABEL_SIZE_MAX + 1]; /* empty: none */
    int32_t language;               /* enum redlatch_language */
    int64_t command_timeout;        /* microseconds */
    int64_t close_timeout;
    int64_t replica_silence; /* for how long WAIT and WAITAOF may be silent; 0: they are not sent */
    char *name_prefix;
    size_t name_prefix_size;
    struct uri uri;
    char *shown_url;
    struct credentials credentials, sentinel_credentials;
    struct refused_credentials refused;
    struct connection_settings connection_settings;
    struct host_watch host_watch;
    struct listener *listener; /* NULL: the URL names no sentinels */

    pthread_mutex_t mutex;
    struct engine engine;
    struct node node;        /* the server that the URL names; the first of several */
    struct cluster *cluster; /* NULL: the URL is not of a cluster */

    pthread_t background_thread;
    void *(*background_main)(void *client); /* what it does */
    bool background_started;
    bool background_kick; /* to be signalled when the mutex is dropped */
    struct system_signal background_signal;
    int background_alarm;        /* ends its long sleeps; -1: it could not be had */
    int64_t alarm_at;            /* what it is set to; NEVER */
    int64_t background_wakes_at; /* when it will look by itself; 0 while it is awake */
    int64_t unread_until;        /* by then it rechecks whether replies to unconfirmed releases are left unread, so
                                    that not each of these wakes it */

    struct system_signal event_signal; /* open from redlatch_client_event_fd on */
    int event_set;                     /* it and sockets, for the host to poll; -1 before, or without sets */
    bool event_raised;
    bool event_polling;            /* the host is inside redlatch_client_next_event */
    struct list events;            /* completed asynchronous calls */
    struct list tagged[TAG_LISTS]; /* started acquires and waits by tag, until their events are collected */
    char located_uuid[36];         /* the client that was last found to hold what was waited for, and where it runs */
    struct process_location located_at;
    int64_t locations_from;            /* CLIENT LIST is not asked for again before */
    int64_t holders_from;              /* the holder is not asked for after a time-out before */
    int64_t explained_from;            /* nothing is asked for a message before: it was forbidden */
    redlatch_lock_state event_state;   /* the answer that the last event pointed to */
    struct error_text event_errors[2]; /* and its message; of redlatch_client_wait_lost, too: by enum loss_queue */
    _Atomic uint32_t loss_futex;
    atomic_bool losses_watched[2];          /* somebody asks for losses: by enum loss_queue */
    struct loss_event *composite_losses[2]; /* by enum loss_queue; under the mutex of composite_holds.c */
    struct composite_op
        *composite_ops;       /* asynchronous calls over several clients, of which this is the first member's */
    uint32_t callers;         /* blocking calls inside */
    struct yielding yielding; /* of callers who wait for a reader */
    uint32_t crowded;         /* times a caller found no pipeline of its own */

    _Atomic uint32_t *wakes[WAKE_MAX];
    size_t wake_count;
};

/* The connections for commands, of all nodes: client->node.ios is the first, after the last one comes NULL. */
static inline struct pipeline_io *io_next(const struct pipeline_io *io) {
    if (io->pipeline->role + 1 < PIPELINE_COUNT) {
        return &io->node->ios[io->pipeline->role + 1];
    }
    return io->node->next ? io->node->next->ios : NULL;
}

struct client *client_keep(struct client *client);
void client_drop(struct client *client);
int fail_broken(const struct client *client);
int client_status(const struct client *client); /* OK, INTERNAL or CLOSED, with the last error set */

/* Whether it is of the process from which this one was forked, or of one before. */
static inline bool client_is_inherited(const struct client *client) {
    return atomic_load_explicit(&client->fork_generation, memory_order_acquire) != system_fork_generation();
}

/* Frees what the engine has, names and the heap of timers apart, and losses to be told. */
void client_free_records(struct client *client);

/* In the handler of a fork, in the child: closes the copies of the descriptors, by close(2) alone. */
void client_forget_descriptors(struct client *client);

static inline bool client_is_open(const struct client *client) {
    return !atomic_load(&client->closed) && !atomic_load(&client->broken);
}

/* Whether callers beside each other yield, as far as is known: then they share a pipeline. */
static inline bool client_yields(const struct client *client) {
    return client->busy_poll && yielding_pays(&client->yielding);
}

/* Closes a descriptor that is open, and notes that. */
void client_close_descriptor(int *fd);

/* Whether a name can be one of this client's, its prefix included: OK, or INVALID with the last error set. */
int check_name(const struct client *client, const char *name, size_t size);

#endif
