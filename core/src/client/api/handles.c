/* Pools of handles: the first freed is the first reused, and none is returned to the system. The check of client
 * handles.
 * SPDX-License-Identifier: Apache-2.0 */
#include "handles.h"

#include <stdlib.h>
#include <string.h>

#include "errors.h"

/* A freed handle is not reused before this many others of its kind were freed. */
enum { QUARANTINE = 256 };

static pthread_mutex_t pools_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Defines the pool of one kind of handle. */
#define POOL(type, name, magic_of) \
    static struct type *first_##name, *last_##name; \
    static size_t free_##name; \
    struct type *handle_new_##name(void) { \
        pthread_mutex_lock(&pools_mutex); \
        struct type *handle = NULL; \
        if (free_##name > QUARANTINE) { \
            handle = first_##name; \
            first_##name = handle->next_free; \
            free_##name--; \
        } \
        pthread_mutex_unlock(&pools_mutex); \
        if (!handle) { \
            handle = malloc(sizeof *handle); \
        } \
        if (handle) { \
            memset(handle, 0, sizeof *handle); \
            atomic_store(&handle->magic, magic_of); \
        } \
        return handle; \
    } \
    void handle_free_##name(struct type *handle) { \
        atomic_store(&handle->magic, MAGIC_FREED); \
        pthread_mutex_lock(&pools_mutex); \
        handle->next_free = NULL; \
        if (free_##name++ == 0) { \
            first_##name = handle; \
        } else { \
            last_##name->next_free = handle; \
        } \
        last_##name = handle; \
        pthread_mutex_unlock(&pools_mutex); \
    }

POOL(redlatch_client, client, MAGIC_CLIENT)
POOL(redlatch_lock, lock, MAGIC_LOCK)
POOL(redlatch_cancel, cancel, MAGIC_CANCEL)
POOL(redlatch_wait, wait, MAGIC_WAIT)
POOL(redlatch_report, report, MAGIC_REPORT)
POOL(redlatch_scan, scan, MAGIC_SCAN)
POOL(redlatch_semaphore, semaphore, MAGIC_SEMAPHORE)
POOL(redlatch_latch, latch, MAGIC_LATCH)
POOL(redlatch_permit_semaphore, permits, MAGIC_PERMITS)

void handles_before_fork(void) {
    pthread_mutex_lock(&pools_mutex);
}

void handles_after_fork(void) {
    pthread_mutex_unlock(&pools_mutex);
}

int guard_client_handle(const struct redlatch_client *handle) {
    if (!handle || atomic_load(&handle->magic) != MAGIC_CLIENT) {
        return fail_bad_handle(handle, "client", "redlatch_client_open");
    }
    return REDLATCH_OK;
}
