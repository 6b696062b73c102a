/* The simulated network between clients and servers: requests, replies and messages on their way; servers that pause,
 * fail and come back; connections that break and are opened again, and packets that then arrive late. The simulations
 * of counts, composite locks, failovers and clusters use it. The simulation of locks has connections of its own, which
 * also simulate the greeting (locks/sim_connection.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef NETWORK_H
#define NETWORK_H

#include "acknowledgement.h"
#include "engine.h"
#include "replication.h"
#include "world_common.h"

struct network;

/* A server. The times are 0 or in the past while it is well. */
struct sim_server {
    struct network *network;
    struct keyspace *keyspace;
    int64_t paused_until;
    int64_t down_until;
    int64_t refuse_until; /* every script that needs memory gets OOM */
    int64_t busy_until;   /* every request gets BUSY */
    uint32_t process;     /* counted up when the server restarts as another process without its data */
    struct replication replication;
};

/* A client of a server, with one connection for each pipeline and one for messages. */
struct peer {
    struct engine *engine;
    struct server *engine_server; /* the engine's record of the server; NULL: the engine's only one */
    struct sim_server *server;    /* the server that the client is on */
    struct sim_server *view;      /* the server that new connections lead to; NULL: `server` */
    uint32_t number;              /* the client's, in the trace */
    uint32_t process;             /* the process of `server` that the client is on */
    int64_t paused_until;         /* the client's process is stopped until then */
    int64_t cut_until;            /* packets sent before then, in either direction, arrive then */
    int64_t deaf_until;           /* until then the connection for messages is being opened */
    bool up[PIPELINE_COUNT];
    uint32_t epoch[PIPELINE_COUNT];                      /* how often each connection broke */
    int64_t arrival[PIPELINE_COUNT];                     /* of the last request sent; requests keep their order */
    int64_t returned[PIPELINE_COUNT];                    /* of the last reply sent; replies keep their order */
    uint32_t subscribed;                                 /* a bit for each name's channel; names are single letters */
    struct sim_server *reached[PIPELINE_COUNT];          /* where the open or the last connection led to */
    uint32_t reached_process[PIPELINE_COUNT];            /* the process of that server */
    int64_t ready_at[PIPELINE_COUNT];                    /* when that connection was opened */
    uint64_t written[PIPELINE_COUNT];                    /* the replication offset of its last write, for WAIT */
    bool waits[PIPELINE_COUNT];                          /* the server waits for replicas and reads nothing from it */
    struct packet *kept[PIPELINE_COUNT];                 /* a reply that the engine gets when it is acknowledged */
    struct acknowledgement acknowledged[PIPELINE_COUNT]; /* the acknowledgement of that reply */
};

enum packet_kind {
    PACKET_REQUEST,
    PACKET_REPLY,
    PACKET_WAIT,         /* at the server, which waits for replicas after a script */
    PACKET_ACKNOWLEDGED, /* the reply to WAIT */
    PACKET_READY,        /* the connection is open again */
    PACKET_SUBSCRIBED,
    PACKET_UNSUBSCRIBED, /* the server ended the subscription by itself */
    PACKET_MESSAGE
};

struct packet {
    struct packet *next;
    enum packet_kind kind;
    int64_t at;
    uint64_t order;
    struct peer *peer;
    struct sim_server *server; /* of a request */
    uint32_t pipeline;
    uint32_t epoch;
    int64_t wait_ms; /* of a request: how long WAIT waits for replicas at most; 0: no WAIT */
    int64_t wait_until;
    bool wrote;     /* the script changed keys */
    bool importing; /* of a request: ASKING is sent before it */
    bool refused;   /* of a subscription: the server rejected it */
    enum script_id script;
    uint32_t key_count, argument_count;
    struct redis_text *texts; /* keys and arguments, or a channel; owned, each with a NUL behind it */
    struct redis_reply reply;
};

enum { PEERS_MAX = 24, NETWORK_SERVERS_MAX = 6 };

struct network {
    struct world_common *world;
    struct peer *peers[PEERS_MAX];
    uint32_t peer_count;
    struct sim_server *servers[NETWORK_SERVERS_MAX];
    uint32_t server_count;
    struct packet *first; /* all packets on their way, the one posted last first */
    uint64_t order;
    uint32_t slow;           /* how many packets of a thousand are slow */
    int64_t connects_within; /* a broken connection is open again within this time; 0: within 0.4 s */
    bool denied;             /* KILL is denied */
    bool bus;                /* a message published on one server reaches the subscribers on all */
    /* Called before and after a script runs, unless the server is busy. May be NULL. */
    void (*before_script)(struct world_common *world, const struct packet *packet);
    void (*after_script)(struct world_common *world, const struct packet *packet);
    /* Called after an engine has handled an event. May be NULL. */
    void (*delivered)(struct world_common *world, struct peer *peer);
    /* Called when a command is sent, when a replica has received keys, and when a client has moved. May be NULL. */
    void (*sent)(struct world_common *world, struct peer *peer, const struct command *command);
    void (*replicated)(struct world_common *world, struct sim_server *server);
    void (*moved)(struct world_common *world, struct peer *peer);
    /* For a cluster; all or none are set. `refuses` returns whether a server replies without running the script.
     * `redirected` returns whether the client handles a reply itself as a redirection. `subscribes` returns whether a
     * server accepts a subscription; if not, `refused` is called. `lost` is called when a connection broke or could not
     * be opened. */
    bool (*refuses)(struct world_common *world, struct packet *packet);
    bool (*redirected)(struct world_common *world, struct peer *peer, uint32_t pipeline, const struct reply *reply);
    bool (*subscribes)(struct world_common *world, const struct peer *peer, struct redis_text channel);
    void (*refused)(struct world_common *world, struct peer *peer, struct redis_text channel);
    void (*lost)(struct world_common *world, struct peer *peer, uint32_t pipeline);
};

void network_add_server(struct network *network, struct sim_server *server);

/* Adds a client whose connections are open. The caller has set engine and server. */
void network_add_peer(struct network *network, struct peer *peer);
void network_free(struct network *network, struct sim_server *servers, uint32_t count);

/* Sends all commands that the engines have to send, and carries out their changes of subscriptions. */
void network_flush(struct network *network);

/* Returns when the next packet arrives, or NEVER if there is none. */
int64_t network_next(const struct network *network);

/* Delivers one packet that is due. Returns false if none is due. */
bool network_step(struct network *network);

/* Breaks a connection. It is opened again after a while. */
void network_cut(struct network *network, struct peer *peer, uint32_t pipeline);
void network_cut_messages(struct network *network, struct peer *peer);

/* Ends a server until `until`. It comes back with all its keys. */
void network_fail(struct network *network, struct sim_server *server, int64_t until);

/* Breaks all connections of a client, because the client was told that its server is now `server`. */
void network_move(struct network *network, struct peer *peer, struct sim_server *server);

/* Makes a server end the subscriptions to a channel by itself. */
void network_end_subscriptions(struct network *network, const struct sim_server *server, struct redis_text channel);

/* Makes the messages that the server's keys publish go to its clients. */
void network_publish_from(struct sim_server *server);

static inline struct pipeline *peer_pipeline(const struct peer *peer, uint32_t number) {
    return &peer->engine_server->pipelines[number];
}

/* Returns whether a client's process runs. */
static inline bool peer_is_running(const struct peer *peer) {
    return peer->server->network->world->now >= peer->paused_until;
}

#endif
