/* A simulation of what is counted: semaphores, permit semaphores and latches, whose truth is a number on the server and
 * not a holder. The engine and the scripts are the real ones; server, scripts' host and random numbers are those of
 * tests/sim. SPDX-License-Identifier: Apache-2.0
 *
 *   network.c   the server, its messages, and what becomes of each packet
 *   actors.c    threads that take, give and wait at random, and what they were told
 *   judge.c     what every operation changed on the server, against what its caller was told */
#ifndef COUNTS_H
#define COUNTS_H

#include "packets.h"
#include "wire.h"

enum { CLIENTS = 3, ACTORS = 4, IDS_MAX = 6000, TOTAL = 4, PERMITS_HELD = 8 };

enum outcome { CHANGES_NOTHING, CHANGES_EXACTLY, CHANGES_OR_NOT };

/* One operation id of a client: what it changed, and what its caller was told. */
struct account {
    int64_t effect;
    int64_t amount;
    uint8_t believed; /* enum outcome */
    bool carried_out; /* once, at least */
};

struct actor {
    struct operation operation;
    struct lock_answer answer;
    bool busy;
    int64_t act_at;
    int64_t timeout;                /* of the operation; NEVER */
    int64_t has;                    /* permits of a semaphore */
    uint64_t permits[PERMITS_HELD]; /* of a permit semaphore: ids */
    uint32_t permit_count;
};

struct client {
    struct engine engine;
    struct resource *resource;
    struct actor actors[ACTORS];
    struct pipelines pipelines;
    bool subscribed;
    int64_t hungry_since;
    uint64_t deleted_to; /* the last id that was given when all permits were deleted */
    struct account accounts[IDS_MAX];
};

struct memory;

struct world {
    struct sim_random random;
    struct memory *memory; /* everything that engines were given */
    uint64_t seed;
    int64_t now;
    uint8_t kind; /* enum redlatch_kind */
    bool denied;  /* connections can not be killed */
    bool calm;    /* no faults at all */
    int64_t faults_end;
    int64_t refuse_until; /* the server has no memory */
    int64_t busy_until;   /* it refuses whatever it is asked */
    int64_t total;        /* of a permit semaphore: in the key and taken */
    bool existed;         /* before the script that was run last */
    struct script_set *scripts;
    struct keyspace *keyspace;
    struct packets packets;
    struct client clients[CLIENTS];
    char failure[200];
};

void network_flush(struct world *world);
void network_cut(struct world *world, struct client *client, uint32_t pipeline);
void network_cut_messages(struct world *world, struct client *client);
bool network_step(struct world *world, int64_t until);
int network_publish(void *context, bool sharded, struct redis_text channel, struct redis_text message);
int64_t network_call(struct world *world, const char *command, const char *key, const char *argument);

/* Zeroed, and freed with the world. */
void *world_allocate(struct world *world, size_t size);
void world_free(struct world *world);

void actors_start(struct world *world);
void actors_act(struct world *world, bool draining);
int64_t actors_next(const struct world *world);
void actors_collect(struct world *world);
bool actors_are_done(const struct world *world);

void judge_answer(struct world *world, const struct packet *packet);
void judge_effect(struct world *world, const struct packet *packet, int64_t change);
void judge_wakes(struct world *world);
void judge_beliefs(struct world *world);
void judge_end(struct world *world);
void fail(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
