/* A composite lock: the members of a multi lock or a RedLock, in groups by their clients.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Its holds are the members' holds, in the engines of their clients. */
#ifndef COMPOSITE_H
#define COMPOSITE_H

#include "handles.h"

struct composite_hold;

/* The members of one client, in a cluster of one slot, sorted by name. One operation acquires all of them. */
struct composite_group {
    struct client *client; /* kept */
    struct name_set *set;  /* its resources are kept */
    uint32_t first_given;  /* the lowest index that a member of the group had in the caller's array */
    uint32_t fenced_given; /* the same, of its members with tokens; UINT32_MAX if it has none */
    uint32_t fenced;       /* that member */
};

struct composite {
    _Atomic uint32_t references;
    struct client *first;         /* the first member's client, where events of the composite lock are reported; kept as
                                     that of a group */
    struct resource *first_name;  /* the first member's */
    struct composite_hold *holds; /* this and next_held are used by composite_holds.c only */
    struct composite *next_held;
    bool majority;
    uint32_t quorum; /* groups that must be granted: all, or a majority */
    uint32_t member_count;
    uint32_t group_count;
    struct composite_group groups[]; /* sorted by server: all clients acquire in this order */
};

/* NULL is allowed. composite_drop is called without the mutex of any client. */
struct composite *composite_keep(struct composite *composite);
void composite_drop(struct composite *composite);

/* Frees only the memory of a composite lock: its references are dropped, or were not taken yet. */
void composite_dispose(struct composite *composite);

#endif
