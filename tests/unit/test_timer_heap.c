/* The timer heap: order, moving, disarming at any place, and a long random run against a plain array.
 * SPDX-License-Identifier: Apache-2.0 */
#include "timer_heap.h"

#include "unit.h"

enum { TIMERS = 200, STEPS = 20000 };

static void gives_timers_in_order_of_time(void) {
    static const int64_t times[] = {50, 10, 40, 20, 30, 10};
    struct timer timers[6];
    struct timer_heap heap = {0};
    memset(timers, 0, sizeof timers);
    for (int i = 0; i < 6; i++) {
        timer_arm(&heap, &timers[i], times[i]);
    }
    static const int64_t expected[] = {10, 10, 20, 30, 40, 50};
    for (int i = 0; i < 6; i++) {
        CHECK_EQ_INT(timer_heap_next(&heap), expected[i]);
        struct timer *timer = timer_heap_pop(&heap, 100);
        CHECK(timer != NULL && timer->at == expected[i] && !timer_is_armed(timer));
    }
    CHECK_EQ_INT(timer_heap_next(&heap), NEVER);
    CHECK(timer_heap_pop(&heap, NEVER) == NULL);
}

static void gives_only_what_is_due(void) {
    struct timer timer = {0};
    struct timer_heap heap = {0};
    timer_arm(&heap, &timer, 100);
    CHECK(timer_heap_pop(&heap, 99) == NULL);
    CHECK(timer_is_armed(&timer));
    CHECK(timer_heap_pop(&heap, 100) == &timer);
}

static void moves_an_armed_timer_both_ways(void) {
    struct timer timers[3];
    struct timer_heap heap = {0};
    memset(timers, 0, sizeof timers);
    for (int i = 0; i < 3; i++) {
        timer_arm(&heap, &timers[i], 10 * (i + 1));
    }
    timer_arm(&heap, &timers[2], 5);
    CHECK(timer_heap_pop(&heap, 5) == &timers[2]);
    timer_arm(&heap, &timers[0], 25);
    timer_arm(&heap, &timers[0], 25); /* to its own time: nothing changes */
    CHECK(timer_heap_pop(&heap, 100) == &timers[1]);
    CHECK(timer_heap_pop(&heap, 100) == &timers[0]);
}

/* No timer has a second child, so that a pop touches the next timer only. */
static void those_armed_in_order_are_a_chain(void) {
    static struct timer timers[TIMERS];
    struct timer_heap heap = {0};
    for (int i = 0; i < TIMERS; i++) {
        timer_arm(&heap, &timers[i], 10 + i / 2);
    }
    for (int i = 0; i < 10 * TIMERS; i++) { /* each is due again after all others, as holds are */
        struct timer *timer = timer_heap_pop(&heap, NEVER);
        CHECK(timer == &timers[i % TIMERS]);
        CHECK(heap.root && !heap.root->sibling && heap.root->child && !heap.root->child->sibling);
        timer_arm(&heap, timer, timer->at + TIMERS / 2);
    }
    timer_disarm(&heap, heap.latest);
    CHECK(!heap.latest);
    struct timer other = {0};
    timer_arm(&heap, &other, 5);
    CHECK(timer_heap_pop(&heap, NEVER) == &other);
}

static void never_disarms(void) {
    struct timer timer = {0};
    struct timer_heap heap = {0};
    timer_arm(&heap, &timer, 10);
    timer_arm(&heap, &timer, NEVER);
    CHECK(!timer_is_armed(&timer));
    CHECK_EQ_INT(timer_heap_next(&heap), NEVER);
    timer_disarm(&heap, &timer); /* twice does no harm */
    CHECK(!timer_is_armed(&timer));
}

static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t bound) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state % bound);
}

/* Returns the earliest time of the armed timers. */
static int64_t earliest(const struct timer *timers) {
    int64_t at = NEVER;
    for (int i = 0; i < TIMERS; i++) {
        if (timer_is_armed(&timers[i]) && timers[i].at < at) {
            at = timers[i].at;
        }
    }
    return at;
}

static void agrees_with_an_array_over_random_steps(void) {
    static struct timer timers[TIMERS];
    struct timer_heap heap = {0};
    int pops = 0;
    for (int step = 0; step < STEPS; step++) {
        struct timer *timer = &timers[random_below(TIMERS)];
        uint32_t what = random_below(10);
        if (what < 6) {
            timer_arm(&heap, timer, random_below(1000));
        } else if (what < 8) {
            timer_disarm(&heap, timer);
        } else {
            int64_t first = earliest(timers);
            struct timer *popped = timer_heap_pop(&heap, 500);
            CHECK(first <= 500 ? popped && popped->at == first : popped == NULL);
            pops += popped != NULL;
        }
        CHECK_EQ_INT(timer_heap_next(&heap), earliest(timers));
    }
    CHECK(pops > STEPS / 20);
}

int main(void) {
    RUN(gives_timers_in_order_of_time);
    RUN(gives_only_what_is_due);
    RUN(moves_an_armed_timer_both_ways);
    RUN(those_armed_in_order_are_a_chain);
    RUN(never_disarms);
    RUN(agrees_with_an_array_over_random_steps);
    return unit_done();
}
