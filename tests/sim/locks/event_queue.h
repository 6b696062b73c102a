/* What is going to happen, in the order of virtual time; events of the same moment come in an order drawn from the
 * seed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef EVENT_QUEUE_H
#define EVENT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct world;

/* `number` is the actor's own, mostly the generation that tells a late event from one that still counts. */
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

/* False when there is nothing left. */
bool event_queue_pop(struct event_queue *queue, struct event *event_out);
void event_queue_release(struct event_queue *queue);

#endif
