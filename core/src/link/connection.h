/* One connection to a server: opening it, greeting the server, moving bytes, parsing replies, and giving it up so
 * that nothing of it arrives late. Never blocks: whoever has the connection's reader role polls its descriptor and
 * calls connection_advance.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   CLOSED --open--> OPENING --connected--> GREETING --set up, old one settled--> READY
 *     ^                 |                      |                                   |
 *     +--- failed, with a time to try again ---+----------- broken ----------------+
 */
#ifndef CONNECTION_H
#define CONNECTION_H

#include <sys/types.h>

#include "credentials.h"
#include "engine.h"
#include "info.h"
#include "output.h"
#include "replies.h"
#include "resolver.h"
#include "tls.h"

enum connection_state { CONNECTION_CLOSED, CONNECTION_OPENING, CONNECTION_GREETING, CONNECTION_READY };

/* What all connections of a client have in common; outlives them. */
struct connection_settings {
    const struct uri *uri;
    const struct credentials *credentials; /* read for each greeting; NULL: none */
    int database;
    char name[200];          /* for CLIENT SETNAME */
    int64_t connect_timeout; /* microseconds */
    int64_t dead_peer_timeout;
    struct tls_context *tls;          /* NULL: without TLS */
    struct tls_context *sentinel_tls; /* for sentinels; NULL: the same as tls */
    bool master_only;                 /* the greeting fails with READ_ONLY at a replica */
    bool asks_sharding;               /* the greeting asks whether the server has messages within a shard */
};

enum greeting_step {
    GREET_AUTH,
    GREET_SELECT,
    GREET_NAME,
    GREET_ID,
    GREET_INFO,
    GREET_ROLE,
    GREET_SHARDING,
    GREET_KILL,
    GREET_STEPS
};

struct connection {
    const struct connection_settings *settings;
    int fd;
    uint8_t state;
    bool served;             /* since it became READY, anything was answered */
    bool speaks_tls;         /* without TLS here: the first bytes in the greeting were of TLS */
    bool refused;            /* the last attempt failed since user or password were refused, or are missing */
    bool subscriber;         /* leaves nothing in doubt: no CLIENT ID, no KILL */
    uint32_t generation;     /* how often it became READY */
    uint32_t credentials;    /* the version of those that were said last */
    struct output output;    /* with TLS: not yet encrypted */
    struct tls_session *tls; /* NULL without TLS, and while CLOSED */
    struct output sealed;    /* with TLS: ciphertext for the socket */
    struct replies replies;
    struct addresses addresses;
    int address;           /* the one to try next */
    int64_t opened_at;     /* when it was begun */
    int64_t deadline;      /* of opening and greeting */
    int64_t retry_at;      /* CLOSED: not to be opened before */
    int64_t retry_soon_at; /* the same where something is urgent */
    int64_t ready_at;      /* when it became READY last */
    int64_t down_since;    /* first failure in a row; 0 before the first */
    uint32_t pause_ms;
    uint8_t steps[GREET_STEPS]; /* replies still owed, in order */
    int step_count;
    int step;
    uint64_t server_id; /* CLIENT ID, 0 if unknown */
    char run_id[41];    /* of the server; empty if unknown */
    bool has_sharding;  /* it has messages within a shard; known if that was asked */
    bool unanswered;    /* the connection before owed replies when it ended: what it was sent may still arrive */
    uint64_t old_id;    /* of the connection before, to be killed */
    char old_run_id[41];
    uint8_t resolution;      /* enum resolution, once READY */
    char detail[480];        /* why it failed last, in words */
    struct endpoint master;  /* of READ_ONLY: where the replica says that its master is; else its host is empty */
    char replication_id[41]; /* where the role was requested: that of its history; empty if unknown */
};

void connection_init(struct connection *connection, const struct connection_settings *settings, bool subscriber);

/* Begins to connect; addresses must be there (after a failure of the last one there are none: resolve again). OK, or
 * why not at once. */
int connection_open(struct connection *connection, int64_t now);

/* Goes on with opening and greeting by a bounded number of bytes: AGAIN, OK when it has just become READY, or why it
 * failed (it is CLOSED then, with retry_at set). */
int connection_advance(struct connection *connection, int64_t now);

/* What to poll for. */
short connection_events(const struct connection *connection);

/* Sleeps until the connection needs attention: something to read or write, its time to try again, or `until`. */
void connection_wait(const struct connection *connection, int64_t until);

/* Whether a READY connection has ended, as far as this machine knows; safe without any lock. */
bool connection_has_ended(const struct connection *connection);

/* Encrypts what is pending, if this is TLS: under the client's mutex, before it is handed to the kernel. OK, or why it
 * failed; the connection is not closed by this. */
int connection_seal(struct connection *connection);

/* The bytes that are to be handed to the kernel. */
size_t connection_pending(const struct connection *connection);

/* Hands these bytes to the kernel: OK (whether or not all went) or why it failed; the connection is not closed by
 * this. Safe without any lock for the one who writes. */
int connection_flush(struct connection *connection);

/* Both, under the client's mutex. */
int connection_write(struct connection *connection);

/* Reads what is there without blocking; safe without any lock for the one who has the reader role. > 0, 0 for nothing
 * yet, -1 for the end. */
ssize_t connection_read(const struct connection *connection, char *bytes, size_t size);

/* The same, sleeping until there is something, for CONNECTION_SLEEP at most: one system call where poll needs two. Only
 * while READY. */
#define CONNECTION_SLEEP (100 * MILLISECOND)
ssize_t connection_sleep_and_read(const struct connection *connection, char *bytes, size_t size);

/* Takes what was read: OK or NO_MEMORY. With TLS it is decrypted, so that nothing is left where no poll shows it. */
int connection_feed(struct connection *connection, const char *bytes, size_t size);

/* The next complete reply, valid until the next call; false when there is none. *status_out is PROTOCOL for garbage,
 * and for a reply beyond the bounds; if TLS failed or was ended, it says so after the last reply. */
struct reply_holder;
bool connection_next_reply(struct connection *connection, const struct reply_bounds *bounds,
                           struct reply_holder *holder, int *status_out);

/* Puts an error reply into the detail, in the server's words, of which messages show what any terminal does. */
void connection_note_error(struct connection *connection, const struct reply *reply);

/* Why TLS failed, or else the other sentence. Valid until the connection is given up. */
const char *connection_why(const struct connection *connection, const char *otherwise);

/* Gives the connection up after a failure, abortively: unsent bytes are dropped and the server hears of it at once.
 * Who gives up a READY one first says in `unanswered` whether it owes replies. */
void connection_fail(struct connection *connection, const char *why, int64_t now);

/* The same for one that has just become READY and is not to be used: what the connection before left stays to be
 * resolved by the next one. */
void connection_reject(struct connection *connection, const char *why, int64_t now);

/* Puts a connection in the place of one that was freed, with which it has settings in common; it itself is as after
 * connection_init. */
void connection_replace(struct connection *freed, struct connection *by);

/* Closes in good order at the end of a client. connection_forget only closes the descriptor: for a forked child. */
void connection_close(struct connection *connection);
void connection_forget(struct connection *connection);
void connection_free(struct connection *connection);

/* Where it leads, for messages. */
void connection_describe(const struct connection_settings *settings, char *text, size_t size);

#endif
