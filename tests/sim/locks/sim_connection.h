/* One TCP connection between a client and the server: two queues with delays. It loses, doubles and reorders nothing.
 * But it stalls, resets drop what is on its way, and requests may arrive after the client has left.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_CONNECTION_H
#define SIM_CONNECTION_H

#include "list.h"
#include "records.h"
#include "redis_reply.h"
#include "scripts_embedded.h"

struct world;
struct client;

/* The number of an engine's pipeline, or the connection for messages. */
enum link_kind { LINK_MESSAGES = PIPELINE_COUNT, LINK_COUNT };

enum request_kind {
    REQUEST_SCRIPT,
    REQUEST_IDENTIFY, /* CLIENT ID and INFO server */
    REQUEST_KILL,     /* CLIENT KILL ID number */
    REQUEST_SUBSCRIBE,
    REQUEST_UNSUBSCRIBE
};

struct request {
    struct list_link link;
    enum request_kind kind;
    enum script_id script;
    bool as_text;
    bool renewal;
    uint64_t number; /* the connection to kill; or the lock of the channel and, above it, the waiter */
    uint32_t key_count;
    uint32_t argument_count;
    bool many;                /* a renewal, or a request about several names */
    struct redis_text *texts; /* keys and arguments of a script, in one block of memory (texts.h) */
};

enum answer_kind {
    ANSWER_REPLY,
    ANSWER_IDENTITY,
    ANSWER_KILLED,
    ANSWER_SUBSCRIBED,
    ANSWER_UNSUBSCRIBED,
    ANSWER_MESSAGE,
    ANSWER_END
};

struct answer {
    struct list_link link;
    enum answer_kind kind;
    bool denied;
    uint64_t number; /* connection id; or lock and waiter */
    uint64_t run;    /* the server's run id */
    int64_t message; /* the number in a published message */
    struct redis_reply reply;
};

/* The number of a wake-up channel has the lock in the lowest WAITER_SHIFT bits, and the waiter above them. */
enum { WAITER_SHIFT = 8, CALLS_MAX = 64 };

struct connection {
    struct connection *next; /* in the world's list */
    struct client *client;
    enum link_kind kind;
    uint64_t id; /* as the server numbers it, from 1 at each start of the server */
    bool client_open;
    bool server_open;
    bool swallowing;      /* answers are lost */
    bool ended;           /* its end has arrived, which the client may not have noticed */
    int64_t unseen_until; /* when the client notices it without commands in flight */
    struct list requests;
    struct list answers;
    int64_t last_request_at; /* arrival of the last one sent; later ones do not arrive before */
    int64_t last_answer_at;
    int64_t requests_stalled_until;
    int64_t answers_stalled_until;
    uint32_t subscribed;       /* a bit for each lock */
    uint64_t calls[CALLS_MAX]; /* subscribed wake-up channels: locks and waiters; 0: free */
};

struct connection *sim_connection_open(struct world *world, struct client *client, enum link_kind kind);
void connection_send(struct world *world, struct connection *connection, struct request *request);
void connection_answer(struct world *world, struct connection *connection, struct answer *answer);
struct answer *answer_new(enum answer_kind kind);

/* Closes the server's side, and drops requests that have not arrived. With `notified` the end arrives at the client
 * after a delay. */
void connection_drop(struct world *world, struct connection *connection, bool notified);

/* Closes the client's side. Requests on their way still arrive, after at least `late`. Then the server's side closes,
 * too. */
void connection_abandon(struct world *world, struct connection *connection, int64_t late);

void sim_request_free(struct request *request);
void answer_free(struct answer *answer);
void connections_free(struct world *world);

/* Returns the time that one delivery takes now. */
int64_t network_delay(struct world *world);

#endif
