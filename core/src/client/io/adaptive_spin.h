/* Adaptive spinning: whether a thread spins for a moment before it sleeps. To sleep and be woken costs more than most
 * replies take. Whether spinning pays depends on the other load of the machine, so it is measured. Pure: the caller
 * passes the times.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ADAPTIVE_SPIN_H
#define ADAPTIVE_SPIN_H

#include <stdbool.h>
#include <stdint.h>

/* For the only caller in a client: it busy-polls the socket, or sleeps until the socket is readable. Both ways are
 * timed, and the quicker one is used. */
struct busy_poll {
    int64_t poll_time;  /* microseconds to a reply with a busy-poll; a moving estimate */
    int64_t sleep_time; /* the same with a sleep */
    uint32_t turns;     /* how often the quicker way is used before the other one is tried */
    uint32_t failures;  /* tries of the other way in a row that were slower */
};

/* The longest busy-poll that can pay, in microseconds. */
#define BUSY_POLL_CAP 100

void busy_poll_init(struct busy_poll *busy_poll);
bool busy_poll_chosen(struct busy_poll *busy_poll);
int64_t busy_poll_budget(const struct busy_poll *busy_poll); /* how long to busy-poll, in microseconds */
void busy_poll_learn(struct busy_poll *busy_poll, bool polled, int64_t elapsed);

/* For a caller among others: it yields the processor a few times before it sleeps, or sleeps at once. While it yields,
 * the others add their commands to the same write, and their replies arrive with its own. */
struct yielding {
    int32_t credit;    /* how often yielding paid, less how often it did not, within bounds */
    uint32_t rest;     /* how often to sleep at once before yielding is tried again; 0: yield */
    uint32_t failures; /* rests since `credit` was last at its upper bound */
    bool trying;       /* the rest is over for one caller, which will report whether yielding paid */
};

/* How often a caller that does not read yields at most. */
enum { CALLER_YIELDS = 8 };

bool yielding_pays(const struct yielding *yielding); /* by the last reports */
bool yielding_chosen(struct yielding *yielding);
int64_t yielding_limit(uint32_t callers); /* microseconds; if yielding took longer, another program had the processor */
int yielding_times(uint32_t callers, uint64_t waiters); /* of the reader, which reads the socket in between */
void yielding_learn(struct yielding *yielding, bool paid, int64_t elapsed, int64_t limit);

#endif
