/* The simulation of a cluster: masters that each serve some slots, replicas that take their places, slots that move key
 * by key, and clients of which each has its own view of the slots. The engine and the scripts are the real ones.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Events      A slot moves: its new node imports it, the old one migrates it, and its keys move one by one. Then both
 *             nodes are told the new owner, in either order. The other nodes learn it late. A master ends and its
 *             replica takes its place; or both serve for a while. A partition separates a client and a node.
 *             Connections break.
 * Nodes       reply MOVED, ASK, TRYAGAIN, CLUSTERDOWN and CROSSSLOT as Redis 7 does, each by its own view. While a slot
 *             migrates, they refuse commands of a script on keys that they do not have.
 * Clients     begin without routes, and learn them as client/io/cluster.c does: by redirections, and by CLUSTER SLOTS
 *             from a node whose view may be old. Their commands in doubt follow the routes.
 * Invariants  No two owners believe to hold one lock, and no owner believes longer than a node said. Excepted are holds
 *             that a promoted replica lacked, by what each node had at that time. A client soon notices that a hold is
 *             gone. A waiter soon takes a free lock. In the end nothing is held, queued or waiting. Tokens rise. A
 *             command is redirected at most eight times in a row, and a channel no faster than the pauses allow. A
 *             topology does not undo a redirection that came after it was requested. If slots move without other
 *             faults, no call fails and no hold ends.
 *
 *   cluster_world.c    a seed from its beginning to its end
 *   cluster_nodes.c    what nodes know of slots, and what they reply
 *   cluster_events.c   slots that move, nodes that are replaced, partitions, broken connections
 *   cluster_routes.c   what a client knows of slots, as in client/io/cluster.c
 *   cluster_callers.c  threads that acquire, extend and release at random
 *   node_holds.c       the holds that each node has
 *   judge_holds.c      checks what clients believe against what nodes have
 *   judge_calls.c      checks results of calls; waiters; leftovers
 *   planted_cluster.c  mistakes in scripts that these checks find */
#ifndef CLUSTER_WORLD_H
#define CLUSTER_WORLD_H

#include "engine_memory.h"
#include "held_keys.h"
#include "network.h"
#include "routes.h"
#include "topology.h"
#include "unconfirmed_release.h"

enum { SHARDS = 3, NODES = 2 * SHARDS, NOBODY = NODES, CLIENTS = 3, CALLERS = 3, NAMES_MAX = 3, IDS_MAX = 4000 };
enum { HOLDERS_MAX = 16, REDIRECTIONS_MAX = 8 };

struct node_holds {
    struct server_hold holds[HOLDERS_MAX];
    uint32_t count;
};

/* The history of one wire number of a client. */
struct id_note {
    int64_t leased_until;   /* the latest end of a lease that any node has had */
    int64_t unknown_since;  /* since when the client believes in it longer than the node of its name has it; 0 */
    int64_t left_since;     /* since when the node of its name has it and its client does not know of it; 0 */
    bool excused;           /* a replica lacked it when it was promoted, or a replaced master granted it */
    uint32_t releases_sent; /* how many releases may have run */
    int64_t deadline;       /* in which its client believed last */
    int64_t released_at;
    bool released;         /* by a script, on some node */
    bool late;             /* the command ran after its connection had ended: no owner gets the grant */
    bool release_repeated; /* the release was sent again: it may have removed the hold before */
    bool lost;             /* the client was told so */
    bool may_end_sooner;   /* an extension began, and the deadline has not moved later since */
    struct unconfirmed_release unconfirmed;
};

/* What a node knows of slots. Each name has its own slot. */
struct node_view {
    uint32_t owner[NAMES_MAX]; /* NOBODY: the node knows of no owner */
    uint32_t migrates_to[NAMES_MAX];
    uint32_t imports_from[NAMES_MAX];
    bool fails; /* it knows that a master is gone, and serves nobody until that master is replaced */
};

/* The steps of a slot's move. */
enum move_step { MOVE_NONE, MOVE_IMPORTS, MOVE_MIGRATES, MOVE_KEYS, MOVE_ENDS, MOVE_ENDED };

struct slot_move {
    uint8_t step;
    bool source_first; /* at the end the source is told first */
    uint32_t from, to;
    int64_t at; /* when the next step is due; NEVER */
};

struct caller {
    struct operation operation;
    struct lock_answer answer;
    uint32_t client;
    uint64_t number;
    uint32_t name;
    int64_t act_at;
    int64_t began_at;
    int64_t timeout; /* of the operation; NEVER: none */
    int64_t phase_since;
    uint8_t phase;
    bool busy;
    bool held_before;
    bool timed_out;
};

struct client {
    struct engine engine;
    struct server nobody;       /* where names are routed whose node is not known */
    struct server nodes[NODES]; /* the engine's records of the nodes */
    struct peer peers[NODES];
    struct server *routes[SLOT_COUNT];
    struct resource *names[NAMES_MAX];
    struct caller callers[CALLERS];
    bool serves[NODES], served[NODES]; /* nodes of the routes: now, and when the client last followed them */
    bool changed;                      /* the routes have changed since the client followed them */
    int64_t routed_at[NAMES_MAX];      /* when the route of each name changed last */
    int64_t redirected_at[NAMES_MAX];  /* when a node last replied MOVED for each name */
    int64_t refused_from[NAMES_MAX];   /* the start of a tenth of a second, for each name */
    uint32_t refused[NAMES_MAX];       /* refused subscriptions in that time, for each name */
    int64_t search_at;                 /* when the client requests the topology; NEVER */
    int64_t requested_at;              /* when it did so last */
    int64_t found_at;                  /* when the reply arrives; NEVER */
    uint32_t found[NAMES_MAX];         /* the owners in that reply */
    struct topology topology;
    uint64_t losses_reported;
    struct id_note notes[IDS_MAX];
};

