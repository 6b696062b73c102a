/* Actors: named threads. Each is an owner and makes one call after the other. Only the main thread uses these
 * functions.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DRIVER_ACTORS_H
#define DRIVER_ACTORS_H

#include <jansson.h>
#include <redlatch.h>
#include <stdbool.h>

#include "driver_methods.h"

struct actor;

/* Returns the actor of that name. If there is none and `make` is set, the actor is created. */
struct actor *actor_of(const char *name, bool make);

/* actor_start begins a call, which the actor copies. actor_finish waits for its outcome, which then belongs to the
 * caller. */
void actor_start(struct actor *actor, const struct target *target, json_t *call);
json_t *actor_finish(struct actor *actor);

/* Returns whether the call that was begun is still in progress. */
bool actor_is_waiting(struct actor *actor);

/* Ends the thread after its current call. */
void actor_leave(struct actor *actor);
void actors_leave(void);

#endif
