/* Spinning a little before sleeping: going to sleep and being woken cost more than most replies take. Whether it pays
 * changes with what else the machine does, so it is learned from what it brought. Pure: the time is given.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SPIN_H
#define SPIN_H

#include <stdbool.h>
#include <stdint.h>

/* For a caller who is alone in the client: looking at the socket, or sleeping until it is readable. Both are timed, and
 * the quicker one is used. */
struct looking {
    int64_t look_time;  /* microseconds to a reply, looking; a moving estimate */
    int64_t sleep_time; /* the same, sleeping */
    uint32_t turns;     /* until the other way is tried */
    uint32_t failures;  /* tries of it in a row that were slower */
};

/* The longest look that can pay, in microseconds. */
#define LOOK_CAP 100

void looking_init(struct looking *looking);
bool looking_chosen(struct looking *looking);
int64_t looking_budget(const struct looking *looking); /* how long to look, in microseconds */
void looking_learn(struct looking *looking, bool looked, int64_t passed);

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
void yielding_learn(struct yielding *yielding, bool paid, int64_t passed, int64_t limit);

#endif
