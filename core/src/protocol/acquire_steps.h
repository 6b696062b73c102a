/* The steps that the machines of acquires and watches share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ACQUIRE_STEPS_H
#define ACQUIRE_STEPS_H

#include "engine.h"

/* The reply to a request: an error reply is dealt with here, another goes to the machine's `result`. */
void acquire_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now);

/* The caller has had enough. */
void acquire_abort(struct engine *engine, struct operation *operation, int status, int64_t now);

/* Requests again when a waiter's time has come. */
void acquire_timer(struct engine *engine, struct operation *operation, int64_t now);

/* The foremost of a queue was told that others hold the name: it ends, requests again or parks. */
void acquire_contended(struct engine *engine, struct operation *operation, int64_t ttl_ms, int64_t now);

/* It was told that the semaphore does not exist: it ends where one must exist; else that is as if others held it. */
void acquire_missing(struct engine *engine, struct operation *operation, int64_t now);

/* Leaves the queue with a status. */
void acquire_end(struct engine *engine, struct operation *operation, int status, int64_t now);

#endif
