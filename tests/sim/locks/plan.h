/* The plan of a seed's world: how many clients, how long they wait, how fast the network is, and which faults happen.
 * Each seed enables a random part of everything, so that rare combinations occur and simple ones stay simple.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PLAN_H
#define PLAN_H

#include "engine.h"
#include "world_common.h"

enum { MAX_CLIENTS = 4, MAX_OWNERS = 5, MAX_NAMES = 4, MAX_FAULTS = 24 };

/* The longest pause of a spin lock's waiter, in ms. */
enum { SPIN_PAUSE_MAX_MS = 128 };

struct planned_fault {
    int64_t at;
    int64_t duration;
    enum cover_point kind;
};

struct plan {
    struct engine_settings settings;
    uint8_t lock_kind; /* of all names, enum redlatch_kind; if mixed, MUTEX, and world_kind has each name's kind */
    bool mixed;
    bool sets; /* owners acquire all names at once, too */
    uint32_t clients;
    uint32_t owners;           /* of each client */
    uint32_t names;            /* at most 3; or 2 or 4, if two names are of one lock or group */
    uint32_t names_of_group;   /* how many names, one after the other, are of one group lock; 0 for other kinds */
    uint32_t caller_pipelines; /* how many pipelines blocking calls use */
    uint32_t actions;          /* of each owner */
    int64_t command_timeout_ms;
    int64_t dead_peer_ms;
    int64_t delay_min; /* one way through the network, microseconds */
    int64_t delay_max;
    uint32_t spikes; /* per thousand deliveries that take up to ten times as long */
    int64_t hold_max;
    int64_t think_max;
    int64_t wait_max_ms;
    int64_t lease_max_ms;  /* of fixed leases */
    uint32_t asynchronous; /* per thousand owners */
    uint32_t shared;       /* per thousand other owners: threads share their numbers */
    uint32_t forever;      /* per thousand acquires */
    uint32_t tries;
    uint32_t fixed;
    uint32_t max_holds;
    uint32_t impatient; /* per thousand waits that are cancelled */
    uint32_t extends, reenters, forces, queries, owner_ends, strays;
    uint32_t unconfirmed; /* per thousand releases */
    bool writers_only;    /* of read-write locks only the write lock is used */
    bool drift;
    bool foreign;
    bool kill_denied;
    bool subscribe_denied;
    bool lazy_host; /* collects late, sometimes after the claim timeout */
    bool calm;      /* no faults at all */
    bool quick;     /* quick enough that another client gets in whenever a process yields */
    uint32_t fault_count;
    struct planned_fault faults[MAX_FAULTS];
    int64_t faults_end; /* when all faults have ended */
};

void plan_draw(struct plan *plan, struct sim_random *random);

/* Changes the plan so that many owners want one lock again at once, and hand-overs reach their bound. With `brief`, few
 * owners want it, for longer than they wait, so that the queue is sometimes empty while others have their turn.
 * Otherwise both are too rare to be reached in every campaign. */
void plan_make_hot(struct plan *plan, bool brief);

#endif
