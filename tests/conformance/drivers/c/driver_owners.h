/* The asynchronous driver: an actor is an explicit owner, every call is started and completes with an event, on one
 * thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DRIVER_OWNERS_H
#define DRIVER_OWNERS_H

#include <jansson.h>
#include <redlatch.h>
#include <stdbool.h>

#include "driver_methods.h"

/* Makes a call for the owner that it names. The outcome belongs to the caller. */
json_t *owner_call(const struct target *target, const json_t *call);

/* The vocabulary's calls about actors: wait for the started call, see whether it is in progress, end the actor. */
json_t *owner_finish(const char *name);
bool owner_is_waiting(const char *name);
void owner_leave(const char *name);

/* Ends all owners. */
void owners_leave(void);

#endif
