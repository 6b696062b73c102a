/* One acquire of a Python thread: see python_wait.h.
 * SPDX-License-Identifier: Apache-2.0 */
#include "python_wait.h"

#include <stdlib.h>

int redlatch_python_wait_new(int64_t max_block_ms, redlatch_python_wait **wait_out) {
    redlatch_python_wait *wait = calloc(1, sizeof *wait);
    if (wait == NULL) {
        return REDLATCH_NO_MEMORY;
    }
    wait->status = REDLATCH_PYTHON_IDLE;
    wait->max_block_ms = max_block_ms;
    wait->hold.struct_size = sizeof wait->hold;
    if (max_block_ms != REDLATCH_FOREVER) {
        int status = redlatch_cancel_new(&wait->cancel);
        if (status != REDLATCH_OK) {
            free(wait);
            return status;
        }
    }
    *wait_out = wait;
    return REDLATCH_OK;
}

void redlatch_python_wait_free(redlatch_python_wait *wait) {
    if (wait != NULL) {
        redlatch_cancel_free(wait->cancel);
        free(wait);
    }
}

int redlatch_python_acquire(redlatch_python_wait *wait, redlatch_lock *lock, uint64_t owner, int64_t lease_ms,
                            int64_t wait_ms) {
    int status = redlatch_lock_acquire_as(lock, owner, lease_ms, wait_ms, wait->cancel, wait->max_block_ms);
    if (status == REDLATCH_OK) {
        int known = redlatch_lock_hold_status(lock, owner, &wait->hold);
        if (known != REDLATCH_OK) {
            /* The client was closed in between, and the hold ended with it. */
            status = known;
        }
    }
    wait->status = status;
    return status;
}

void redlatch_python_abandon(redlatch_python_wait *wait, redlatch_lock *lock, uint64_t owner) {
    if (wait->status == REDLATCH_AGAIN) {
        redlatch_cancel_fire(wait->cancel);
        do {
            wait->status = redlatch_lock_acquire_as(lock, owner, REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, wait->cancel,
                                                    wait->max_block_ms);
        } while (wait->status == REDLATCH_AGAIN);
    }
    if (wait->status == REDLATCH_OK) {
        /* What cannot be released now is so in the background, or runs out; the caller has an exception to raise. */
        redlatch_lock_release_as(lock, owner);
    }
    wait->status = REDLATCH_PYTHON_IDLE;
}

int redlatch_python_acquire_permits(int32_t *status_out, redlatch_semaphore *semaphore, int64_t permits,
                                    int64_t wait_ms, redlatch_cancel *cancel, int64_t max_block_ms) {
    *status_out = redlatch_semaphore_acquire(semaphore, permits, wait_ms, cancel, max_block_ms);
    return *status_out;
}

int redlatch_python_acquire_with_ids(int32_t *status_out, redlatch_permit_semaphore *permit_semaphore, int64_t permits,
                                     int64_t lease_ms, int64_t wait_ms, redlatch_cancel *cancel, int64_t max_block_ms,
                                     uint64_t *serial_out) {
    *status_out = redlatch_permit_semaphore_acquire(permit_semaphore, permits, lease_ms, wait_ms, cancel, max_block_ms,
                                                    serial_out);
    return *status_out;
}
