/* What must be so whatever users, servers and networks do; if it is not, that is a defect of ours.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef INVARIANT_H
#define INVARIANT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

/* INVARIANT(place, condition): whether the condition is true. Where it is not, builds for tests and fuzzing abort; all
 * others write into `place` what is broken, the first time, and it is up to the caller to touch nothing that relies on
 * it. `place` is a const char **, or NULL where nobody is to be told. */
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
