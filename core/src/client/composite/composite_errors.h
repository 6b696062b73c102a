/* The words for failed calls on multi locks and RedLocks: of which member, on which server.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COMPOSITE_ERRORS_H
#define COMPOSITE_ERRORS_H

#include "composite_op.h"

/* The member that a failed acquire is about, and its client. */
const struct set_member *composite_acquire_culprit(const struct composite_op *op, struct client **client_out);

/* Each sets the last error for a failed call and returns the status. */

/* Of an acquire over several clients. The mutex of no client is held. `started`: the words are for an event, and the
 * thread that makes them must not wait for a server. */
int composite_acquire_failed(const struct composite_op *op, bool started);

/* Of `count` tasks, one for each group, or with as many as there are members for each member. The same. */
int composite_subrequests_failed(const struct composite *composite, const struct subrequest *subrequests,
                                 uint32_t count, const char *verb, int status, bool started);

#endif
