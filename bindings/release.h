/* A release that names what was lost, for the wrappers of several languages.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REDLATCH_RELEASE_H
#define REDLATCH_RELEASE_H

#include "redlatch.h"

/* bindings: begin */

/* redlatch_lock_release_with; when it says LOST, `lost_serial_out` gets the hold that was lost, 0 if unknown. After
 * that nobody else can tell. */
int redlatch_release_named(redlatch_lock *lock, uint64_t owner, int32_t confirm, uint64_t *lost_serial_out);

/* bindings: end */

#endif /* REDLATCH_RELEASE_H */
