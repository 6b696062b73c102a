/* The operations of multi locks and RedLocks as lock handles.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COMPOSITE_LOCK_H
#define COMPOSITE_LOCK_H

#include "lock_operations.h"

/* Returns the operations for one group, or for several. `*set_out` is the set of a single group, which one operation
 * acquires or releases; else NULL. */
const struct lock_operations *composite_operations(const struct composite *composite, struct name_set **set_out);

#endif
