/* What the simulations of semaphores and latches share, with failovers and without.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COUNT_PARTS_H
#define COUNT_PARTS_H

#include "network.h"

/* Finds the operation of a script. The key of its record names the client; its second argument is the wire number.
 * Returns false for a script without a record. */
bool count_operation_of(const struct packet *packet, uint32_t *client_out, uint64_t *id_out);

/* Returns the first waiter of a list if it sleeps, else NULL. */
const struct operation *count_parked_first(const struct list *waiters);

#endif
