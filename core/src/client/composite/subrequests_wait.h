/* Waits for several subrequests on one thread.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SUBREQUESTS_WAIT_H
#define SUBREQUESTS_WAIT_H

#include "subrequest.h"

/* Subrequests that are waited for together. */
struct subrequest_set {
    struct subrequest *subrequests;
    uint32_t count;
    uint32_t turn;                  /* where the search for the next separate subrequest begins */
    uint32_t turns;                 /* how many turns separate subrequests had, up to a bound */
    struct redlatch_cancel *cancel; /* ends the wait; may be NULL */
};

/* Waits until one of the active subrequests is done, collects it and returns it. Returns NULL if `until` has come or
 * the wait is cancelled. If `until` has come before, it reads what is there and does not sleep. The set keeps
 * the reader roles that it took until subrequests_stop_reading. */
struct subrequest *subrequests_wait(struct subrequest_set *set, int64_t until);
void subrequests_stop_reading(struct subrequest_set *set);

#endif
