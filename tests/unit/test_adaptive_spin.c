/* Adaptive spinning: which way was quicker before, whether yielding paid, and what another program with the processor
 * changes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "adaptive_spin.h"

#include "unit.h"

static void replies_take(struct busy_poll *busy_poll, int64_t poll_time, int64_t sleep_time, int turns) {
    for (int i = 0; i < turns; i++) {
        bool polled = busy_poll_chosen(busy_poll);
        busy_poll_learn(busy_poll, polled, polled ? poll_time : sleep_time);
    }
}

static int times_busy_polled(struct busy_poll *busy_poll, int turns) {
    int count = 0;
    for (int i = 0; i < turns; i++) {
        count += busy_poll_chosen(busy_poll);
    }
    return count;
}

static void busy_polls_while_that_is_quicker(void) {
    struct busy_poll busy_poll;
    busy_poll_init(&busy_poll);
    replies_take(&busy_poll, 20, 80, 1000);
    CHECK(times_busy_polled(&busy_poll, 650) >= 630);
    replies_take(&busy_poll, 400, 90, 1000);
    CHECK(times_busy_polled(&busy_poll, 650) <= 20);
    replies_take(&busy_poll, 20, 80, 2000);
    CHECK(times_busy_polled(&busy_poll, 650) >= 630);
}

static void never_busy_polls_longer_than_the_cap(void) {
    struct busy_poll busy_poll;
    busy_poll_init(&busy_poll);
    replies_take(&busy_poll, 90, 300, 100);
    CHECK_EQ_INT(busy_poll_budget(&busy_poll), BUSY_POLL_CAP);
    replies_take(&busy_poll, 2000, 300, 1000); /* a slow network: no busy-poll lasts until the reply */
    CHECK(times_busy_polled(&busy_poll, 650) <= 20);
}

static void tries_the_slower_way_more_and_more_rarely(void) {
    struct busy_poll busy_poll;
    busy_poll_init(&busy_poll);
    int polled = 0;
    for (int i = 0; i < 20000; i++) {
        bool poll = busy_poll_chosen(&busy_poll);
        busy_poll_learn(&busy_poll, poll, poll ? 3000 : 60); /* another program takes the processor meanwhile */
        polled += poll;
    }
    CHECK(polled < 20);
}

static void one_slow_reply_does_not_change_the_way(void) {
    struct busy_poll busy_poll;
    busy_poll_init(&busy_poll);
    replies_take(&busy_poll, 20, 300, 1000);
    busy_poll_learn(&busy_poll, true, 5000000);
    replies_take(&busy_poll, 20, 300, 100);
    CHECK(times_busy_polled(&busy_poll, 650) >= 630);
}

/* Yields whenever that is chosen, each time with the same outcome. Returns how often. */
static int yields_made(struct yielding *yielding, int calls, bool paid, int64_t passed) {
    int count = 0;
    for (int i = 0; i < calls; i++) {
        if (yielding_chosen(yielding)) {
            yielding_learn(yielding, paid, passed, yielding_limit(8));
            count++;
        }
    }
    return count;
}

static void yields_while_that_pays(void) {
    struct yielding yielding = {0};
    CHECK(yielding_pays(&yielding));
    CHECK_EQ_INT(yields_made(&yielding, 500, true, 40), 500);
    CHECK(yields_made(&yielding, 10000, false, 10) < 30);
    CHECK(!yielding_pays(&yielding));
    yields_made(&yielding, 5000, true, 40);
    CHECK(yielding_pays(&yielding));
    CHECK_EQ_INT(yields_made(&yielding, 500, true, 40), 500);
}

static void a_stranger_with_the_processor_ends_it_at_once(void) {
    struct yielding yielding = {0};
    yields_made(&yielding, 500, true, 40);
    CHECK_EQ_INT(yields_made(&yielding, 1, true, yielding_limit(8)), 1); /* the reply came, but late */
    CHECK(!yielding_pays(&yielding));
    CHECK(yields_made(&yielding, 20000, true, 3000) < 15); /* tried again more and more rarely */
}

static void a_single_delay_is_soon_forgotten(void) {
    struct yielding yielding = {0};
    yields_made(&yielding, 500, true, 40);
    yields_made(&yielding, 1, true, 9000);
    CHECK(yields_made(&yielding, 1000, true, 40) > 900);
}

static void a_mishap_reported_by_many_callers_counts_once(void) {
    struct yielding yielding = {0};
    yields_made(&yielding, 500, true, 40);
    for (int i = 0; i < 20; i++) { /* all of them yielded when another program took the processor */
        yielding_learn(&yielding, true, 9000, yielding_limit(8));
    }
    CHECK_EQ_INT(yielding.failures, 1);
    CHECK(yields_made(&yielding, 1000, true, 40) > 900);
}

static void only_one_tries_after_a_rest(void) {
    struct yielding yielding = {0};
    yields_made(&yielding, 1, true, 9000);
    int chosen = 0;
    for (int i = 0; i < 100; i++) { /* a hundred callers, before any of them reports */
        chosen += yielding_chosen(&yielding);
    }
    CHECK_EQ_INT(chosen, 1);
}

static void more_callers_take_longer(void) {
    CHECK(yielding_limit(64) > yielding_limit(2));
}

static void a_reader_whose_other_callers_wait_for_locks_yields_more_often(void) {
    CHECK(yielding_times(64, 62) > yielding_times(64, 61));
    CHECK_EQ_INT(yielding_times(64, 64), yielding_times(64, 62)); /* some of the waiters are no callers */
    CHECK_EQ_INT(yielding_times(64, 0), yielding_times(64, 61));
}

int main(void) {
    RUN(busy_polls_while_that_is_quicker);
    RUN(never_busy_polls_longer_than_the_cap);
    RUN(tries_the_slower_way_more_and_more_rarely);
    RUN(one_slow_reply_does_not_change_the_way);
    RUN(yields_while_that_pays);
    RUN(a_stranger_with_the_processor_ends_it_at_once);
    RUN(a_single_delay_is_soon_forgotten);
    RUN(a_mishap_reported_by_many_callers_counts_once);
    RUN(only_one_tries_after_a_rest);
    RUN(more_callers_take_longer);
    RUN(a_reader_whose_other_callers_wait_for_locks_yields_more_often);
    return unit_done();
}
