/* The ids of permits as text, and the error texts of calls on one permit.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PERMIT_TEXT_H
#define PERMIT_TEXT_H

#include "client.h"

/* Sets the last error for a release or an extension of one permit that ended with LOST or NOT_OWNED, and returns the
 * status. With the mutex. */
int permit_failed(const struct request *request, int status);

/* Writes the id of a permit of this client. */
void permit_id(const struct engine *engine, uint64_t serial, char id[REDLATCH_PERMIT_ID_SIZE]);

#endif
