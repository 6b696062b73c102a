/* One TCP connection between a client and the server: two queues with delays. Nothing inside is lost, doubled or
 * reordered. What exists instead: stalls, resets that drop what is under way, and requests that arrive after the
 * client is gone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_CONNECTION_H
#define SIM_CONNECTION_H

#include "list.h"
#include "records.h"
#include "redis_reply.h"
#include "scripts_embedded.h"

struct world;
struct client;

/* A pipeline of the engine by its number, or the connection for messages. */
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
    uint64_t number; /* the connection to kill, or the lock whose channel is meant, and above it the waiter's own */
    uint32_t key_count;
    uint32_t argument_count;
    bool many;                /* a renewal, or of several names */
    struct redis_text *texts; /* keys and arguments of a script: one block of memory (texts.h) */
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
    uint64_t number; /* connection id, or lock and waiter */
    uint64_t run;    /* the server's run id */
    int64_t message; /* what was published */
    struct redis_reply reply;
};

/* A waiter's own channel of a lock. */
enum { WAITER_SHIFT = 8, CALLS_MAX = 64 };

struct connection {
    struct connection *next; /* of the world */
    struct client *client;
    enum link_kind kind;
    uint64_t id; /* the server's number for it, from 1 at each start of the server */
    bool client_open;
    bool server_open;
    bool swallowing;      /* answers vanish */
    bool ended;           /* its end has arrived at the client, who may not have seen it */
    int64_t unseen_until; /* when the client sees that by itself, if nothing is under way */
    struct list requests;
    struct list answers;
    int64_t last_request_at; /* when the last one sent arrives: no later one arrives before */
    int64_t last_answer_at;
    int64_t requests_stalled_until;
    int64_t answers_stalled_until;
    uint32_t subscribed;       /* bit per lock */
    uint64_t calls[CALLS_MAX]; /* subscribed to: locks and waiters; 0: room */
};

struct connection *sim_connection_open(struct world *world, struct client *client, enum link_kind kind);
void connection_send(struct world *world, struct connection *connection, struct request *request);
void connection_answer(struct world *world, struct connection *connection, struct answer *answer);
struct answer *answer_new(enum answer_kind kind);

/* The server's side goes, with every request that has not arrived; the client hears of it if `notified`, after a delay.
 */
void connection_drop(struct world *world, struct connection *connection, bool notified);

/* The client's side goes. Requests under way still arrive, the last one after `late`, then the server closes too. */
void connection_abandon(struct world *world, struct connection *connection, int64_t late);

void sim_request_free(struct request *request);
void answer_free(struct answer *answer);
void connections_free(struct world *world);

/* The time one delivery takes now. */
int64_t network_delay(struct world *world);

#endif
