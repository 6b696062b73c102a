/* A release that names the lost hold, for the wrappers of several languages.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REDLATCH_RELEASE_H
#define REDLATCH_RELEASE_H

#include "redlatch.h"

/* bindings: begin */

/* redlatch_lock_release_with, but if it returns LOST, *lost_serial_out is the serial of the lost hold, or 0 if that is
 * unknown. No later call can find it out. */
int redlatch_release_named(redlatch_lock *lock, uint64_t owner, int32_t confirm, uint64_t *lost_serial_out);

/* bindings: end */

#endif /* REDLATCH_RELEASE_H */
