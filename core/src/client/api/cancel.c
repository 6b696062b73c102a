/* Cancel objects.
 * SPDX-License-Identifier: Apache-2.0 */
#include "errors.h"
#include "owners.h"
#include "resumable_wait.h"

int redlatch_cancel_new(redlatch_cancel **cancel_out) {
    if (!cancel_out) {
        return fail_with(REDLATCH_INVALID, "cancel_out is NULL: expected a pointer to set");
    }
    int status = owners_set_up(); /* no client may have been opened yet */
    if (status != REDLATCH_OK) {
        return status;
    }
    struct redlatch_cancel *cancel = handle_new_cancel();
    if (!cancel) {
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    cancel->fork_generation = system_fork_generation();
    if (!system_signal_new(&cancel->signal)) {
        handle_free_cancel(cancel);
        return fail_with(REDLATCH_SYSTEM, "no descriptor can be opened: expected one for the cancel object");
    }
    *cancel_out = cancel;
    return REDLATCH_OK;
}

int redlatch_cancel_fire(redlatch_cancel *cancel) {
    int status = guard_cancel(cancel); /* also runs in signal handlers: only misuse writes an error text */
    if (status != REDLATCH_OK) {
        return status;
    }
    atomic_fetch_or(&cancel->futex, CANCEL_FIRED);
    system_interrupt(&cancel->futex, &cancel->signal);
    return REDLATCH_OK;
}

void redlatch_cancel_free(redlatch_cancel *cancel) {
    if (!cancel || guard_cancel(cancel) == REDLATCH_BAD_HANDLE) {
        return;
    }
    system_signal_close(&cancel->signal);
    handle_free_cancel(cancel);
}
