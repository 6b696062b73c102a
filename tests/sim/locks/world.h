/* One seed's world of locks: its parts, its events to come, and the checks' records.
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

enum { MAX_VALUES = 6 }; /* two groups of two names, or three of one */

struct world {
    WORLD_COMMON;
    struct event_queue events;
    struct plan plan;
    struct redis_text names[MAX_NAMES];
    char values[MAX_VALUES * GROUP_VALUE_SIZE]; /* of group locks; a name is two neighbouring values */
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
    int64_t clock_set_back; /* in total */
    int64_t troubled_until; /* when the last fault until now has ended */
};

void world_at(struct world *world, int64_t at, event_handler *handler, void *actor, uint64_t number);

/* Returns whether a table of the simulation has room for another element. If not, the seed fails with that message. */
bool world_has_room(struct world *world, const char *table, size_t count, size_t room);

/* Returns whether the locks are read-write locks. Such a lock has two indices: even for writing, the next for
 * reading. */
static inline bool world_has_read_write(const struct world *world) {
    return world->plan.lock_kind == REDLATCH_READ;
}

/* Returns whether the locks are group locks. All names are of one group, or, if sets are acquired, of several. Then
 * each member of a set is of another group. Each name is two values, and shares one with the next name of its group. */
static inline bool world_has_values(const struct world *world) {
    return world->plan.lock_kind == REDLATCH_GROUP;
}

/* Returns the first name of a name's group. */
static inline uint32_t world_group(const struct world *world, uint32_t name) {
    return name - name % world->plan.names_of_group;
}

/* Returns the first of a name's two values. Groups have no values in common. */
static inline uint32_t world_first_value(const struct world *world, uint32_t name) {
    return name + name / world->plan.names_of_group;
}

/* Returns whether two names of group locks have a value in common. */
static inline bool world_overlap(const struct world *world, uint32_t one, uint32_t other) {
    bool near = one == other || one + 1 == other || other + 1 == one;
    return near && world_group(world, one) == world_group(world, other);
}

/* Returns the kind of a name. Only one of the two mixtures has a kind that is not reentrant. */
uint8_t world_kind(const struct world *world, uint32_t name);

/* Returns the kind of lock that an index is used as. It is the mode for read-write locks. */
static inline uint8_t world_side(const struct world *world, uint32_t name) {
    uint8_t side = name % 2 == 0 ? REDLATCH_WRITE : REDLATCH_READ;
    return world_has_read_write(world) ? side : world_kind(world, name);
}

/* Returns the index of a name. */
uint32_t world_name(const struct world *world, struct redis_text name);

/* Returns whether all planned faults have ended. */
bool world_is_healed(const struct world *world);

#endif
