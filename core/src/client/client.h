/* The inside of a client: one lock around the engine, three pipelines with a connection each, a subscriber, a
 * background thread thread. SPDX-License-Identifier: Apache-2.0
 *
 * Threads. Everything below `mutex` belongs to whoever holds it. A pipeline's connection is read by one thread at a
 * time, the one that has its reader role; only that thread opens, reads or closes it. The role passes: a blocking
 * caller, else the host inside redlatch_client_next_event, else the background thread. Whoever reads steps any machine;
 * callers whose operation is done are woken on a word of their own, after the mutex has been dropped. */
#ifndef CLIENT_H
#define CLIENT_H

#include <pthread.h>
#include <stdatomic.h>

#include "connection.h"
#include "engine.h"
#include "errors.h"
#include "parsed.h"
#include "adaptive_spin.h"
#include "system.h"

struct redlatch_cancel;

/* One call: the engine's operation and how to wake or notify who made it. On the caller's stack, in a cancel object
 * while the wait is sliced, or on the heap for an asynchronous call. */
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
    int32_t event;               /* asynchronous: enum redlatch_event_kind */
};

/* Where a party of a report runs; all zero if unknown. */
struct process_location {
    char host[72];
    int64_t pid;
};

enum { STAGING_SIZE = 16384, WAKE_MAX = 64 };

/* Left unread for this long although something is under way, a pipeline is read by the background thread. */
#define UNREAD_LIMIT (5 * MILLISECOND)

/* A pipeline's connection and who reads it. */
struct pipeline_io {
    struct client *client;
    struct connection connection;
    struct reply_holder holder;
    enum pipeline_role pipeline;
    bool reading;          /* somebody has the reader role */
    bool reader_waits;     /* and waits for the socket, without the mutex */
    bool reader_comes;     /* a caller has been woken to take the role */
    bool writing;          /* somebody writes, without the mutex; nobody else touches the output then */
    bool wanted;           /* the background thread is to open it ahead of need */
    bool must_lookup;      /* addresses that served another pipeline were of no use */
    struct lookup *lookup; /* of the server's name, under way; else NULL */
    int64_t lookup_until;
    bool ended;            /* the background thread has seen the end of the connection, and nobody has read it yet */
    const char *failure;   /* why the connection is to be given up by who may; NULL */
    bool background_reads; /* and that is the background thread */
    bool in_set;           /* its descriptor is in the host's pollable set */
    int64_t unread_since;  /* nobody reads although something is under way; 0: not so */
    int64_t received_at;   /* when a reply was last complete */
    int64_t starved_until; /* there was no memory to write with: to be tried again then; 0: not so */
    struct busy_poll busy_poll; /* of a reader alone */
    struct yielding yielding;   /* of a reader for many */
    char staging[STAGING_SIZE]; /* the reader's */
};

/* The connection for messages; the background thread's alone. */
struct subscriber {
    struct connection connection;
    struct reply_holder holder;
    int64_t received_at;    /* when a message was last complete */
    int64_t pinged_at;      /* 0: no answer owed */
    int64_t read_at;        /* more came than one step reads: the rest is not read before; 0: not so */
    struct list unanswered; /* what was sent, by its subscription's link, and the last PING, in order */
    struct list_link ping;
};

struct client {
    struct client *next; /* in the process's list */
    _Atomic uint32_t references;
    uint32_t fork_generation;
    atomic_bool closed;
    atomic_bool stopping;
    atomic_bool broken; /* by a defect of ours: its calls are INTERNAL */
    bool busy_poll;
    bool release_on_close;
    int32_t language;        /* enum redlatch_language */
    int64_t command_timeout; /* microseconds */
    int64_t close_timeout;
    char *name_prefix;
    size_t name_prefix_size;
    struct uri uri;
    char *shown_url;
    char *username, *password;
    struct connection_settings connection_settings;

    pthread_mutex_t mutex;
    struct engine engine;
    struct pipeline_io ios[PIPELINE_COUNT];
    struct subscriber subscriber;

    pthread_t background_thread;
    bool background_started;
    bool background_kick; /* to be signalled when the mutex is dropped */
    int background_signal;
    int background_alarm;        /* ends its long sleeps; -1: it could not be had */
    int64_t alarm_at;            /* what it is set to; NEVER */
    int64_t background_wakes_at; /* when it will look by itself; 0 while it is awake */

