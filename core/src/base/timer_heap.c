/* Pairing heap of timers: merge is O(1), taking the first one off is O(log n) amortised. Timers that are armed in order
 * of time, as renewals are, form a chain, and taking the first one off a chain is O(1). Both touch only the neighbours
 * of a timer, which matters in a heap of very many timers, where all others are far in memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include "timer_heap.h"

#include <stddef.h>

/* Makes the later of two trees the first child of the earlier one, and returns that. The result keeps its old sibling:
 * a caller that moves it resets that. */
static struct timer *merge(struct timer *one, struct timer *other) {
    if (!one) {
        return other;
    }
    if (!other) {
        return one;
    }
    if (other->at < one->at) {
        struct timer *swap = one;
        one = other;
        other = swap;
    }
    other->sibling = one->child;
    if (one->child) {
        one->child->back = other;
    }
    other->back = one;
    one->child = other;
    return one;
}

/* Merges a chain of siblings into one tree, in the two passes that give the heap its bound. */
static struct timer *merge_siblings(struct timer *first) {
    struct timer *pairs = NULL;
    while (first) {
        struct timer *one = first;
        struct timer *other = one->sibling;
        first = other ? other->sibling : NULL;
        struct timer *pair = merge(one, other);
        pair->sibling = pairs;
        pairs = pair;
    }
    struct timer *root = NULL;
    while (pairs) {
        struct timer *next = pairs->sibling;
        root = merge(root, pairs);
        pairs = next;
    }
    return root;
}

static void set_root(struct timer_heap *heap, struct timer *root) {
    heap->root = root;
    if (root) {
        root->back = root;
        root->sibling = NULL;
    }
}

void timer_disarm(struct timer_heap *heap, struct timer *timer) {
    if (!timer_is_armed(timer)) {
        return;
    }
    if (heap->latest == timer) {
        heap->latest = NULL;
    }
    struct timer *children = merge_siblings(timer->child);
    if (heap->root == timer) {
        set_root(heap, children);
    } else {
        if (timer->back->child == timer) {
            timer->back->child = timer->sibling;
        } else {
            timer->back->sibling = timer->sibling;
        }
        if (timer->sibling) {
            timer->sibling->back = timer->back;
        }
        set_root(heap, merge(heap->root, children));
    }
    timer->child = NULL;
    timer->back = NULL;
}

void timer_arm(struct timer_heap *heap, struct timer *timer, int64_t at) {
    if (timer_is_armed(timer) && timer->at == at) {
        return;
    }
    timer_disarm(heap, timer);
    if (at == NEVER) {
        return;
    }
    timer->at = at;
    if (heap->latest && heap->latest->at <= at) {
        merge(heap->latest, timer);
    } else {
        set_root(heap, merge(heap->root, timer));
    }
    heap->latest = timer;
}

struct timer *timer_heap_pop(struct timer_heap *heap, int64_t now) {
    struct timer *first = heap->root;
    if (!first || first->at > now) {
        return NULL;
    }
    timer_disarm(heap, first);
    return first;
}
