/* A simulation of a master with replicas, one of which takes its place now and then: with replication that lags, a tail
 * that is lost, two masters for a while, and clients that learn of it at different times. The engine and the scripts
 * are the real ones.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   failover_world.c    a seed from its begin to its end
 *   failovers.c         how one server takes the place of another, and how clients learn of it
 *   owners.c            threads that acquire, extend and release at random
 *   server_holds.c      what each server has of each name, and had
 *   failover_judge.c    what clients believe, against what servers have
 *   failover_calls.c    what calls and losses tell, against what the servers did
 *   failover_counts.h   semaphores and latches, in count_*.c
 *   planted_failover.c  mistakes in scripts that these find */
#ifndef FAILOVER_H
#define FAILOVER_H

#include "engine_memory.h"
#include "group.h"
#include "held_keys.h"
#include "network.h"

enum { CLIENTS = 3, OWNERS = 4, NAMES_MAX = 2, SERVERS = 3, IDS_MAX = 6000, HOLDERS_MAX = 24, PERMITS = 2 };

/* What a server has of a name. */
struct server_holds {
    struct server_hold holds[HOLDERS_MAX];
    uint32_t count;
};

/* What became of a wire number of a client. */
struct id_note {
    int64_t leased_until[SERVERS]; /* the latest end of a lease that each server has known */
    uint32_t counts[SERVERS];      /* and the most levels */
    int64_t deadline;              /* the latest that the client has believed in */
    uint32_t count;                /* and the most levels */
    int64_t unknown_since;         /* its client believes in it, and its client's server does not bear that out; 0 */
    bool released;                 /* by a script, on some server */
    bool release_repeated;         /* it was sent again: what it finds may be its own doing */
    bool lost;                     /* as its client was told */
};

/* Since when an operation has been in its phase. */
struct phase_note {
    int64_t since;
    uint8_t phase;
};

struct owner {
    struct operation operation;
    struct lock_answer answer;
    uint32_t client;
    uint64_t number;
    uint64_t permit;  /* the first that it holds; 0 */
    uint32_t permits; /* how many */
    uint32_t name;    /* of the operation, and of what it holds */
    int64_t act_at;
    int64_t timeout; /* of the operation; NEVER */
    struct phase_note phase;
    bool busy;
    bool held_before; /* when the operation began */
    bool timed_out;   /* the operation's timeout is over */
};

struct client {
    struct engine engine;
    struct server engine_server;
    struct peer peer;
    struct resource *names[NAMES_MAX];
    struct owner owners[OWNERS];
    int64_t moved_at;
    int64_t move_at; /* it is told of another master; NEVER */
    uint64_t losses_reported;
    struct id_note notes[IDS_MAX];
};

struct world {
    WORLD_COMMON;
    struct memory *memory; /* everything that engines were given */
    uint8_t kind;          /* enum redlatch_kind */
    uint32_t name_count;
    uint32_t min_replicas;
    bool calm; /* no faults at all */
    bool draining;
    char values[(NAMES_MAX + 1) * GROUP_VALUE_SIZE]; /* of the group, where locks are of one */
    struct sim_server servers[SERVERS];
    struct server_holds held[SERVERS][NAMES_MAX];
    struct counted *counted; /* of semaphores and latches; else NULL */
    struct network network;
    struct client clients[CLIENTS];
    uint32_t master;    /* the newest one */
    uint32_t former;    /* the one before, which is to become a replica */
    int64_t promote_at; /* the time at which `next` takes the place of the master; NEVER */
    uint32_t next;
    int64_t demote_at; /* the time at which `former` becomes a replica; NEVER */
    uint32_t failovers_left;
    int64_t failover_at;
};

static inline bool needs_all_replicas(const struct world *world) {
    return world->min_replicas == SERVERS - 1;
}

/* Zeroed, and freed with the world. */
void *failover_allocate(struct world *world, size_t size);

/* Whether all names are of one group: each is a value and the next one, so that neighbours exclude each other. */
static inline bool names_share_values(const struct world *world) {
    return world->kind == REDLATCH_GROUP;
}

/* The key of a name on the servers. */
const char *name_text(const struct world *world, uint32_t name);

/* The two values of a name of a group. */
static inline const char *name_values(const struct world *world, uint32_t name) {
    return world->values + (size_t)name * GROUP_VALUE_SIZE;
}

/* failovers.c */
void failovers_start(struct world *world);
int64_t failovers_next(const struct world *world);
void failovers_act(struct world *world);

/* owners.c */
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

/* failover_judge.c: after each event, and when a replica takes the place of the master */
void judge_beliefs(struct world *world);
void judge_promotion(struct world *world);

/* failover_calls.c */
void judge_script(struct world_common *common, const struct packet *packet);
void judge_sent(struct world_common *common, struct peer *peer, const struct command *command);
void judge_ended(struct world *world, struct client *client, const struct owner *owner);
void judge_losses(struct world *world, struct client *client);
void judge_waiters(struct world *world);
void judge_waiter(struct world *world, const struct client *client, const struct operation *operation,
                  struct phase_note *note);
void judge_left_behind(struct world *world);

/* Whether a client has nothing to say to its server. */
bool client_is_idle(const struct client *client);

#endif
