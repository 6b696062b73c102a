/* Timers in order of time: an intrusive pairing heap, so arming a timer never allocates and never fails.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TIMER_HEAP_H
#define TIMER_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#define NEVER INT64_MAX

/* One timer, inside the record it belongs to. `kind` tells the owner of the heap which record that is. */
struct timer {
    int64_t at; /* microseconds; meaningless while not armed */
    struct timer *child;
    struct timer *sibling;
    struct timer *back; /* previous sibling, or the parent of a first child; itself for the root; NULL when not armed */
    uint8_t kind;
};

struct timer_heap {
    struct timer *root;
    struct timer *latest; /* the one that was armed last; NULL if it is armed no more */
};

static inline bool timer_is_armed(const struct timer *timer) {
    return timer->back != 0;
}

/* Arms a timer, or moves an armed one. NEVER disarms it. */
void timer_arm(struct timer_heap *heap, struct timer *timer, int64_t at);
void timer_disarm(struct timer_heap *heap, struct timer *timer);

/* The time of the first timer, or NEVER. */
static inline int64_t timer_heap_next(const struct timer_heap *heap) {
    return heap->root ? heap->root->at : NEVER;
}

/* Takes off and returns the first timer that is due by `now`, or NULL. */
struct timer *timer_heap_pop(struct timer_heap *heap, int64_t now);

#endif
