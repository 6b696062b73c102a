/* Error texts of failed calls on multi locks and RedLocks: they name the member and the server.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COMPOSITE_ERRORS_H
#define COMPOSITE_ERRORS_H

#include "composite_op.h"

/* Returns the member that a failed acquire is about, and its client. */
const struct set_member *composite_acquire_culprit(const struct composite_op *op, struct client **client_out);

/* Each sets the last error for a failed call and returns the status. */

/* For an acquire over several clients. The mutex of no client is held. `started`: the text is for an event, and the
 * thread that makes it must not wait for a server. */
int composite_acquire_failed(const struct composite_op *op, bool started);

/* For `count` subrequests, one for each group or one for each member; otherwise the same. */
int composite_subrequests_failed(const struct composite *composite, const struct subrequest *subrequests,
                                 uint32_t count, const char *verb, int status, bool started);

#endif
