/* The events to come, in the order of virtual time. Events of the same time are in an order drawn from the seed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef EVENT_QUEUE_H
#define EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct world;

/* `number` has a meaning for the actor: mostly a generation, by which it recognises events that no longer count. */
typedef void event_handler(struct world *world, void *actor, uint64_t number);

struct event {
    int64_t at; /* microseconds of true time */
    uint64_t tie;
    event_handler *handler;
    void *actor;
    uint64_t number;
};

/* All zero is an empty queue. */
struct event_queue {
    struct event *events;
    size_t count;
    size_t capacity;
};

void event_queue_push(struct event_queue *queue, struct event event);

/* Returns false if the queue is empty. */
bool event_queue_pop(struct event_queue *queue, struct event *event_out);
void event_queue_release(struct event_queue *queue);

#endif
