/* One connection to a server: opening it, greeting the server, moving bytes, parsing replies, and giving it up so that
 * no command of it arrives late. The thread with the connection's reader role polls the descriptor and calls
 * connection_advance. Only connection_wait and connection_sleep_and_read block.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   CLOSED --open--> OPENING --connected--> GREETING --set up, old one resolved--> READY
 *     ^                 |                      |                                    |
 *     +--- failed, with a time to try again ---+------------ broken ----------------+
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

/* What all connections of a client share. It outlives them. */
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
    bool served;             /* a reply came since it became READY */
    bool speaks_tls;         /* this side has no TLS, and the first byte of the peer was of TLS */
    bool refused;            /* the last attempt failed since user or password were refused, or are missing */
    bool subscriber;         /* no command of it can be in doubt: no CLIENT ID, no CLIENT KILL */
    uint32_t generation;     /* how often it became READY */
    uint32_t credentials;    /* the version of those that were sent last */
    struct output output;    /* with TLS: not yet encrypted */
    struct tls_session *tls; /* NULL without TLS, and while CLOSED */
    struct output sealed;    /* with TLS: ciphertext for the socket */
    struct replies replies;
    struct addresses addresses;
    int address;           /* the one to try next */
    int64_t opened_at;     /* when it was begun */
    int64_t deadline;      /* of opening and greeting, at the address that is tried now */
    int64_t give_up_at;    /* when all addresses have had their time. The owner may set it before the first is tried;
                              else it is the connect timeout later. 0: not set */
    int64_t retry_at;      /* CLOSED: not to be opened before */
    int64_t retry_soon_at; /* the same where something is urgent */
    int64_t ready_at;      /* when it became READY last */
    int64_t down_since;    /* first failure in a row; 0 before the first */
    uint32_t pause_ms;
    uint8_t steps[GREET_STEPS]; /* of this greeting, in the order of their replies */
    int step_count;
    int step;
    uint64_t server_id; /* CLIENT ID, 0 if unknown */
    char run_id[41];    /* of the server; empty if unknown */
    bool has_sharding;  /* the server has messages within a shard; set if that was asked */
    bool unanswered;    /* replies were outstanding when the last connection ended: its commands may still arrive */
    uint64_t old_id;    /* of the last connection, to be killed */
    char old_run_id[41];
    uint8_t resolution;      /* enum resolution, once READY */
    char detail[480];        /* the text for the last failure */
    struct endpoint master;  /* after READ_ONLY: the address that the replica has of its master; or an empty host */
    char replication_id[41]; /* if the role was requested: that of the server's history; empty if unknown */
};

void connection_init(struct connection *connection, const struct connection_settings *settings, bool subscriber);

/* Forgets the addresses: the owner finds them anew before the next connection. */
void connection_forget_addresses(struct connection *connection);

/* Begins to connect to the next of the addresses. It has an equal part of the time that is left for all of them. There
 * must be one: after a failure of the last one a new lookup is needed. Returns OK, or why it failed at once. */
int connection_open(struct connection *connection, int64_t now);

/* Goes on with opening and greeting by a bounded number of bytes. Returns AGAIN, OK when it has just become READY, or
 * why it failed: then it is CLOSED, with retry_at set. */
int connection_advance(struct connection *connection, int64_t now);

/* Returns the events to poll for. */
short connection_events(const struct connection *connection);

/* Sleeps until the connection needs attention: something to read or write, its time to try again, or `until`. */
void connection_wait(const struct connection *connection, int64_t until);

/* Returns whether a READY connection has ended, as far as this machine knows. Safe without any lock. */
bool connection_has_ended(const struct connection *connection);

/* With TLS, encrypts the pending output, so that connection_flush can send it. Returns OK, or why it failed; does not
 * close the connection. Under the client's mutex. */
int connection_seal(struct connection *connection);

/* Returns how many bytes are to be handed to the kernel. */
size_t connection_pending(const struct connection *connection);

/* Hands as many of these bytes to the kernel as it takes. Returns OK, or why it failed; does not close the connection.
 * Safe without any lock for the thread that writes. */
int connection_flush(struct connection *connection);

/* connection_seal and connection_flush, under the client's mutex. */
int connection_write(struct connection *connection);

/* Reads bytes that have arrived, without blocking. Returns their number, 0 if there are none yet, or -1 at the end of
 * the connection. Safe without any lock for the thread with the reader role. */
ssize_t connection_read(const struct connection *connection, char *bytes, size_t size);

/* The same, but sleeps until bytes arrive, for CONNECTION_SLEEP at most: one system call where poll and read are two.
 * Only while READY. */
#define CONNECTION_SLEEP (100 * MILLISECOND)
ssize_t connection_sleep_and_read(const struct connection *connection, char *bytes, size_t size);

/* Takes in one or more bytes that were read. With TLS all of them are decrypted, so that nothing is left where no poll
 * shows it. Returns OK or NO_MEMORY. */
int connection_feed(struct connection *connection, const char *bytes, size_t size);

/* Puts the next complete reply into `holder`, where it is valid until the next call. Returns false if there is none.
 * Then *status_out is PROTOCOL for bytes that are no reply or a reply beyond the bounds, NO_MEMORY, or, after the last
 * reply, the status of a TLS session that failed or ended. Else it stays as it was. */
struct reply_holder;
bool connection_next_reply(struct connection *connection, const struct reply_bounds *bounds,
                           struct reply_holder *holder, int *status_out);

/* Copies the text of an error reply to the detail. It is cut, and bytes that are not printable ASCII become dots. */
void connection_note_error(struct connection *connection, const struct reply *reply);

/* Returns why TLS failed, or else `otherwise`. Valid until the connection is given up. */
const char *connection_why(const struct connection *connection, const char *otherwise);

/* Gives the connection up after a failure, with a reset: unsent bytes are dropped, and the server learns of it at once.
 * Before a READY connection is given up, its owner sets `unanswered` to whether replies are outstanding. */
void connection_fail(struct connection *connection, const char *why, int64_t now);

/* The same for a connection that has just become READY and is not to be used. What the one before it left in doubt will
 * be resolved by the next one. */
void connection_reject(struct connection *connection, const char *why, int64_t now);

/* Moves the connection `by` to the place of a freed one with the same settings. Afterwards `by` is as after
 * connection_init. */
void connection_replace(struct connection *freed, struct connection *by);

/* Closes in good order, under TLS with close_notify. connection_forget, for a forked child, only closes the
 * descriptor. */
void connection_close(struct connection *connection);
void connection_forget(struct connection *connection);
void connection_free(struct connection *connection);

/* Writes the address of the server, for messages. */
void connection_describe(const struct connection_settings *settings, char *text, size_t size);

#endif
