/* Multi locks and RedLocks as locks: what each call on one does.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COMPOSITE_LOCK_H
#define COMPOSITE_LOCK_H

#include "lock_operations.h"

/* By the number of its clients; of one, `*set_out` is what one operation acquires or releases, else NULL. */
const struct lock_operations *composite_operations(const struct composite *composite, struct name_set **set_out);

#endif
