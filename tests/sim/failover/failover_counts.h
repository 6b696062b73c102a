/* Semaphores and latches in the simulation of failovers. What a server has of them is a number. Each change of it is
 * noted with the replication offset of the script that made it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FAILOVER_COUNTS_H
#define FAILOVER_COUNTS_H

#include "failover_world.h"

enum { CHANGES_MAX = 4000, SEMAPHORE_BEGINS_WITH = 4 };

/* What the caller of an operation was told of its effect on the number. */
enum effect { EFFECT_NONE, EFFECT_EXACT, EFFECT_EXACT_OR_NONE };

/* One wire number of a client: what its operation changed, and what the caller was told. */
struct account {
    int64_t amount;   /* of the effect that the caller was told */
    int64_t first;    /* amount of the first change that any server made for it */
    uint32_t changes; /* how many changes any server made for it */
    uint32_t kept;    /* how many of them the last master has, when the seed ends */
    int64_t sum;      /* of these */
    uint8_t effect;   /* enum effect */
    bool is_safe;     /* all replicas acknowledged the effect before the caller was told */
};

struct number_change {
    uint32_t client;
    uint64_t id;
    int64_t amount;
    uint64_t offset; /* replication offset of its script */
};

/* The changes that led to the number of a server, with those that it received as a replica. */
struct change_log {
    struct number_change changes[CHANGES_MAX];
    uint32_t count;
};

/* A thread that takes, gives and waits. */
struct actor {
    struct operation operation;
    struct lock_answer answer;
    struct phase_note phase;
    int64_t act_at;
    int64_t timeout; /* of the operation; NEVER */
    int64_t has;     /* permits */
    bool busy;
    bool timed_out; /* the operation's timeout has passed */
};

struct counted {
    struct actor actors[CLIENTS][OWNERS];
    struct account accounts[CLIENTS][IDS_MAX];
    struct change_log logs[SERVERS];
    int64_t value_before;        /* of the number, before the script that runs */
    int64_t free_since[CLIENTS]; /* since when the foremost waiter of a client sleeps in vain; 0 if it does not */
};

/* The account of a wire number. */
struct account *account_of(struct world *world, uint32_t client, uint64_t id);

/* count_actors.c */
void count_actors_start(struct world *world);
int64_t count_actors_next(const struct world *world);
void count_actors_act(struct world *world);
void count_actors_collect(struct world *world);
bool count_actors_are_done(const struct world *world);

/* count_changes.c: before and after each script, at each promotion, after each event, at the end of the seed */
void changes_before_script(struct world_common *common, const struct packet *packet);
void changes_after_script(struct world_common *common, const struct packet *packet);
void changes_promoted(struct world *world);
void judge_sleepers(struct world *world);
void judge_changes(struct world *world);

#endif
