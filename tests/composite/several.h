/* A simulation of locks over several servers: multi locks and RedLocks. The client layer and the engine are the real
 * ones, asynchronous calls and all, and so are the scripts; the servers and random numbers are those of tests/sim. What
 * is not there are sockets, the background thread's thread and the clock. SPDX-License-Identifier: Apache-2.0
 *
 *   network.c   the servers, which pause, fail and come back; subscriptions; what becomes of each packet
 *   players.c   processes: their background threads' work, and callers who take, extend and give at random
 *   judge.c     who believes to hold what, against what the servers know */
#ifndef SEVERAL_H
#define SEVERAL_H

#include "composite_async.h"
#include "lock.h"
#include "packets.h"
#include "wire.h"

enum { PROCESSES = 3, SERVERS_MAX = 5, NAMES_MAX = 2, CALLERS = 2, LEVELS_MAX = 3 };

/* The numbers of the callers of each process, one after the other; the same for every seed. */
extern uint64_t owners[CALLERS + 1];

struct server {
    struct world *world;
    struct keyspace *keyspace;
    int64_t paused_until;
    int64_t down_until;
};

/* A process's client of one server. */
struct peer {
    struct process *process;
    struct server *server;
    redlatch_client *handle;
    struct client *client;
    redlatch_lock *names[NAMES_MAX];
    struct pipelines pipelines;
    bool hears[NAMES_MAX];
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
    struct peer peers[SERVERS_MAX];
    redlatch_lock *whole;
    struct caller callers[CALLERS + 1]; /* the last one is content with a single name */
    int64_t paused_until;
    uint64_t last_tag;
    uint32_t stirred; /* for so many events to come its background threads have something to look at */
};

enum { STIRRED_FOR = 2 };

struct world {
    struct sim_random random;
    uint64_t seed;
    int64_t now;
    bool majority;
    bool denied;     /* connections can not be killed */
    bool long_lease; /* none runs out before the end: what is free was given back */
    uint32_t server_count, name_count, quorum;
    struct script_set *scripts;
    struct server servers[SERVERS_MAX];
    struct packets packets;
    struct process processes[PROCESSES];
    uint64_t grants, losses, troubled; /* what was reached */
    char failure[200];
};

static inline bool is_running(const struct process *process) {
    return process->world->now >= process->paused_until;
}

void network_start(struct world *world);
void network_flush(struct world *world);
void network_cut(struct peer *peer, uint32_t pipeline);
void network_cut_messages(struct peer *peer);
void network_fail(struct world *world, struct server *server, int64_t until);
int64_t network_next(struct world *world);
bool network_step(struct world *world);
void network_free(struct world *world);

void players_start(struct world *world);
void players_work(struct world *world);
void players_act(struct world *world, bool draining);
void players_rest(struct world *world);
int64_t players_next(const struct world *world);
bool players_are_done(const struct world *world);
void players_free(struct world *world);

void judge_granted(const struct caller *caller);
void judge_notified(const struct caller *caller);
void judge_beliefs(struct world *world);
void judge_end(struct world *world);
void fail(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
