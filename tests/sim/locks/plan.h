/* What a seed's world is like: how many clients, how patient, how fast, and which faults may befall it.
 * Each seed enables a random part of everything, so that rare combinations come up and simple ones stay simple.
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
    uint8_t lock_kind; /* of all names, enum redlatch_kind; of mixed ones MUTEX, and world_kind has the kind of each */
    bool mixed;
    bool sets; /* owners take all names at once, too */
    uint32_t clients;
    uint32_t owners;           /* of each client */
    uint32_t names;            /* at most 3; where two are of one lock or group, 2 or 4 */
    uint32_t names_of_group;   /* how many of them, which lie side by side, are of one group; 0 for other kinds */
    uint32_t caller_pipelines; /* pipelines that blocking calls use */
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
    uint32_t shared;       /* per thousand other owners: several threads use their numbers */
    uint32_t forever;      /* per thousand acquires */
    uint32_t tries;
    uint32_t fixed;
    uint32_t max_holds;
    uint32_t impatient; /* per thousand waits that are cancelled */
    uint32_t extends, reenters, forces, queries, owner_ends, strays;
    uint32_t unconfirmed; /* per thousand releases */
    bool writers_only;    /* of read-write locks only one side is used */
    bool drift;
    bool foreign;
    bool kill_denied;
    bool subscribe_denied;
    bool lazy_host; /* collects late, sometimes after the claim time-out */
    bool calm;      /* no faults at all */
    bool quick;     /* the network is so quick that a yielding process always lets another in */
    uint32_t fault_count;
    struct planned_fault faults[MAX_FAULTS];
    int64_t faults_end; /* everything is healed then */
};

void plan_draw(struct plan *plan, struct sim_random *random);

/* So many want one lock, and are back at once, that hand-overs follow each other up to their bound. Brief: few want it,
 * for longer than they wait, so that the queue is empty now and then while others have their turn. Both are too rare to
 * be reached in every campaign otherwise. */
void plan_make_hot(struct plan *plan, bool brief);

#endif
