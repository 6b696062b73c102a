/* What is on its way between clients and servers: requests, replies and messages, connections that break, and what
 * comes late of them. The simulations in tests/counts and tests/composite stand on it; that of locks knows the bytes of
 * a connection, too (sim_connection.h). SPDX-License-Identifier: Apache-2.0 */
#ifndef PACKETS_H
#define PACKETS_H

#include "engine.h"
#include "script_set.h"
#include "sim_random.h"

/* A client's connections to a server. */
struct pipelines {
    bool up[PIPELINE_COUNT];
    uint32_t epoch[PIPELINE_COUNT];   /* how often each broke */
    int64_t arrival[PIPELINE_COUNT];  /* of the last request sent: they keep their order */
    int64_t returned[PIPELINE_COUNT]; /* the same of replies */
};

enum packet_kind {
    PACKET_REQUEST,
    PACKET_REPLY,
    PACKET_READY, /* the connection is there again */
    PACKET_SUBSCRIBED,
    PACKET_MESSAGE
};

struct packet {
    struct packet *next;
    enum packet_kind kind;
    int64_t at;
    uint64_t order;
    struct pipelines *pipelines;
    uint32_t pipeline;
    uint32_t epoch;
    enum script_id script;
    uint32_t key_count, argument_count;
    struct redis_text *texts; /* keys and arguments, or a channel: owned, with a NUL after each */
    struct redis_reply reply;
};

/* All that are on their way, the last one posted first. */
struct packets {
    struct packet *first;
    uint64_t order;
    struct sim_random *random;
    uint32_t slow; /* how many of a thousand are slow */
};

struct packet *packet_new(struct pipelines *pipelines, enum packet_kind kind, uint32_t pipeline);
void packet_free(struct packet *packet);

/* Writes a channel into a message. */
void packet_set_channel(struct packet *packet, struct redis_text channel);

/* The server carries a request out, whether or not anybody is there for the reply any more. */
void packet_run(struct packet *packet, struct script_set *scripts, enum script_error_reply error_reply,
                struct keyspace *keyspace, int64_t now);

/* Tells the engine of a reply, unless it came on a connection that broke. */
void packet_answer(const struct packet *packet, struct engine *engine, int64_t now);

/* The time that one takes. */
int64_t packets_delay(struct packets *packets);

/* On its way from now on, until `at`; the owner of a packet. */
void packets_post(struct packets *packets, struct packet *packet, int64_t at);

/* Sends everything that an engine has to say on a pipeline. */
void packets_send(struct packets *packets, struct pipelines *pipelines, struct engine *engine, uint32_t pipeline,
                  int64_t now);

/* Sends a request back as its reply; frees it when its connection broke. */
void packets_return(struct packets *packets, struct packet *packet, int64_t now);

/* Breaks a connection, which is made again after a while; false when there is none. */
bool packets_cut(struct packets *packets, struct pipelines *pipelines, struct engine *engine, uint32_t pipeline,
                 int64_t now);

/* A new connection. Where the old one can be killed, what it had on the way is gone; else it still comes, late. */
void packets_reconnect(struct packets *packets, const struct packet *ready, struct engine *engine, bool denied,
                       int64_t now);

/* Takes those of a kind, and of one pipeline unless that is PIPELINE_COUNT, off the way. */
void packets_drop(struct packets *packets, const struct pipelines *pipelines, enum packet_kind kind, uint32_t pipeline);

/* The one that comes next, which stays on its way; NULL if there is none. */
struct packet *packets_first(const struct packets *packets);

/* Takes one off its way, for the caller to free or to post again. */
void packets_take(struct packets *packets, const struct packet *packet);

void packets_free(struct packets *packets);

#endif
