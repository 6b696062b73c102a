/* The asynchronous way: an actor is an explicit owner, every call is a start and its event, and there is one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CONFORMANCE_OWNERS_H
#define CONFORMANCE_OWNERS_H

#include <jansson.h>
#include <redlatch.h>
#include <stdbool.h>

#include "methods.h"

/* A call on behalf of the owner that it names; the outcome is the caller's. */
json_t *owner_call(const struct target *target, const json_t *call);

/* What the vocabulary has for actors: waiting for the call that was started, asking for it, ending. */
json_t *owner_finish(const char *name);
bool owner_is_waiting(const char *name);
void owner_leave(const char *name);

/* Ends all of them. */
void owners_leave(void);

#endif
