/* Whether to spin before sleeping.
 * SPDX-License-Identifier: Apache-2.0 */
#include "adaptive_spin.h"

/* A longer reply counts as this time, so that one slow script does not distort the estimate for long. */
static const int64_t REPLY_TIME_MAX = 400;

/* The way that is not used is tried again after TRY_EVERY turns, and after twice as many with each try in vain: a try
 * that hands the processor to another program costs milliseconds. */
enum { TRY_EVERY = 64, DOUBLINGS_MAX = 6, CREDIT_MAX = 8 };

static uint32_t turns_after(uint32_t failures) {
    return (uint32_t)TRY_EVERY << failures;
}

void busy_poll_init(struct busy_poll *busy_poll) {
    busy_poll->poll_time = 30;
    busy_poll->sleep_time = 60;
    busy_poll->turns = TRY_EVERY;
    busy_poll->failures = 0;
}

static bool poll_is_quicker(const struct busy_poll *busy_poll) {
    return busy_poll->poll_time <= BUSY_POLL_CAP && busy_poll->poll_time <= busy_poll->sleep_time;
}

bool busy_poll_chosen(struct busy_poll *busy_poll) {
    if (busy_poll->turns > 0) {
        busy_poll->turns--;
        return poll_is_quicker(busy_poll);
    }
    busy_poll->turns = TRY_EVERY;
    return !poll_is_quicker(busy_poll);
}

int64_t busy_poll_budget(const struct busy_poll *busy_poll) {
    int64_t budget = busy_poll->poll_time * 3 + 10;
    return budget < BUSY_POLL_CAP ? budget : BUSY_POLL_CAP;
}

void busy_poll_learn(struct busy_poll *busy_poll, bool polled, int64_t elapsed) {
    bool poll_was_quicker = poll_is_quicker(busy_poll);
    bool in_vain = polled != poll_was_quicker && elapsed >= (polled ? busy_poll->sleep_time : busy_poll->poll_time);
    int64_t *estimate = polled ? &busy_poll->poll_time : &busy_poll->sleep_time;
    *estimate += ((elapsed < REPLY_TIME_MAX ? elapsed : REPLY_TIME_MAX) - *estimate) / 4;
    if (in_vain) {
        busy_poll->failures += busy_poll->failures < DOUBLINGS_MAX;
        busy_poll->turns = turns_after(busy_poll->failures);
    } else if (polled != poll_was_quicker || poll_is_quicker(busy_poll) != poll_was_quicker) {
        busy_poll->failures = 0;
        busy_poll->turns = TRY_EVERY;
    }
}

bool yielding_pays(const struct yielding *yielding) {
    return yielding->rest == 0;
}

/* After a rest one caller tries to yield. The others rest on until it has reported whether that paid. */
bool yielding_chosen(struct yielding *yielding) {
    if (yielding->rest == 0) {
        return true;
    }
    if (--yielding->rest > 0) {
        return false;
    }
    yielding->rest = TRY_EVERY;
    yielding->trying = true;
    return true;
}

int64_t yielding_limit(uint32_t callers) {
    return 500 + INT64_C(20) * callers;
}

/* If all callers but two wait for locks, hardly any thread takes the processor. Once the processor sleeps, waking it
 * takes longer than the reply: so the reader yields more often. */
int yielding_times(uint32_t callers, uint64_t waiters) {
    return callers <= waiters + 2 ? 128 : 32;
}

void yielding_learn(struct yielding *yielding, bool paid, int64_t elapsed, int64_t limit) {
    if (paid && elapsed < limit) {
        yielding->rest = 0;
        yielding->credit += yielding->credit < CREDIT_MAX;
        yielding->failures = yielding->credit < CREDIT_MAX ? yielding->failures : 0;
        yielding->trying = false;
        return;
    }
    if (yielding->rest > 0 && !yielding->trying) {
        return; /* another caller reported the same failure */
    }
    yielding->trying = false;
    yielding->credit = elapsed < limit ? yielding->credit - 1 : -1;
    if (yielding->credit < 0) {
        yielding->credit = 0;
        yielding->rest = turns_after(yielding->failures);
        yielding->failures += yielding->failures < DOUBLINGS_MAX;
    }
}
