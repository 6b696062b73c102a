/* The simulation of locks over several servers: multi locks and RedLocks. The client layer with its asynchronous calls,
 * the engine and the scripts are the real ones. Sockets, the thread of the background work and the clock are replaced.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   composite_world.c    a seed from its beginning to its end, and the client layer's system calls
 *   composite_players.c  processes: the work of their background threads, and callers that act at random
 *   composite_judge.c    checks what callers believe to hold against what the servers have */
#ifndef COMPOSITE_WORLD_H
#define COMPOSITE_WORLD_H

#include "composite_async.h"
#include "lock.h"
#include "network.h"

enum { PROCESSES = 3, SERVERS_MAX = 5, NAMES_MAX = 2, CALLERS = 2, LEVELS_MAX = 3 };

/* The owners of the callers of a process. They are the same in each process and for every seed. */
extern uint64_t owners[CALLERS + 1];

/* A process's client of one server. */
struct member_client {
    struct peer peer;
    struct process *process;
    redlatch_client *handle;
    struct client *client;
    redlatch_lock *names[NAMES_MAX];
};

/* A thread of a process that acquires the composite lock again and again. The last caller acquires a single name. */
struct caller {
    struct process *process;
    redlatch_lock *lock;
    uint32_t home; /* the client of this server reports the lock's events */
    uint64_t owner;
    uint64_t tag; /* of the call in progress; 0: none */
    uint32_t levels;
    uint64_t serial;
    bool single;
    bool gives;    /* a release is in progress */
    bool owes;     /* a release that reached no server goes on in the background */
    bool notified; /* the loss of its hold was reported */
    int64_t act_at;
    int64_t cancel_at;
    int64_t short_since; /* since when it has too few parts; 0: it has enough */
};

struct process {
    struct world *world;
    struct member_client clients[SERVERS_MAX];
    redlatch_lock *whole;
    struct caller callers[CALLERS + 1]; /* the last one acquires a single name */
    int64_t paused_until;
    uint64_t last_tag;
    uint32_t stirred; /* for how many further events its background threads run */
};

enum { STIRRED_FOR = 2 };

struct world {
    WORLD_COMMON;
    bool majority;
    bool long_lease; /* no lease ends before the seed does: what becomes free was released */
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

/* Called after an engine has handled an event. The client carries out the engine's output. */
void players_delivered(struct world_common *world, struct peer *peer);

void judge_granted(const struct caller *caller);
void judge_notified(const struct caller *caller);
void judge_holders(struct world *world);
void judge_nothing_left(struct world *world);

#endif
