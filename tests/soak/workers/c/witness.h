/* A witness of who is in the section of a lock that knows nothing of locks: an address that only one socket can have.
 * The kernel frees it when its process dies, however that comes to pass.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SOAK_WITNESS_H
#define SOAK_WITNESS_H

#include "plan.h"

enum { SECTIONS_MAX = 8 };

/* Where a turn is. */
struct sections {
    int count;
    int sockets[SECTIONS_MAX];
};

/* Comes into the sections of a turn's locks, and writes down in which of them somebody else is. */
void witness_enter(struct sections *sections, const struct plan *plan, const struct turn *turn, const char *id);

void witness_leave(struct sections *sections);

#endif
