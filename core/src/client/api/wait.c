/* Resumable waits: the public functions that continue and drop them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "errors.h"
#include "options.h"
#include "resumable_wait.h"

static int guard_wait(const struct redlatch_wait *wait) {
    if (!wait || atomic_load(&wait->magic) != MAGIC_WAIT) {
        return fail_with(REDLATCH_BAD_HANDLE, "wait is %s: expected one that a begin_ function made",
                         wait ? "dropped or of another type" : "NULL");
    }
    return wait->fork_generation != system_fork_generation() ? fail_plain(REDLATCH_FORKED) : REDLATCH_OK;
}

static int advance(struct redlatch_wait *wait, int64_t until) {
    wait->status = wait->advance(wait, until);
    if (wait->status != REDLATCH_AGAIN) {
        cancel_finish(wait->cancel);
    }
    return wait->status;
}

int redlatch_wait_continue(redlatch_wait *wait, int64_t max_block_ms, uint64_t *serial_out) {
    int status = guard_wait(wait);
    if (status != REDLATCH_OK || (status = check_duration("max_block_ms", max_block_ms, 0, true)) != REDLATCH_OK) {
        return status;
    }
    if (atomic_exchange(&wait->in_use, 1)) {
        return fail_plain(REDLATCH_IN_USE);
    }
    if (wait->status == REDLATCH_AGAIN) {
        status = advance(wait, max_block_ms == REDLATCH_FOREVER ? NEVER : system_now() + max_block_ms * MILLISECOND);
    } else {
        status = wait->status == REDLATCH_OK ? REDLATCH_OK : fail_plain(wait->status);
    }
    if (status == REDLATCH_OK && serial_out) {
        *serial_out = wait->request.operation.serial;
    }
    atomic_store(&wait->in_use, 0);
    return status;
}

/* Ends a wait that is being dropped. If it is granted meanwhile, gives the grant back. */
static void cancel(struct redlatch_wait *wait) {
    atomic_fetch_or(&wait->cancel->futex, CANCEL_FIRED);
    if (!wait->started) {
        cancel_finish(wait->cancel);
    } else if (advance(wait, NEVER) == REDLATCH_OK && wait->give_back) {
        wait->give_back(wait);
    }
}

void redlatch_wait_drop(redlatch_wait *wait) {
    int status = wait ? guard_wait(wait) : REDLATCH_BAD_HANDLE;
    if (status == REDLATCH_BAD_HANDLE) {
        return;
    }
    if (status == REDLATCH_OK && wait->status == REDLATCH_AGAIN) {
        cancel(wait);
    }
    wait_destroy(wait);
}
