/* Stories that are played while memory, or a function of the system, fails once.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SHORTAGES_H
#define SHORTAGES_H

#include "players_shared.h"

/* Who is there when a story begins: clients of two servers, and an owner for each. */
struct cast {
    redlatch_client *client, *other;
    uint64_t owner, other_owner;
};

struct story {
    const char *name;
    void (*play)(const struct cast *cast);
};

extern const struct story stories[];
extern const int story_count;

/* Plays the seed's story, with each failure. */
void shortages_play(void);

#endif
