/* Spinning a little before sleeping: going to sleep and being woken cost more than most replies take. Whether it pays
 * changes with what else the machine does, so it is learned from what it brought. Pure: the time is given.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ADAPTIVE_SPIN_H
#define ADAPTIVE_SPIN_H

#include <stdbool.h>
#include <stdint.h>

/* For a caller who is alone in the client: looking at the socket, or sleeping until it is readable. Both are timed, and
 * the quicker one is used. */
struct busy_poll {
    int64_t poll_time;  /* microseconds to a reply, looking; a moving estimate */
    int64_t sleep_time; /* the same, sleeping */
    uint32_t turns;     /* until the other way is tried */
    uint32_t failures;  /* tries of it in a row that were slower */
};

/* The longest look that can pay, in microseconds. */
#define BUSY_POLL_CAP 100

void busy_poll_init(struct busy_poll *busy_poll);
bool busy_poll_chosen(struct busy_poll *busy_poll);
int64_t busy_poll_budget(const struct busy_poll *busy_poll); /* how long to look, in microseconds */
void busy_poll_learn(struct busy_poll *busy_poll, bool polled, int64_t elapsed);

/* With others about: giving the processor to them a few times, whose commands go out with one's own and whose replies
 * come in beside it, or sleeping at once. */
struct yielding {
    int32_t credit;    /* times it paid beyond those it did not, within bounds */
    uint32_t rest;     /* times to sleep at once before yielding is tried again; 0: yield */
    uint32_t failures; /* rests since it last paid for long */
    bool trying;       /* the rest is over for one caller, who will tell */
};

/* At most so many times: a caller who does not read. */
enum { CALLER_YIELDS = 8 };

bool yielding_pays(const struct yielding *yielding); /* as far as is known */
bool yielding_chosen(struct yielding *yielding);
int64_t yielding_limit(uint32_t callers); /* microseconds: when it took longer, a stranger had the processor */
int yielding_times(uint32_t callers, uint64_t waiters); /* of the reader, who looks at the socket in between */
void yielding_learn(struct yielding *yielding, bool paid, int64_t elapsed, int64_t limit);

#endif
