/* A simulation of what is counted: semaphores, permit semaphores and latches, whose truth is a number on the server and
 * not a holder. The engine and the scripts are the real ones.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   count_world.c   a seed from its begin to its end
 *   actors.c        threads that take, give and wait at random, and what they were told
 *   count_judge.c   what every operation changed on the server, against what its caller was told */
#ifndef COUNTS_H
#define COUNTS_H

#include "engine_memory.h"
#include "network.h"
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
    struct server engine_server;
    struct resource *resource;
    struct actor actors[ACTORS];
    struct peer peer;
    int64_t hungry_since;
    uint64_t deleted_to; /* the last id that was given when all permits were deleted */
    struct account accounts[IDS_MAX];
};

struct world {
    WORLD_COMMON;
    struct memory *memory; /* everything that engines were given */
    uint8_t kind;          /* enum redlatch_kind */
    bool calm;             /* no faults at all */
    int64_t total;         /* of a permit semaphore: in the key and taken */
    bool existed;          /* before the script that was run last */
    int64_t value_before;  /* the same of the count */
    struct sim_server server;
    struct network network;
    struct client clients[CLIENTS];
};

/* A command with a key, and an argument unless that is NULL, whose answer is a number or none. */
int64_t count_command(struct world *world, const char *command, const char *key, const char *argument);

/* Zeroed, and freed with the world. */
void *world_allocate(struct world *world, size_t size);

void actors_start(struct world *world);
void actors_act(struct world *world, bool draining);
int64_t actors_next(const struct world *world);
void actors_collect(struct world *world);
bool actors_are_done(const struct world *world);

/* What a script is about to change, and has changed. */
void judge_before(struct world_common *common, const struct packet *packet);
void judge_after(struct world_common *common, const struct packet *packet);
void judge_wakes(struct world *world);
void judge_permits(struct world *world);
void judge_counts(struct world *world);

#endif
