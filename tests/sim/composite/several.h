/* A simulation of locks over several servers: multi locks and RedLocks. The client layer and the engine are the real
 * ones, asynchronous calls and all, and so are the scripts. What is not there are sockets, the background thread's
 * thread and the clock.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   composite_world.c   a seed from its begin to its end, and what the client layer asks the system for
 *   players.c           processes: their background threads' work, and callers who take, extend and give at random
 *   composite_judge.c   who believes to hold what, against what the servers know */
#ifndef SEVERAL_H
#define SEVERAL_H

#include "composite_async.h"
#include "lock.h"
#include "network.h"

enum { PROCESSES = 3, SERVERS_MAX = 5, NAMES_MAX = 2, CALLERS = 2, LEVELS_MAX = 3 };

/* The numbers of the callers of each process, one after the other; the same for every seed. */
extern uint64_t owners[CALLERS + 1];

/* A process's client of one server. */
struct member_client {
    struct peer peer;
    struct process *process;
    redlatch_client *handle;
    struct client *client;
    redlatch_lock *names[NAMES_MAX];
};

/* A thread of a process that takes the whole again and again, or one name by itself. */
struct caller {
    struct process *process;
    redlatch_lock *lock;
    uint32_t home; /* the server whose client tells of it */
    uint64_t owner;
    uint64_t tag; /* of the call under way; 0: none */
    uint32_t levels;
    uint64_t serial;
    bool single;
    bool gives;    /* a release is under way */
    bool owes;     /* a release that met no server goes on in the background */
    bool notified; /* that it lost what it has */
    int64_t act_at;
    int64_t cancel_at;
    int64_t short_since; /* too few of the parts are left since then; 0: enough */
};

struct process {
    struct world *world;
    struct member_client clients[SERVERS_MAX];
    redlatch_lock *whole;
    struct caller callers[CALLERS + 1]; /* the last one is content with a single name */
    int64_t paused_until;
    uint64_t last_tag;
    uint32_t stirred; /* for so many events to come its background threads have something to look at */
};

enum { STIRRED_FOR = 2 };

struct world {
    WORLD_COMMON;
    bool majority;
    bool long_lease; /* none runs out before the end: what is free was given back */
    uint32_t server_count, name_count, quorum;
    struct sim_server servers[SERVERS_MAX];
    struct network network;
    struct process processes[PROCESSES];
};

static inline bool is_running(const struct process *process) {
    return process->world->now >= process->paused_until;
}

void players_start(struct world *world);
void players_work(struct world *world);
void players_act(struct world *world, bool draining);
void players_rest(struct world *world);
int64_t players_next(const struct world *world);
bool players_are_done(const struct world *world);
void players_free(struct world *world);

/* An engine was given something, and its client carries out what comes of it. */
void players_delivered(struct world_common *world, struct peer *peer);

void judge_granted(const struct caller *caller);
void judge_notified(const struct caller *caller);
void judge_holders(struct world *world);
void judge_nothing_left(struct world *world);

#endif
