/* What a started acquire over several clients finds out for its message when it has failed.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Its steps run where those of the acquire do, on the background thread, which waits for no reply. The question goes to
 * the client of the member that the failure is about, as a request of the acquire. */
#ifndef COMPOSITE_EXPLAIN_H
#define COMPOSITE_EXPLAIN_H

#include "composite_op.h"

/* Begins to ask about an acquire that is over; false if there is nothing to ask. */
bool composite_explain_start(struct composite_op *op);

/* Takes in the reply, if it is there. true when that was the last one: `finding` is set if there is something to say.
 */
bool composite_explain_step(struct composite_op *op);

/* Frees what the explanation needed, if there was one, and its finding. No request of it is active. */
void composite_explain_end(struct composite_op *op);

#endif
