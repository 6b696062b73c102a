/* A simulation of a cluster: masters that each serve some slots, replicas that take their places, slots that move key
 * by key, and clients that each have a view of their own of where the slots are. The engine and the scripts are the
 * real ones.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Events      A slot moves: its new node imports it, the old one migrates it, its keys move one by one. Then both
 *             nodes are notified who owns it, in either order. The other nodes learn it late. A master ends and its
 *             replica takes its place; or both serve for a while. A client and a node hear nothing of each other.
 *             Connections break.
 * Nodes       reply MOVED, ASK, TRYAGAIN, CLUSTERDOWN and CROSSSLOT as Redis 7 does, each by what it knows, and refuse
 *             commands of a script on keys that they have not, while a slot migrates.
 * Clients     begin without routes, and learn them as client/io/cluster.c does: by redirections, and by CLUSTER SLOTS
 *             of a node that may be behind. What they send in doubt follows the routes.
 * Invariants  Nobody believes in a lock that another one believes in, or for longer than a node said, but for what a
 *             replica did not have that took its master's place, judged by what each had then. A hold that is gone is
 *             noticed soon. A waiter takes a free lock soon. Nothing is left held, queued or waiting, and tokens rise.
 *             A command is redirected at most eight times in a row, a channel no faster than pauses allow, and a
 *             topology does not undo a redirection that came after it was requested. Slots that move alone, without
 * faults, make no call fail and no hold end.
 *
 *   cluster_world.c    a seed from its begin to its end
 *   nodes.c            what nodes know of slots, and what they reply
 *   events.c           slots that move, nodes that are replaced, partitions, broken connections
 *   routes.c           what a client knows of slots, in the manner of client/io/cluster.c
 *   callers.c          threads that acquire, extend and release at random
 *   node_holds.c       what each node has of each name
 *   judge_holds.c      what clients believe, against that
 *   judge_calls.c      what calls return; waiters; leftovers
 *   planted_cluster.c  mistakes in scripts that these find */
#ifndef CLUSTER_SIM_H
#define CLUSTER_SIM_H

#include "engine_memory.h"
#include "held_keys.h"
#include "network.h"
#include "routes.h"
#include "topology.h"

enum { SHARDS = 3, NODES = 2 * SHARDS, NOBODY = NODES, CLIENTS = 3, CALLERS = 3, NAMES_MAX = 3, IDS_MAX = 4000 };
enum { HOLDERS_MAX = 16, REDIRECTIONS_MAX = 8 };

struct node_holds {
    struct server_hold holds[HOLDERS_MAX];
    uint32_t count;
};

/* What became of a wire number of a client. */
struct id_note {
    int64_t leased_until;  /* the latest end of a lease that any node has known */
    int64_t unknown_since; /* its client believes in it, and the node of its name does not bear that out; 0 */
    int64_t left_since;    /* the node of its name has it, and its client does not know of it; 0 */
    bool excused; /* a replica that took its master's place lacked it; or a node that was replaced granted it */
    uint32_t releases_sent; /* that may have been carried out */
    int64_t deadline;       /* that its client believed in last */
    int64_t released_at;
    bool released;         /* by a script, on some node */
    bool late;             /* granted to nobody: the command came when its connection was over */
    bool release_repeated; /* the release was sent again: what it finds may be its own doing */
    bool lost;             /* as its client was told */
    bool may_end_sooner;   /* it was extended, and the last extension has not succeeded */
};

/* What a node knows of slots; each name has a slot of its own. */
struct node_view {
    uint32_t owner[NAMES_MAX]; /* NOBODY: it knows of none */
    uint32_t migrates_to[NAMES_MAX];
    uint32_t imports_from[NAMES_MAX];
    bool fails; /* it has heard that a master is gone, and serves nobody until that one is replaced */
};

/* A slot on its way. */
enum move_step { MOVE_NONE, MOVE_IMPORTS, MOVE_MIGRATES, MOVE_KEYS, MOVE_ENDS, MOVE_ENDED };

struct slot_move {
    uint8_t step;
    bool source_first; /* the source is notified of the end first */
    uint32_t from, to;
    int64_t at; /* of the next step; NEVER */
};

struct caller {
    struct operation operation;
    struct lock_answer answer;
    uint32_t client;
    uint64_t number;
    uint32_t name;
    int64_t act_at;
    int64_t began_at;
    int64_t timeout; /* of the operation; NEVER */
    int64_t phase_since;
    uint8_t phase;
    bool busy;
    bool held_before;
    bool timed_out;
};

struct client {
    struct engine engine;
    struct server nobody;       /* where names lead that no node is known to serve */
    struct server nodes[NODES]; /* as the engine knows them */
    struct peer peers[NODES];
    struct server *routes[SLOT_COUNT];
    struct resource *names[NAMES_MAX];
    struct caller callers[CALLERS];
    bool serves[NODES], served[NODES]; /* as the routes are, and were when they were followed */
    bool changed;                      /* the routes */
    int64_t routed_at[NAMES_MAX];      /* when the route of a name changed last */
    int64_t redirected_at[NAMES_MAX];  /* when a node said MOVED of a name last */
    int64_t refused_from[NAMES_MAX];   /* a tenth of a second in which nodes refuse channels of a name, */
    uint32_t refused[NAMES_MAX];       /* so often */
    int64_t search_at;                 /* the topology is asked for; NEVER */
    int64_t requested_at;              /* when it was last */
    int64_t found_at;                  /* the reply comes; NEVER */
    uint32_t found[NAMES_MAX];         /* which says this */
    struct topology topology;
    uint64_t losses_reported;
    struct id_note notes[IDS_MAX];
};

