/* The explanation of a started acquire over several clients that has failed.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The background thread steps it, as it steps the acquire, and waits for no reply. The question goes to the client of
 * the member that the failure is about, as a subrequest of the acquire. */
#ifndef COMPOSITE_EXPLAIN_H
#define COMPOSITE_EXPLAIN_H

#include "composite_op.h"

/* Starts the explanation of an acquire that is over. Returns false if there is nothing to ask. */
bool composite_explain_start(struct composite_op *op);

/* Takes the reply, if it has come. Returns true after the last one; op->finding is set then if there is something to
 * say. */
bool composite_explain_step(struct composite_op *op);

/* Frees the explanation, if there is one, and its finding. It has no active subrequest. */
void composite_explain_end(struct composite_op *op);

#endif
