/* Counts allocations down to the one that fails.
 * SPDX-License-Identifier: Apache-2.0 */
#include "failing_allocation.h"

#include <errno.h>
#include <stdatomic.h>

static _Atomic int left; /* allocations until one fails; 0 or less: none does */
static atomic_bool failed;

void failing_arm(int n) {
    atomic_store(&failed, false);
    atomic_store(&left, n);
}

bool failing_disarm(void) {
    atomic_store(&left, 0);
    return atomic_load(&failed);
}

static bool fails_now(void) {
    if (atomic_load(&left) > 0 && atomic_fetch_sub(&left, 1) == 1) {
        errno = ENOMEM;
        atomic_store(&failed, true);
        return true;
    }
    return false;
}

void *__wrap_malloc(size_t size) {
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
    return fails_now() ? NULL : __real_realloc(memory, size);
}

char *__wrap_strdup(const char *text) {
    return fails_now() ? NULL : __real_strdup(text);
}
