/* The event queue, as a binary heap.
 * SPDX-License-Identifier: Apache-2.0 */
#include "event_queue.h"

#include <stdlib.h>

#include "redis_text.h"

static bool before(const struct event *one, const struct event *other) {
    return one->at != other->at ? one->at < other->at : one->tie < other->tie;
}

void event_queue_push(struct event_queue *queue, struct event event) {
    if (queue->count == queue->capacity) {
        queue->capacity = queue->capacity ? 2 * queue->capacity : 256;
        queue->events = reallocate(queue->events, queue->capacity, sizeof *queue->events);
    }
    size_t place = queue->count++;
    while (place > 0 && before(&event, &queue->events[(place - 1) / 2])) {
        queue->events[place] = queue->events[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    queue->events[place] = event;
}

bool event_queue_pop(struct event_queue *queue, struct event *event_out) {
    if (queue->count == 0) {
        return false;
    }
    *event_out = queue->events[0];
    struct event last = queue->events[--queue->count];
    size_t place = 0;
    for (;;) {
        size_t child = 2 * place + 1;
        if (child >= queue->count) {
            break;
        }
        if (child + 1 < queue->count && before(&queue->events[child + 1], &queue->events[child])) {
            child++;
        }
        if (!before(&queue->events[child], &last)) {
            break;
        }
        queue->events[place] = queue->events[child];
        place = child;
    }
    queue->events[place] = last;
    return true;
}

void event_queue_release(struct event_queue *queue) {
    free(queue->events);
    queue->events = NULL;
    queue->count = 0;
    queue->capacity = 0;
}
