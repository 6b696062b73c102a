/* What is on its way between clients and servers: requests, replies and messages; servers that pause, fail and come
 * back; connections that break, are made again, and what then comes late. The simulations of counts and of several
 * servers stand on it; that of locks has connections of its own, with all that happens while one is set up
 * (locks/sim_connection.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef NETWORK_H
#define NETWORK_H

#include "acknowledgement.h"
#include "engine.h"
#include "replication.h"
#include "world_common.h"

struct network;

/* Times are 0, or in the past, when all is well. */
struct sim_server {
    struct network *network;
    struct keyspace *keyspace;
    int64_t paused_until;
    int64_t down_until;
    int64_t refuse_until; /* it has no memory */
    int64_t busy_until;   /* it refuses whatever it is asked */
    uint32_t process;     /* counted up when it is started again as another process, without what it had */
    struct replication replication;
};

/* A client of a server, with one connection for each pipeline, and one for messages. */
struct peer {
    struct engine *engine;
    struct server *engine_server; /* as the engine knows the server; NULL: its only one */
    struct sim_server *server;    /* that it is on */
    struct sim_server *view;      /* to which new connections lead; NULL: the same */
    uint32_t number;              /* in the trace */
    uint32_t process;             /* of the server, that it is on */
    int64_t paused_until;         /* its process is stopped */
    int64_t cut_until;            /* nothing gets through, either way; what is sent meanwhile comes then */
    int64_t deaf_until;           /* its connection for messages is being made */
    bool up[PIPELINE_COUNT];
    uint32_t epoch[PIPELINE_COUNT];                      /* how often each broke */
    int64_t arrival[PIPELINE_COUNT];                     /* of the last request sent: they keep their order */
    int64_t returned[PIPELINE_COUNT];                    /* the same of replies */
    uint32_t subscribed;                                 /* a bit for each name's channel: names are single letters */
    struct sim_server *reached[PIPELINE_COUNT];          /* by the connection that is there, or was last */
    uint32_t reached_process[PIPELINE_COUNT];            /* and which process of it */
    int64_t ready_at[PIPELINE_COUNT];                    /* when that was made */
    uint64_t written[PIPELINE_COUNT];                    /* by it: the offset, which a WAIT is about */
    bool waits[PIPELINE_COUNT];                          /* the server waits for replicas, and reads nothing */
    struct packet *kept[PIPELINE_COUNT];                 /* a reply that counts when it is acknowledged */
    struct acknowledgement acknowledged[PIPELINE_COUNT]; /* and what is said of it */
};

enum packet_kind {
    PACKET_REQUEST,
    PACKET_REPLY,
    PACKET_WAIT,         /* the server waits for replicas behind a script */
    PACKET_ACKNOWLEDGED, /* the reply to that */
    PACKET_READY,        /* the connection is there again */
    PACKET_SUBSCRIBED,
    PACKET_UNSUBSCRIBED, /* unasked */
    PACKET_MESSAGE
};

struct packet {
    struct packet *next;
    enum packet_kind kind;
    int64_t at;
    uint64_t order;
    struct peer *peer;
    struct sim_server *server; /* a request's */
    uint32_t pipeline;
    uint32_t epoch;
    int64_t wait_ms; /* a request: it waits for replicas, for so long at most; 0: it does not */
    int64_t wait_until;
    bool wrote;     /* its script did */
    bool importing; /* a request: ASKING goes before it */
    bool refused;   /* a subscription */
    enum script_id script;
    uint32_t key_count, argument_count;
    struct redis_text *texts; /* keys and arguments, or a channel: owned, with a NUL after each */
    struct redis_reply reply;
};

enum { PEERS_MAX = 24, NETWORK_SERVERS_MAX = 6 };

struct network {
    struct world_common *world;
    struct peer *peers[PEERS_MAX];
    uint32_t peer_count;
    struct sim_server *servers[NETWORK_SERVERS_MAX];
    uint32_t server_count;
    struct packet *first; /* all that are on their way, the last one posted first */
    uint64_t order;
    uint32_t slow;           /* how many of a thousand are slow */
    int64_t connects_within; /* a connection that broke is made again; 0: within 0.4 s */
    bool denied;             /* connections can not be killed */
    bool bus;                /* messages of one server are heard at all */
    /* What the scenario does around a script, unless the server is busy; may be NULL. */
    void (*before_script)(struct world_common *world, const struct packet *packet);
    void (*after_script)(struct world_common *world, const struct packet *packet);
    /* What it does when an engine was given something; may be NULL. */
    void (*delivered)(struct world_common *world, struct peer *peer);
    /* What it does when a command goes, when a replica was given keys, and when a client has moved; may be NULL. */
    void (*sent)(struct world_common *world, struct peer *peer, const struct command *command);
    void (*replicated)(struct world_common *world, struct sim_server *server);
    void (*moved)(struct world_common *world, struct peer *peer);
    /* Of a cluster, all or none. Whether a server replies without running a script; whether a client takes that reply
     * by itself; whether a server takes a subscription; what a client does when it did not, and when a connection
     * broke, or was not made. */
    bool (*refuses)(struct world_common *world, struct packet *packet);
    bool (*redirected)(struct world_common *world, struct peer *peer, uint32_t pipeline, const struct reply *reply);
    bool (*subscribes)(struct world_common *world, const struct peer *peer, struct redis_text channel);
    void (*refused)(struct world_common *world, struct peer *peer, struct redis_text channel);
    void (*lost)(struct world_common *world, struct peer *peer, uint32_t pipeline);
};

void network_add_server(struct network *network, struct sim_server *server);

/* Its connections are there. The caller has set engine and server. */
void network_add_peer(struct network *network, struct peer *peer);
void network_free(struct network *network, struct sim_server *servers, uint32_t count);

/* Sends everything that engines have to say, and changes what they subscribe to. */
void network_flush(struct network *network);

/* When the next packet comes; NEVER if there is none. */
int64_t network_next(const struct network *network);

/* Delivers one packet that is due; false when there is none. */
bool network_step(struct network *network);

/* Breaks a connection, which is made again after a while. */
void network_cut(struct network *network, struct peer *peer, uint32_t pipeline);
void network_cut_messages(struct network *network, struct peer *peer);

/* A server ends, and comes back with all its keys. */
void network_fail(struct network *network, struct sim_server *server, int64_t until);

/* All connections of a client are given up, as its server is another one: the client was told so. */
void network_move(struct network *network, struct peer *peer, struct sim_server *server);

/* A server ends the subscriptions to a channel by itself. */
void network_end_subscriptions(struct network *network, const struct sim_server *server, struct redis_text channel);

/* What the server's keys publish goes to its clients. */
void network_publish_from(struct sim_server *server);

static inline struct pipeline *peer_pipeline(const struct peer *peer, uint32_t number) {
    return &peer->engine_server->pipelines[number];
}

/* Whether a process runs. */
static inline bool peer_is_running(const struct peer *peer) {
    return peer->server->network->world->now >= peer->paused_until;
}

#endif
