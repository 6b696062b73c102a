/* Several calls on one thread, waited for together.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SUBREQUESTS_WAIT_H
#define SUBREQUESTS_WAIT_H

#include "subrequest.h"

/* Several tasks, waited for together. */
struct subrequest_set {
    struct subrequest *subrequests;
    uint32_t count;
    uint32_t turn;                  /* of those that are driven by themselves */
    uint32_t turns;                 /* that they had */
    struct redlatch_cancel *cancel; /* ends the wait; may be NULL */
};

/* Waits until one of the active tasks is done, which has been collected then; NULL at `until`, or when cancelled. The
 * set has the reader roles it took until subrequests_stop_reading. */
struct subrequest *subrequests_wait(struct subrequest_set *set, int64_t until);
void subrequests_stop_reading(struct subrequest_set *set);

#endif