/* A client and a node receive nothing from each other. */
struct partition {
    struct peer *peer; /* NULL: none */
    int64_t doubt_at, notice_at, until;
};

struct world {
    WORLD_COMMON;
    struct memory *memory; /* all memory of the engines */
    uint8_t kind;          /* enum redlatch_kind */
    uint32_t name_count;
    bool calm;            /* slots move, and there are no faults */
    bool restless;        /* slots move all the time, back and forth */
    bool draining;        /* callers release what they hold, and acquire no more */
    bool ending;          /* all callers are done */
    bool full_coverage;   /* while a master is gone, no node serves anybody */
    uint32_t unconfirmed; /* per thousand releases */
    struct network network;
    struct sim_server servers[NODES];
    struct node_view views[NODES];
    struct node_holds held[NODES][NAMES_MAX];
    uint32_t owner[NAMES_MAX]; /* the node that serves the slot, which all nodes will learn */
    int64_t owned_since[NAMES_MAX];
    int64_t changed_at[NAMES_MAX];       /* when a node last learned of the slot, or a key of it moved */
    int64_t gossip_at[NODES][NAMES_MAX]; /* when a node learns who owns a slot; NEVER */
    int64_t released_at[NAMES_MAX];      /* when a script removed the last hold; 0 */
    uint64_t last_token[NAMES_MAX];
    struct slot_move moves[NAMES_MAX];
    uint32_t master[SHARDS];    /* the master of each shard */
    int64_t promote_at[SHARDS]; /* when its replica takes its place; NEVER */
    int64_t demote_at[SHARDS];  /* when the former master becomes a replica; NEVER */
    uint32_t former[SHARDS];
    bool two_masters[SHARDS]; /* the former master has not ended */
    struct partition partition;
    struct client clients[CLIENTS];
    int64_t event_at;
};

/* Allocates zeroed memory that is freed with the world. */
void *cluster_allocate(struct world *world, size_t size);

static inline const char *name_text(uint32_t name) {
    static const char *const names[NAMES_MAX] = {"a", "b", "c"};
    return names[name % NAMES_MAX];
}

static inline uint16_t slot_of_name(uint32_t name) {
    return key_slot(name_text(name), 1);
}

/* Returns the other node of a shard: the replica of a master, or the master of a replica. */
static inline uint32_t other_of_shard(uint32_t node) {
    return (node + SHARDS) % NODES;
}

static inline uint32_t client_of_peer(const struct peer *peer) {
    return peer->number / NODES;
}

static inline uint32_t node_of_peer(const struct peer *peer) {
    return peer->number % NODES;
}

/* cluster_nodes.c */
uint32_t node_of_server(const struct world *world, const struct sim_server *server);
uint32_t name_of_key(const struct world *world, struct redis_text key);
bool node_refuses(struct world_common *common, struct packet *packet);
bool node_subscribes(struct world_common *common, const struct peer *peer, struct redis_text channel);
/* Tells a node who owns a slot. */
void node_learns(struct world *world, uint32_t node, uint32_t name, uint32_t owner);
/* Moves one key of a slot to the node that imports the slot. Returns false if none is left. */
bool node_moves_key(struct world *world, uint32_t name, uint32_t from, uint32_t to);
/* Returns whether all nodes that are up agree who owns a slot, and the slot is not moving. */
bool slot_is_agreed_on(const struct world *world, uint32_t name);

/* cluster_events.c */
void events_start(struct world *world);
int64_t events_next(const struct world *world);
void events_act(struct world *world);
void events_end(struct world *world);
bool node_is_up(const struct world *world, uint32_t node);

/* cluster_routes.c */
void routes_start(struct world *world, uint32_t number);
int64_t routes_next(const struct world *world);
void routes_act(struct world *world);
void routes_search(struct world *world, struct client *client, int64_t after);
void routes_follow(struct world *world, struct client *client);
bool client_redirected(struct world_common *common, struct peer *peer, uint32_t pipeline, const struct reply *reply);
void client_refused(struct world_common *common, struct peer *peer, struct redis_text channel);
void client_lost(struct world_common *common, struct peer *peer, uint32_t pipeline);
void client_delivered(struct world_common *common, struct peer *peer);
/* Returns the node to which a client routes a name. */
uint32_t route_of(const struct client *client, uint32_t name);

/* cluster_callers.c */
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

/* judge_holds.c: called after each event, after each script, and when a replica takes the place of its master */
void cluster_judge_holds(struct world *world);
void cluster_judge_script(struct world_common *common, const struct packet *packet);
void cluster_judge_promotion(struct world *world, uint32_t former, uint32_t master);

/* judge_calls.c */
void cluster_judge_sent(struct world_common *common, struct peer *peer, const struct command *command);
/* Called when the reply to the oldest command says that the command was not run. */
void cluster_judge_not_run(struct world *world, uint32_t client, const struct pipeline *pipeline);
void cluster_judge_ended(struct world *world, struct client *client, const struct caller *caller);
void cluster_judge_losses(struct world *world, struct client *client);
void cluster_judge_waiters(struct world *world);
void cluster_judge_left_behind(struct world *world);
void cluster_judge_end(struct world *world);

/* Returns whether, since `since`, all nodes agree which node serves a name, and the client could reach that node. */
bool could_reach(const struct world *world, const struct client *client, uint32_t name, uint32_t pipeline,
                 int64_t since);

#endif
