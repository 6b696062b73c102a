/* Stories that are played while an allocation or a system function fails once.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SHORTAGES_H
#define SHORTAGES_H

#include "players_shared.h"

/* What exists when a story begins: a client for each of two servers, and two owners. */
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

/* Plays the seed's story with each failure. */
void shortages_play(void);

#endif
