/* The record of an acquire by a Python thread: see python_wait.h.
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
    *wait_out = wait;
    return REDLATCH_OK;
}

void redlatch_python_wait_free(redlatch_python_wait *wait) {
    if (wait != NULL) {
        redlatch_wait_drop(wait->wait);
        free(wait);
    }
}

/* Continues the wait in the record. Drops the wait if it is done. */
static int go_on(redlatch_python_wait *wait) {
    int status = redlatch_wait_continue(wait->wait, wait->max_block_ms, NULL);
    if (status != REDLATCH_AGAIN) {
        redlatch_wait_drop(wait->wait);
        wait->wait = NULL;
    }
    return status;
}

int redlatch_python_acquire(redlatch_python_wait *wait, redlatch_lock *lock, uint64_t owner, int64_t lease_ms,
                            int64_t wait_ms) {
    int status = REDLATCH_OK;
    if (wait->max_block_ms == REDLATCH_FOREVER) {
        status = redlatch_lock_acquire_as(lock, owner, lease_ms, wait_ms, NULL);
    } else {
        if (wait->wait == NULL) {
            status = redlatch_lock_begin_acquire(lock, owner, lease_ms, wait_ms, NULL, &wait->wait);
        }
        status = status == REDLATCH_OK ? go_on(wait) : status;
    }
    if (status == REDLATCH_OK) {
        /* This fails if the client was closed in between: the hold ended with it. */
        status = redlatch_lock_hold_status(lock, owner, &wait->hold);
    }
    wait->status = status;
    return status;
}

void redlatch_python_abandon(redlatch_python_wait *wait, redlatch_lock *lock, uint64_t owner) {
    redlatch_wait_drop(wait->wait);
    wait->wait = NULL;
    if (wait->status == REDLATCH_OK) {
        /* The status is not needed: the caller raises an exception. If the release fails now, it is done in the
         * background, or the lease ends. */
        redlatch_lock_release_as(lock, owner);
    }
    wait->status = REDLATCH_PYTHON_IDLE;
}

int redlatch_python_continue(int32_t *status_out, redlatch_wait *wait, int64_t max_block_ms, uint64_t *serial_out) {
    *status_out = redlatch_wait_continue(wait, max_block_ms, serial_out);
    return *status_out;
}
