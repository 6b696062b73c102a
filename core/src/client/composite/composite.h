/* What a multi lock or a RedLock stands for: its members, by the clients they belong to.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The holds are those of the members, in the engines of their clients. */
#ifndef COMPOSITE_H
#define COMPOSITE_H

#include "handles.h"

struct composite_hold;

/* The members of one client, by name: what an operation on all of them needs. */
struct composite_group {
    struct client *client; /* kept */
    struct name_set *set;  /* its resources are kept */
    uint32_t first_given;  /* the place of the first of them among the members as they were given */
};

struct composite {
    _Atomic uint32_t references;
    struct client *first;         /* of the first member: there it is told of; one of the groups' */
    struct resource *first_name;  /* the first member's */
    struct composite_hold *holds; /* these two are composite_holds.c's */
    struct composite *next_held;
    bool majority;
    uint32_t quorum; /* groups that must be granted: all, or a majority */
    uint32_t member_count;
    uint32_t group_count;
    struct composite_group groups[]; /* in the order in which everybody asks: by server */
};

/* NULL is allowed. Dropped without any client's mutex. */
struct composite *composite_keep(struct composite *composite);
void composite_drop(struct composite *composite);

/* Frees the memory of one that was not made to its end. */
void composite_dispose(struct composite *composite);

#endif
