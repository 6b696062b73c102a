/* The wait queue of a name as a record.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WAIT_QUEUE_H
#define WAIT_QUEUE_H

#include "engine.h"

void set_recheck_next(struct engine *engine, struct wait_queue *queue, int64_t now);
bool set_is_waiting(const struct wait_queue *queue);
void watch_join(struct engine *engine, struct operation *operation);
void watch_leave(struct engine *engine, struct operation *operation, int64_t now);
void queue_go_idle(struct engine *engine, struct wait_queue *queue, int64_t now);
struct operation *queue_foremost(const struct wait_queue *queue);
struct operation *queue_find(const struct wait_queue *queue, uint64_t id);

/* Returns the status of an acquire that gives up behind the foremost waiter: why that one gets no usable reply, else
 * TIMEOUT. */
int queue_timeout_status(const struct wait_queue *queue);

/* Lets a waiter count the server as unusable as `other` does, but not from before its own start. `other` is the waiter
 * that was in front of it. */
void waiter_inherit_error(struct operation *operation, const struct operation *other);

/* Returns the waiter that a hand-over is for. Returns NULL if the command is no hand-over, or if that waiter gave
 * up. */
struct operation *receiver_of(const struct command *command);

#endif
