/* A release that names the lost hold: see release.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "release.h"

int redlatch_release_named(redlatch_lock *lock, uint64_t owner, int32_t confirm, uint64_t *lost_serial_out) {
    redlatch_hold hold = {.struct_size = sizeof hold};
    int status = redlatch_lock_hold_status(lock, owner, &hold);
    if (status != REDLATCH_OK) {
        return status;
    }
    *lost_serial_out = hold.serial;
    return redlatch_lock_release_with(lock, owner, confirm);
}
