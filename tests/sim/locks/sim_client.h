/* A simulated process: one engine, driven as the client layer drives it, with connections, a clock and owners.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include "sim_connection.h"
#include "drift_clock.h"
#include "engine.h"
#include "event_queue.h"
#include "sim_owner.h"
#include "plan.h"
#include "wire.h"

enum link_state { LINK_DOWN, LINK_CONNECTING, LINK_IDENTIFYING, LINK_KILLING, LINK_READY };

/* The link to the server for one pipeline or for messages. It uses one connection after the other. */
struct link {
    struct client *client;
    enum link_kind kind;
    enum link_state state;
    struct connection *connection;
    uint64_t generation; /* of its timers */
    uint64_t id, run;    /* ids of the connection and of the server's run */
    uint64_t old_id, old_run;
    bool used;
    bool has_old;    /* the engine has commands of the old connection in doubt */
    bool unanswered; /* the old connection had commands in flight, which may arrive late */
    bool watched;    /* a dead-peer timer is running */
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
    struct name_set *set;          /* all names; one mode of each read-write lock, or one name of each group lock */
    uint32_t set_names[MAX_NAMES]; /* the indices of these names */
    struct owner owners[MAX_OWNERS];
    struct sim_operation *operations; /* all that were ever allocated */
    struct list uncollected;          /* finished asynchronous operations */
    uint64_t last_operation;
    uint64_t timer_generation;
    int64_t timer_at; /* true time of the event for the engine's timers; NEVER */
    bool collecting;
    uint32_t commands, wait_queues, holds, batches, lines; /* how many the engine's pools got */
    int64_t subscribed_at[MAX_NAMES];                      /* when last confirmed; 0: not subscribed */
    bool was_subscribed[MAX_NAMES];
    bool held[MAX_NAMES];         /* the client had a live hold after the last step */
    int64_t let_go_at[MAX_NAMES]; /* true time since when it has none */
    struct memory *memory;        /* all memory of the engine */
};

void client_start(struct world *world, uint32_t index);
void client_free(struct client *client);
int64_t client_now(const struct client *client);

/* Called after each event of the engine: writes, wakes, subscribes, frees, sets the timer, checks. */
void sim_client_finish_step(struct client *client);

/* Starts an operation. The caller has set its fields. */
void client_begin(struct client *client, struct sim_operation *operation);
struct sim_operation *client_operation(struct client *client, struct owner *owner, uint8_t kind, uint32_t name);
void client_abort(struct client *client, struct sim_operation *operation, int status);

/* Returns whether an operation may be given up: it is in progress, and its client is running. If the client is stopped,
 * `handler` is called again when it resumes. */
bool client_may_abort(struct world *world, struct sim_operation *operation, uint64_t serial, event_handler *handler);

/* client_memory.c */
void *client_allocate(struct client *client, size_t size);
void sim_client_preallocate(struct client *client, const struct operation *operation);
struct resource *client_name(struct client *client, uint32_t number);
void client_free_dead(struct client *client);

/* client_links.c */
void links_start(struct client *client);
void link_broken(struct client *client, struct connection *connection);

/* Called when the end of a connection has arrived. The client notices it at once if commands are in flight, else later
 * or before it writes. */
void link_ended(struct client *client, struct connection *connection);
bool link_end_is_seen(const struct link *link);
void link_answered(struct client *client, struct connection *connection, struct answer *answer);

/* The connection is dead without an end. The client must notice that by its timer. */
void link_expect_death(struct client *client, struct connection *connection);
bool links_ready(const struct client *client);

/* client_wire.c */
void link_flush(struct link *link);
void link_subscribe(struct link *link);
void link_reply(struct link *link, const struct redis_reply *reply);

#endif
