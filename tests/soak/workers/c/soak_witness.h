/* The witness of who is in the section of a lock. It does not use locks: only one socket can have the section's
 * address. The kernel frees the address when the process ends, in whatever way.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SOAK_WITNESS_H
#define SOAK_WITNESS_H

#include "soak_plan.h"

enum { SECTIONS_MAX = 8 };

/* The sections that a turn is in. */
struct sections {
    int count;
    int sockets[SECTIONS_MAX];
};

/* Enters the sections of a turn's locks. Writes to the history in which of them somebody else is. */
void witness_enter(struct sections *sections, const struct plan *plan, const struct turn *turn, const char *id);

void witness_leave(struct sections *sections);

#endif
