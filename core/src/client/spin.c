/* Whether to spin before sleeping. SPDX-License-Identifier: Apache-2.0 */
#include "spin.h"

/* The longest time that counts as one of a reply: one slow script shall not count for long. */
static const int64_t REPLY_TIME_MAX = 400;

/* What is not used is tried again after this many turns, and more rarely with every try in vain: one that hands the
 * processor to a stranger costs milliseconds. */
enum { TRY_EVERY = 64, DOUBLINGS_MAX = 6, CREDIT_MAX = 8 };

static uint32_t turns_after(uint32_t failures) {
    return (uint32_t)TRY_EVERY << failures;
}

void looking_init(struct looking *looking) {
    looking->look_time = 30;
    looking->sleep_time = 60;
    looking->turns = TRY_EVERY;
}

static bool look_is_quicker(const struct looking *looking) {
    return looking->look_time <= LOOK_CAP && looking->look_time <= looking->sleep_time;
}

bool looking_chosen(struct looking *looking) {
    if (looking->turns > 0) {
        looking->turns--;
        return look_is_quicker(looking);
    }
    looking->turns = TRY_EVERY;
    return !look_is_quicker(looking);
}

int64_t looking_budget(const struct looking *looking) {
    int64_t budget = looking->look_time * 3 + 10;
    return budget < LOOK_CAP ? budget : LOOK_CAP;
}

void looking_learn(struct looking *looking, bool looked, int64_t passed) {
    bool look_was_quicker = look_is_quicker(looking);
    bool in_vain = looked != look_was_quicker && passed >= (looked ? looking->sleep_time : looking->look_time);
    int64_t *estimate = looked ? &looking->look_time : &looking->sleep_time;
    *estimate += ((passed < REPLY_TIME_MAX ? passed : REPLY_TIME_MAX) - *estimate) / 4;
    if (in_vain) {
        looking->failures += looking->failures < DOUBLINGS_MAX;
        looking->turns = turns_after(looking->failures);
    } else if (looked != look_was_quicker || look_is_quicker(looking) != look_was_quicker) {
        looking->failures = 0;
        looking->turns = TRY_EVERY;
    }
}

bool yielding_pays(const struct yielding *yielding) {
    return yielding->rest == 0;
}

/* After a rest one caller tries, and the others rest on until it is known what that brought. */
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

/* While all callers but two wait for locks, hardly anybody takes the processor, and to wake it once it sleeps takes
 * longer than the reply. */
int yielding_times(uint32_t callers, uint64_t waiters) {
    return callers <= waiters + 2 ? 128 : 32;
}

void yielding_learn(struct yielding *yielding, bool paid, int64_t passed, int64_t limit) {
    if (paid && passed < limit) {
        yielding->rest = 0;
        yielding->credit += yielding->credit < CREDIT_MAX;
        yielding->failures = yielding->credit < CREDIT_MAX ? yielding->failures : 0;
        yielding->trying = false;
        return;
    }
    if (yielding->rest > 0 && !yielding->trying) {
        return; /* the same mishap, told by another caller */
    }
    yielding->trying = false;
    yielding->credit = passed < limit ? yielding->credit - 1 : -1;
    if (yielding->credit < 0) {
        yielding->credit = 0;
        yielding->rest = turns_after(yielding->failures);
        yielding->failures += yielding->failures < DOUBLINGS_MAX;
    }
}
