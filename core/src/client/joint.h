/* What a multi lock or a RedLock stands for: its members, by the clients they belong to.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The holds are those of the members, in the engines of their clients. */
#ifndef JOINT_H
#define JOINT_H

#include "guard.h"

struct joint_hold;

/* The members of one client, by name: what an operation on all of them needs. */
struct joint_group {
    struct client *client; /* kept */
    struct name_set *set;  /* its resources are kept */
    uint32_t first_given;  /* the place of the first of them among the members as they were given */
};

struct joint {
    _Atomic uint32_t references;
    struct client *first;        /* of the first member: there it is told of; one of the groups' */
    struct resource *first_name; /* the first member's */
    struct joint_hold *holds;    /* these two are joint_holds.c's */
    struct joint *next_held;
    bool majority;
    uint32_t quorum; /* groups that must be granted: all, or a majority */
    uint32_t member_count;
    uint32_t group_count;
    struct joint_group groups[]; /* in the order in which everybody asks: by server */
};

struct joint *joint_keep(struct joint *joint);
void joint_drop(struct joint *joint); /* without any client's mutex */

/* The end of a handle; holds of the handle itself are given back in the background. */
void joint_free(struct redlatch_lock *lock);

/* Whether one operation on one client acquires or releases it all. */
static inline bool joint_is_one_set(const struct joint *joint) {
    return joint->group_count == 1;
}

/* How an owner stands with the members; the mutex of no client is held. `answer_out` begins as not held. */
void joint_look(struct joint *joint, uint64_t owner, redlatch_hold *answer_out);

/* Levels that the owner has of the whole, less those that are being released in the background. */
uint32_t joint_levels(const struct joint *joint, uint64_t owner);

/* The same of all names of one group, and whether they are held. */
uint32_t joint_levels_of(const struct joint_group *group, uint64_t owner, bool *held_out);

#endif