    int event_set; /* -1 before redlatch_client_event_fd */
    int event_signal;
    bool event_raised;
    bool event_polling;    /* the host is inside redlatch_client_next_event */
    struct list events;    /* completed asynchronous calls */
    char located_uuid[36]; /* the client that was last found to hold what was waited for, and where it runs */
    struct process_location located_at;
    int64_t locations_from;            /* CLIENT LIST is not asked for again before */
    int64_t holders_from;              /* the holder is not asked for after a time-out before */
    int64_t explained_from;            /* nothing is asked for a message before: it was forbidden */
    redlatch_lock_state event_state;   /* the answer that the last event pointed to */
    struct error_text event_errors[2]; /* and its message; of redlatch_client_wait_lost, too: by enum loss_queue */
    _Atomic uint32_t loss_futex;
    atomic_bool losses_watched[2];          /* somebody asks for losses: by enum loss_queue */
    struct loss_event *composite_losses[2]; /* composite_holds.c's */
    struct composite_op
        *composite_ops;       /* asynchronous calls over several clients, of which this is the first member's */
    uint32_t callers;         /* blocking calls inside */
    struct yielding yielding; /* of callers who wait for a reader */
    uint32_t crowded;         /* times a caller found no pipeline of its own */

    _Atomic uint32_t *wakes[WAKE_MAX];
    size_t wake_count;
};

/* client.c */
struct client *client_keep(struct client *client);
void client_drop(struct client *client);
int fail_broken(const struct client *client);
int client_check(const struct client *client); /* OK, FORKED or CLOSED, with the last error set */

static inline bool client_is_open(const struct client *client) {
    return !atomic_load(&client->closed) && !atomic_load(&client->broken);
}

/* outputs.c: the mutex, and what has to happen around it */
void client_lock(struct client *client);
void client_unlock(struct client *client);                   /* wakes and kicks what was collected */
void client_outputs(struct client *client, int64_t now);     /* carries out what the engine left */
void client_finish_step(struct client *client, int64_t now); /* the same for one who does not stay to read */
void client_kick_background(struct client *client);
void client_wake(struct client *client, _Atomic uint32_t *futex);

/* Losses that another client saw are here to be told. */
void client_notify_losses(struct client *client);

/* preallocate.c: memory for the engine */
bool client_preallocate(struct client *client, uint8_t operation_kind);
bool client_preallocate_for(struct client *client, uint8_t operation_kind,
                            const struct name_set *set);              /* NULL: for one */
bool client_preallocate_holds(struct client *client, uint32_t count); /* for an operation that may be granted so many */
struct resource *client_group_resource(struct client *client, uint8_t lock_kind, const char *name, size_t size,
                                       const char *values, uint32_t value_count);
struct resource *client_resource(struct client *client, uint8_t lock_kind, const char *name, size_t size);
void client_free_memory(struct client *client);

/* pipeline_io.c: bytes of a pipeline */
void io_flush(struct pipeline_io *io);
short io_poll_events(const struct pipeline_io *io);
bool io_has_work(const struct pipeline_io *io);
bool io_is_opening(const struct pipeline_io *io);
bool io_is_callers(const struct pipeline_io *io);
bool io_is_shared(const struct pipeline_io *io);
void io_receive(struct pipeline_io *io, ssize_t got, int64_t now);
int io_connect(struct pipeline_io *io, int64_t now);
void io_check_peer(struct pipeline_io *io, int64_t now);
int64_t io_next_time(const struct pipeline_io *io);
void io_watch_unread(struct pipeline_io *io, int64_t now);
bool io_lookup(struct pipeline_io *io, int64_t until);

/* Whether callers beside each other yield, as far as is known: then they share a pipeline. */
static inline bool client_yields(const struct client *client) {
    return client->busy_poll && yielding_pays(&client->yielding);
}

/* drive.c: blocking calls */
void request_init(struct request *request, struct client *client, struct redlatch_cancel *cancel);
void request_set_wait(struct request *request, int64_t wait_ms, int64_t now); /* 0: does not wait for others */
void drive_start(struct request *request, int64_t now);
void drive_until(struct request *request, int64_t until);
int drive(struct request *request);
enum pipeline_role drive_pick_pipeline(struct client *client);
void drive_pass_reading(struct pipeline_io *io, int64_t now);
bool drive_has_reader(const struct pipeline_io *io);

/* Whoever steps machines may have sent commands on other pipelines for callers who sleep: they are to read them. */
void drive_pass_reading_all(struct client *client, const struct pipeline_io *except);

/* Whether a call should read its pipeline. */
bool drive_should_read(const struct request *request);

/* A moment for the other thread of a shared core, which may be the server's; false when the time has come. */
bool drive_pause_until(int64_t until);

/* background.c */
bool background_start(struct client *client);
void background_stop(struct client *client);

/* subscriber.c */
void subscriber_changes(struct client *client, int64_t now);
void subscriber_step(struct client *client, int64_t now);
int64_t subscriber_next_time(const struct client *client);
short subscriber_events(const struct client *client);
bool subscriber_needs_background(const struct client *client);

#endif
