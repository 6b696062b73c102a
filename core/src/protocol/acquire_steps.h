/* The steps that the machines of acquires and watches share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACQUIRE_STEPS_H
#define ACQUIRE_STEPS_H

#include "engine.h"

/* Takes the reply to a request: handles an error reply, and passes any other reply to the machine's `result`. */
void acquire_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);

/* Ends an operation whose caller gave up. What its request or its hand-over may still bring is undone. */
void acquire_abort(struct engine *engine, struct operation *operation, int status, int64_t now);

/* Requests again if it is time for the waiter to recheck; else sets its timer anew. */
void acquire_timer(struct engine *engine, struct operation *operation, int64_t now);

/* The reply says that others hold the name: the waiter ends, requests again or parks. */
void acquire_contended(struct engine *engine, struct operation *operation, int64_t ttl_ms, int64_t now);

/* The reply says that the semaphore does not exist. An operation with `must_exist` ends; any other goes on as if others
 * held the permits. */
void acquire_missing(struct engine *engine, struct operation *operation, int64_t now);

/* Takes an operation off its wait queue, and finishes it with a status. */
void acquire_end(struct engine *engine, struct operation *operation, int status, int64_t now);

#endif
