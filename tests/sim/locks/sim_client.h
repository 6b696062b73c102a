/* A simulated process: one engine, driven as the client layer drives it, with its connections, its clock and its
 * owners.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include "sim_connection.h"
#include "drift_clock.h"
#include "engine.h"
#include "event_queue.h"
#include "owner.h"
#include "plan.h"
#include "wire.h"

enum link_state { LINK_DOWN, LINK_CONNECTING, LINK_IDENTIFYING, LINK_KILLING, LINK_READY };

/* The way to the server for one pipeline or for messages, over one connection after the other. */
struct link {
    struct client *client;
    enum link_kind kind;
    enum link_state state;
    struct connection *connection;
    uint64_t generation; /* of its timers */
    uint64_t id, run;    /* of the connection, as the server says */
    uint64_t old_id, old_run;
    bool used;
    bool has_old;    /* the engine has in doubt commands of that connection */
    bool unanswered; /* some had been sent, and may arrive late */
    bool watched;    /* a dead-peer timer runs */
    int failures;
    int64_t ready_at;
};

struct client {
    struct world *world;
    uint32_t index;
    char uuid[37];
    struct drift_clock clock;
    int64_t paused_until;
    int64_t resumed_at;
    struct engine engine;
    struct server engine_server;
    struct link links[LINK_COUNT];
    struct resource *names[MAX_NAMES];
    struct name_set *set;          /* all of them; of each read-write lock one side, of each group one name */
    uint32_t set_names[MAX_NAMES]; /* which they are */
    struct owner owners[MAX_OWNERS];
    struct sim_operation *operations; /* all that were ever made */
    struct list uncollected;          /* asynchronous operations that are done */
    uint64_t last_operation;
    uint64_t timer_generation;
    int64_t timer_at; /* true time of the scheduled look at the engine's timers; NEVER */
    bool collecting;
    uint32_t commands, wait_queues, holds, batches, lines; /* supplied to the engine's pools */
    int64_t subscribed_at[MAX_NAMES];                      /* the last confirmation, 0 while not subscribed */
    bool was_subscribed[MAX_NAMES];
    bool held[MAX_NAMES];         /* had a live hold after the last step */
    int64_t let_go_at[MAX_NAMES]; /* true time since when it has none */
    struct memory *memory;        /* everything allocated for the engine */
};

void client_start(struct world *world, uint32_t index);
void client_free(struct client *client);
int64_t client_now(const struct client *client);

/* Everything that is to be done after the engine was given something: write, wake, subscribe, free, arm, check. */
void sim_client_finish_step(struct client *client);

/* Starts an operation whose caller's fields are set. */
void client_begin(struct client *client, struct sim_operation *operation);
struct sim_operation *client_operation(struct client *client, struct owner *owner, uint8_t kind, uint32_t name);
void client_abort(struct client *client, struct sim_operation *operation, int status);

/* Whether an operation that is to be given up is still under way. While its client is stopped it is not given up:
 * `handler` is called again when that goes on. */
bool client_may_abort(struct world *world, struct sim_operation *operation, uint64_t serial, event_handler *handler);

/* client_memory.c */
void *client_allocate(struct client *client, size_t size);
void sim_client_preallocate(struct client *client, const struct operation *operation);
struct resource *client_name(struct client *client, uint32_t number);
void client_free_dead(struct client *client);

/* client_links.c */
void links_start(struct client *client);
void link_broken(struct client *client, struct connection *connection);

/* The end of a connection has arrived: it is seen at once where something is under way, else late, or before the
 * connection is written to. */
void link_ended(struct client *client, struct connection *connection);
bool link_end_is_seen(const struct link *link);
void link_answered(struct client *client, struct connection *connection, struct answer *answer);

/* The connection is dead and nobody tells: the client finds out by itself. */
void link_expect_death(struct client *client, struct connection *connection);
bool links_ready(const struct client *client);

/* client_wire.c */
void link_flush(struct link *link);
void link_subscribe(struct link *link);
void link_reply(struct link *link, const struct redis_reply *reply);

#endif