/* A client and a node hear nothing of each other. */
struct partition {
    struct peer *peer; /* NULL: none */
    int64_t doubt_at, notice_at, until;
};

struct world {
    WORLD_COMMON;
    struct memory *memory; /* everything that engines were given */
    uint8_t kind;          /* enum redlatch_kind */
    uint32_t name_count;
    bool calm;          /* slots move, and nothing else happens */
    bool restless;      /* slots move all the time, back and forth */
    bool draining;      /* everybody gives back what he has */
    bool ending;        /* all have */
    bool full_coverage; /* nobody serves anything while a master is gone */
    struct network network;
    struct sim_server servers[NODES];
    struct node_view views[NODES];
    struct node_holds held[NODES][NAMES_MAX];
    uint32_t owner[NAMES_MAX]; /* the node that serves the slot, as all will know */
    int64_t owned_since[NAMES_MAX];
    int64_t changed_at[NAMES_MAX];       /* when any node learned of the slot last, or its keys moved */
    int64_t gossip_at[NODES][NAMES_MAX]; /* a node learns who owns a slot; NEVER */
    int64_t released_at[NAMES_MAX];      /* the last hold went, by a script; 0 */
    uint64_t last_token[NAMES_MAX];
    struct slot_move moves[NAMES_MAX];
    uint32_t master[SHARDS];    /* the node that is */
    int64_t promote_at[SHARDS]; /* its replica takes its place; NEVER */
    int64_t demote_at[SHARDS];  /* the former master becomes a replica; NEVER */
    uint32_t former[SHARDS];
    bool two_masters[SHARDS]; /* the former one has not ended */
    struct partition partition;
    struct client clients[CLIENTS];
    int64_t event_at;
};

/* Zeroed, and freed with the world. */
void *cluster_allocate(struct world *world, size_t size);

static inline const char *name_text(uint32_t name) {
    static const char *const names[NAMES_MAX] = {"a", "b", "c"};
    return names[name % NAMES_MAX];
}

static inline uint16_t slot_of_name(uint32_t name) {
    return key_slot(name_text(name), 1);
}

/* The replica of a master, or the master of a replica: of two nodes of a shard the other one. */
static inline uint32_t other_of_shard(uint32_t node) {
    return (node + SHARDS) % NODES;
}

static inline uint32_t client_of_peer(const struct peer *peer) {
    return peer->number / NODES;
}

static inline uint32_t node_of_peer(const struct peer *peer) {
    return peer->number % NODES;
}

/* nodes.c */
uint32_t node_of_server(const struct world *world, const struct sim_server *server);
uint32_t name_of_key(const struct world *world, struct redis_text key);
bool node_refuses(struct world_common *common, struct packet *packet);
bool node_subscribes(struct world_common *common, const struct peer *peer, struct redis_text channel);
/* A node learns who owns a slot. */
void node_learns(struct world *world, uint32_t node, uint32_t name, uint32_t owner);
/* Moves a key of a slot to the node that imports it; false if there is none left. */
bool node_moves_key(struct world *world, uint32_t name, uint32_t from, uint32_t to);
/* All nodes agree, and the keys are there. */
bool slot_is_agreed_on(const struct world *world, uint32_t name);

/* events.c */
void events_start(struct world *world);
int64_t events_next(const struct world *world);
void events_act(struct world *world);
void events_end(struct world *world);
bool node_is_up(const struct world *world, uint32_t node);

/* routes.c */
void routes_start(struct world *world, uint32_t number);
int64_t routes_next(const struct world *world);
void routes_act(struct world *world);
void routes_search(struct world *world, struct client *client, int64_t after);
void routes_follow(struct world *world, struct client *client);
bool client_redirected(struct world_common *common, struct peer *peer, uint32_t pipeline, const struct reply *reply);
void client_refused(struct world_common *common, struct peer *peer, struct redis_text channel);
void client_lost(struct world_common *common, struct peer *peer, uint32_t pipeline);
void client_delivered(struct world_common *common, struct peer *peer);
/* The node that a client believes to serve a name. */
uint32_t route_of(const struct client *client, uint32_t name);

/* callers.c */
void callers_start(struct world *world);
int64_t callers_next(const struct world *world);
void callers_act(struct world *world);
void callers_collect(struct world *world);
bool callers_are_done(const struct world *world);
bool caller_is_granted(const struct client *client, const struct hold *hold);

/* node_holds.c */
void node_holds_read(struct world *world, uint32_t node, uint32_t name);
const struct server_hold *node_hold_find(const struct world *world, uint32_t node, uint32_t name, uint32_t client,
                                         uint64_t id);
struct id_note *cluster_note(struct world *world, uint32_t client, uint64_t id);

/* judge_holds.c: after each event, each script, and when a replica takes the place of its master */
void cluster_judge_holds(struct world *world);
void cluster_judge_script(struct world_common *common, const struct packet *packet);
void cluster_judge_promotion(struct world *world, uint32_t former, uint32_t master);

/* judge_calls.c */
void cluster_judge_sent(struct world_common *common, struct peer *peer, const struct command *command);
/* The reply to the oldest command says that it was not run. */
void cluster_judge_not_run(struct world *world, uint32_t client, const struct pipeline *pipeline);
void cluster_judge_ended(struct world *world, struct client *client, const struct caller *caller);
void cluster_judge_losses(struct world *world, struct client *client);
void cluster_judge_waiters(struct world *world);
void cluster_judge_left_behind(struct world *world);
void cluster_judge_end(struct world *world);
/* Whether a client has been able to reach the node of a name for so long, and all agree that it is that one. */
bool could_reach(const struct world *world, const struct client *client, uint32_t name, uint32_t pipeline,
                 int64_t since);

#endif
