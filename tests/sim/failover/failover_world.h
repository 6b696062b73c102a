/* The simulation of failovers: a master with replicas, one of which sometimes takes its place. Replication lags, the
 * last writes are lost, there are two masters for a while, and clients learn of the new master at different times. The
 * engine and the scripts are the real ones.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   failover_world.c    a seed from its beginning to its end
 *   failovers.c         how one server takes the place of another, and how clients learn of it
 *   failover_owners.c   threads that acquire, extend and release at random
 *   server_holds.c      the holds that each server has and had
 *   failover_judge.c    checks what clients believe against what servers have
 *   failover_calls.c    checks results of calls and reports of losses against what the servers did
 *   failover_counts.h   semaphores and latches, in count_actors.c and its neighbours
 *   planted_failover.c  mistakes in scripts that these checks find */
#ifndef FAILOVER_WORLD_H
#define FAILOVER_WORLD_H

#include "engine_memory.h"
#include "group.h"
#include "held_keys.h"
#include "network.h"
#include "unconfirmed_release.h"

enum { CLIENTS = 3, OWNERS = 4, NAMES_MAX = 2, SERVERS = 3, IDS_MAX = 6000, HOLDERS_MAX = 24, PERMITS = 2 };

/* The holds of a name that a server has. */
struct server_holds {
    struct server_hold holds[HOLDERS_MAX];
    uint32_t count;
};

/* The history of one wire number of a client. */
struct id_note {
    int64_t leased_until[SERVERS]; /* the latest end of a lease that each server has had */
    uint32_t counts[SERVERS];      /* the highest hold count that each server has had */
    int64_t deadline;              /* the latest deadline that the client has believed in */
    uint32_t count;                /* the highest hold count that the client has believed in */
    int64_t unknown_since;         /* since when the client believes in it without its server; 0 */
    bool released;                 /* by a script on some server */
    bool release_repeated;         /* the release was sent again: it may have removed the hold before */
    bool lost;                     /* the client was told so */
    struct unconfirmed_release unconfirmed;
};

/* The phase of an operation, and since when it has it. */
struct phase_note {
    int64_t since;
    uint8_t phase;
};

struct owner {
    struct operation operation;
    struct lock_answer answer;
    uint32_t client;
    uint64_t number;
    uint64_t permit;  /* the number of the first permit that it holds; 0 */
    uint32_t permits; /* how many permits it holds */
    uint32_t name;    /* of the operation and of the hold */
    int64_t act_at;
    int64_t timeout; /* of the operation; NEVER: none */
    struct phase_note phase;
    bool busy;
    bool held_before; /* it held the name when the operation began */
    bool timed_out;   /* the operation's timeout has passed */
};

struct client {
    struct engine engine;
    struct server engine_server;
    struct peer peer;
    struct resource *names[NAMES_MAX];
    struct owner owners[OWNERS];
    int64_t moved_at;
    int64_t move_at; /* when the client is told of another master; NEVER */
    uint64_t losses_reported;
    struct id_note notes[IDS_MAX];
};

struct world {
    WORLD_COMMON;
    struct memory *memory; /* all memory of the engines */
    uint8_t kind;          /* enum redlatch_kind */
    uint32_t name_count;
    uint32_t min_replicas;
    uint32_t unconfirmed; /* per thousand releases */
    bool calm;            /* no faults at all */
    bool draining;
    char values[(NAMES_MAX + 1) * GROUP_VALUE_SIZE]; /* of the group lock, if that is the kind */
    struct sim_server servers[SERVERS];
    struct server_holds held[SERVERS][NAMES_MAX];
    struct counted *counted; /* of semaphores and latches; else NULL */
    struct network network;
    struct client clients[CLIENTS];
    uint32_t master;    /* the newest master */
    uint32_t former;    /* the master before it, which is to become a replica */
    int64_t promote_at; /* when `next` takes the place of the master; NEVER */
    uint32_t next;
    int64_t demote_at; /* when `former` becomes a replica; NEVER */
    uint32_t failovers_left;
    int64_t failover_at;
};

static inline bool needs_all_replicas(const struct world *world) {
    return world->min_replicas == SERVERS - 1;
}

/* Allocates zeroed memory that is freed with the world. */
void *failover_allocate(struct world *world, size_t size);

/* Returns whether the names are names of one group lock. Each name is two neighbouring values, so neighbouring names
 * exclude each other. */
static inline bool names_share_values(const struct world *world) {
    return world->kind == REDLATCH_GROUP;
}

/* Returns the key of a name on the servers. */
const char *name_text(const struct world *world, uint32_t name);

/* Returns the two values of a name of a group lock. */
static inline const char *name_values(const struct world *world, uint32_t name) {
    return world->values + (size_t)name * GROUP_VALUE_SIZE;
}

/* failovers.c */
void failovers_start(struct world *world);
int64_t failovers_next(const struct world *world);
void failovers_act(struct world *world);

/* failover_owners.c */
void owners_start(struct world *world);
int64_t owners_next(const struct world *world);
void owners_act(struct world *world);
void owners_collect(struct world *world);
bool owners_are_done(const struct world *world);
bool owner_is_granted(const struct client *client, const struct hold *hold);

/* What an engine needs before it starts an operation, and a pipeline for that. */
void failover_supply(struct world *world, struct engine *engine, uint8_t kind, uint32_t further_holds);
uint8_t failover_draw_pipeline(struct world *world, const struct client *client, const struct operation *operation);

/* server_holds.c */
void server_holds_read(struct world *world, uint32_t server);
const struct server_hold *server_hold_find(const struct world *world, uint32_t server, uint32_t name, uint32_t client,
                                           uint64_t id);
uint32_t server_index(const struct world *world, const struct sim_server *server);
struct id_note *failover_note(struct world *world, uint32_t client, uint64_t id);

/* failover_judge.c: called after each event, and when a replica takes the place of the master */
void judge_beliefs(struct world *world);
void judge_promotion(struct world *world);

/* failover_calls.c */
void judge_script(struct world_common *common, const struct packet *packet);
void judge_sent(struct world_common *common, struct peer *peer, const struct command *command);
/* In a calm world no operation ends with an error of the server or the network. */
void judge_status(struct world *world, const struct client *client, int status, bool timed_out);
void judge_ended(struct world *world, struct client *client, const struct owner *owner);
void judge_losses(struct world *world, struct client *client);
void judge_waiters(struct world *world);
void judge_waiter(struct world *world, const struct client *client, const struct operation *operation,
                  struct phase_note *note);
void judge_left_behind(struct world *world);

/* Returns whether a client has no command in progress. */
bool client_is_idle(const struct client *client);

#endif
