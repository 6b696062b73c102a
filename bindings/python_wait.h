/* The record of an acquire by a Python thread, which an exception cannot lose.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Python may raise KeyboardInterrupt when a C call has just returned, before its result is stored anywhere. A grant
 * whose result is lost in this way would be held, and renewed, for ever. So the result also stays in this record, where
 * the `except` clause finds it. */
#ifndef REDLATCH_PYTHON_WAIT_H
#define REDLATCH_PYTHON_WAIT_H

#include "redlatch.h"

/* bindings: begin */

enum {
    REDLATCH_PYTHON_IDLE = 1 /* as the status of a record: no call was made yet, or its result was dealt with */
};

/* Belongs to one thread. */
typedef struct redlatch_python_wait {
    int32_t status; /* the status of the last call; the caller sets IDLE before the first call of a wait */
    int32_t reserved;
    int64_t max_block_ms; /* how long one call may take before it returns AGAIN; or REDLATCH_FOREVER */
    redlatch_wait *wait;  /* the wait in progress, or NULL */
    redlatch_hold hold;   /* after OK: the state of the hold at that time */
} redlatch_python_wait;

/* Makes a record, to be freed by redlatch_python_wait_free. Returns OK or NO_MEMORY. */
int redlatch_python_wait_new(int64_t max_block_ms, redlatch_python_wait **wait_out);

/* Frees a record, which no call may be using. NULL is allowed. */
void redlatch_python_wait_free(redlatch_python_wait *wait);

/* redlatch_lock_acquire_as, but blocks for at most max_block_ms. It has to be called again while it returns AGAIN. */
int redlatch_python_acquire(redlatch_python_wait *wait, redlatch_lock *lock, uint64_t owner, int64_t lease_ms,
                            int64_t wait_ms);

/* Ends what the record's last call began: a wait is cancelled, a grant is released. */
void redlatch_python_abandon(redlatch_python_wait *wait, redlatch_lock *lock, uint64_t owner);

/* redlatch_wait_continue, but also stores its status in *status_out, where an exception cannot lose it. */
int redlatch_python_continue(int32_t *status_out, redlatch_wait *wait, int64_t max_block_ms, uint64_t *serial_out);

/* bindings: end */

#endif /* REDLATCH_PYTHON_WAIT_H */
