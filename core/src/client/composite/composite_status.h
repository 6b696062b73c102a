/* How an owner stands with a multi lock or a RedLock.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COMPOSITE_STATUS_H
#define COMPOSITE_STATUS_H

#include "composite.h"

/* How an owner stands with the members; the mutex of no client is held. `answer_out` begins as not held. */
void composite_hold_status(struct composite *composite, uint64_t owner, redlatch_hold *answer_out);

/* Levels that the owner has of the whole, less those that are being released in the background. */
uint32_t composite_count(const struct composite *composite, uint64_t owner);

/* The same of all names of one group, and whether they are held. */
uint32_t composite_group_count(const struct composite_group *group, uint64_t owner, bool *held_out);

#endif
