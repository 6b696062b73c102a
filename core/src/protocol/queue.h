/* The wait queue of a name: which waiter requests next, and which one gets a hold by a hand-over.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef QUEUE_H
#define QUEUE_H

#include "engine.h"

uint64_t read_write_pass(const struct resource *resource, uint8_t lock_kind, uint64_t owner);
bool read_write_is_downgrade(const struct hold *hold);
void queue_enter(struct engine *engine, struct operation *operation);
void queue_leave(struct engine *engine, struct operation *operation, int64_t now);
void queue_advance(struct engine *engine, struct wait_queue *queue, int64_t now);
bool queue_lets_in(const struct wait_queue *queue, const struct operation *operation);
bool queue_will_reenter(const struct wait_queue *queue, const struct operation *operation);
struct operation *queue_receiver(struct engine *engine, struct hold *hold, int64_t now);
void queue_after_release(struct engine *engine, struct resource *resource, int64_t receivers, int64_t now);
void queue_reenter_others(struct engine *engine, struct wait_queue *queue, struct hold *hold, int64_t now);
void queue_next(struct engine *engine, struct wait_queue *queue, int64_t now);
void queue_notified(struct engine *engine, struct wait_queue *queue, int64_t number, int64_t now);
void queue_recheck(struct engine *engine, struct wait_queue *queue, int64_t now);

#endif
