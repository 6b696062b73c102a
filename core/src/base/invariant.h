/* Conditions that hold whatever users, servers and networks do. If one does not hold, this code has a defect.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INVARIANT_H
#define INVARIANT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

/* INVARIANT(broken, condition): returns whether the condition holds. If it does not, builds for simulation, sanitizers
 * and fuzzing abort. Other builds write the text of the first such condition to *broken, and the caller must touch
 * nothing that relies on the condition. `broken` is a const char **; it is NULL if nobody reads it. */
#ifdef REDLATCH_ABORTS
#define INVARIANT(broken, condition) ((void)(broken), assert(condition), true)
#else
#define INVARIANT(broken, condition) invariant_check((broken), (condition), #condition)
#endif

static inline bool invariant_check(const char **broken, bool holds, const char *what) {
    if (!holds && broken && !*broken) {
        *broken = what;
    }
    return holds;
}

#endif
