/* The state of an owner's hold of a multi lock or a RedLock.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COMPOSITE_STATUS_H
#define COMPOSITE_STATUS_H

#include "composite.h"

/* Reads the hold's state from the members. The mutex of no client is held. `answer_out` begins as not held. */
void composite_hold_status(struct composite *composite, uint64_t owner, redlatch_hold *answer_out);

/* Returns the owner's hold count of the composite lock, less what is being released in the background. */
uint32_t composite_count(const struct composite *composite, uint64_t owner);

/* Returns the lowest such hold count of the names of one group, and whether all of them are held. */
uint32_t composite_group_count(const struct composite_group *group, uint64_t owner, bool *held_out);

#endif
