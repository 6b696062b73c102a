/* Actors: threads with a name, each an owner, which make calls one after the other. Used by the main thread alone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONFORMANCE_ACTORS_H
#define CONFORMANCE_ACTORS_H

#include <jansson.h>
#include <redlatch.h>
#include <stdbool.h>

#include "methods.h"

struct actor;

/* The actor of that name; made if there is none and `make` is set. */
struct actor *actor_of(const char *name, bool make);

/* Begins a call, of which the actor keeps a reference; waits for its outcome, which is the caller's then. */
void actor_start(struct actor *actor, const struct target *target, json_t *call);
json_t *actor_finish(struct actor *actor);

/* Whether the call that was begun is still under way. */
bool actor_is_waiting(struct actor *actor);

/* Ends the thread, after the call it is at. */
void actor_leave(struct actor *actor);
void actors_leave(void);

#endif
