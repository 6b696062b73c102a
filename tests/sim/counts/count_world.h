/* The simulation of semaphores, permit semaphores and latches. Their state on the server is a number, not a holder. The
 * engine and the scripts are the real ones.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   count_world.c    a seed from its beginning to its end
 *   count_callers.c  threads that acquire, release and wait at random, and the results of their calls
 *   count_judge.c    checks what every operation changed on the server against what its caller was told */
#ifndef COUNT_WORLD_H
#define COUNT_WORLD_H

#include "engine_memory.h"
#include "network.h"
#include "wire.h"

enum { CLIENTS = 3, ACTORS = 4, IDS_MAX = 6000, TOTAL = 4, PERMITS_HELD = 8 };

enum outcome { CHANGES_NOTHING, CHANGES_EXACTLY, CHANGES_OR_NOT };

/* What one operation id of a client changed (`effect`), and what its caller was told to have changed. */
struct account {
    int64_t effect;
    int64_t amount;
    uint8_t believed; /* enum outcome */
    bool carried_out; /* its script has run at least once */
};

struct actor {
    struct operation operation;
    struct lock_answer answer;
    bool busy;
    int64_t act_at;
    int64_t timeout;                /* of the operation; NEVER: none */
    int64_t has;                    /* permits of a semaphore that it has acquired */
    uint64_t permits[PERMITS_HELD]; /* ids of its permits of a permit semaphore */
    uint32_t permit_count;
};

struct client {
    struct engine engine;
    struct server engine_server;
    struct resource *resource;
    struct actor actors[ACTORS];
    struct peer peer;
    int64_t hungry_since;
    uint64_t deleted_to; /* the last id in use when all permits were deleted */
    struct account accounts[IDS_MAX];
};

struct world {
    WORLD_COMMON;
    struct memory *memory; /* all memory of the engines */
    uint8_t kind;          /* enum redlatch_kind */
    bool calm;             /* no faults at all */
    int64_t total;         /* permits of a permit semaphore: those in the key and those taken */
    bool existed;          /* whether the key existed before the last script */
    int64_t value_before;  /* the count before the last script */
    struct sim_server server;
    struct network network;
    struct client clients[CLIENTS];
};

/* Runs a command with a key and, unless it is NULL, an argument. Returns the number in its reply, or 0. */
int64_t count_command(struct world *world, const char *command, const char *key, const char *argument);

/* Allocates zeroed memory that is freed with the world. */
void *world_allocate(struct world *world, size_t size);

void actors_start(struct world *world);
void actors_act(struct world *world, bool draining);
int64_t actors_next(const struct world *world);
void actors_collect(struct world *world);
bool actors_are_done(const struct world *world);

/* These are called before and after each script. */
void judge_before(struct world_common *common, const struct packet *packet);
void judge_after(struct world_common *common, const struct packet *packet);
void judge_wakes(struct world *world);
void judge_permits(struct world *world);
void judge_counts(struct world *world);

#endif
