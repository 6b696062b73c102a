/* One seed's world of locks: everything there is, what is going to happen, and what was found wrong.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WORLD_H
#define WORLD_H

#include "checker.h"
#include "sim_client.h"
#include "event_queue.h"
#include "foreign.h"
#include "group.h"
#include "server.h"
#include "world_common.h"

enum { MAX_VALUES = 6 }; /* of two groups of two names, or three of one */

struct world {
    WORLD_COMMON;
    struct event_queue events;
    struct plan plan;
    struct redis_text names[MAX_NAMES];
    char values[MAX_VALUES * GROUP_VALUE_SIZE]; /* of groups: a name is one and the next */
    struct model_server server;
    struct connection *connections;
    struct list late_requests;
    struct client *clients[MAX_CLIENTS];
    struct foreign foreign;
    struct checker checker;
    uint64_t last_owner;
    int64_t refuse_connects_until;
    int64_t hang_connects_until;
    int64_t slow_until;
    int64_t clock_set_back; /* in all */
    int64_t troubled_until; /* when the last fault so far is over */
};

void world_at(struct world *world, int64_t at, event_handler *handler, void *actor, uint64_t number);

/* Whether one more fits into a table of the simulation, whose room is `room`; else the seed fails and says so. */
bool world_has_room(struct world *world, const char *table, size_t count, size_t room);

/* Whether the locks have two sides. Each has two numbers then: even for its writers, the next one for its readers. */
static inline bool world_has_read_write(const struct world *world) {
    return world->plan.lock_kind == REDLATCH_READ;
}

/* Whether the names are of groups: all of one, or of several where sets are taken, whose members are of a group each.
 * Each name is two values then, and shares one with the next name of its group. */
static inline bool world_has_values(const struct world *world) {
    return world->plan.lock_kind == REDLATCH_GROUP;
}

/* The first name of the group that a name is of. */
static inline uint32_t world_group(const struct world *world, uint32_t name) {
    return name - name % world->plan.names_of_group;
}

/* The first of the two values that a name is; the groups have none in common. */
static inline uint32_t world_first_value(const struct world *world, uint32_t name) {
    return name + name / world->plan.names_of_group;
}

/* Whether two names of groups have a value in common. */
static inline bool world_overlap(const struct world *world, uint32_t one, uint32_t other) {
    bool near = one == other || one + 1 == other || other + 1 == one;
    return near && world_group(world, one) == world_group(world, other);
}

/* Which kind a name is of. Only one of the two mixtures has a kind that is not reentrant. */
uint8_t world_kind(const struct world *world, uint32_t name);

/* As which kind of lock a number is used. */
static inline uint8_t world_side(const struct world *world, uint32_t name) {
    uint8_t side = name % 2 == 0 ? REDLATCH_WRITE : REDLATCH_READ;
    return world_has_read_write(world) ? side : world_kind(world, name);
}

/* Which lock a name is. */
uint32_t world_name(const struct world *world, struct redis_text name);

/* Whether every planned fault is over by now. */
bool world_is_healed(const struct world *world);

#endif
