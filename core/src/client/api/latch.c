/* Count-down latches: the public functions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "counted.h"
#include "errors.h"
#include "guard.h"
#include "options.h"

static int guard_latch_handle(const struct redlatch_latch *handle) {
    if (!handle || atomic_load(&handle->magic) != MAGIC_LATCH) {
        return fail_bad_handle(handle, "latch", "redlatch_latch_new");
    }
    return REDLATCH_OK;
}

static int guard_latch(const struct redlatch_latch *handle) {
    int status = guard_latch_handle(handle);
    return status == REDLATCH_OK ? client_check(handle->client) : status;
}

int redlatch_latch_new(redlatch_client *handle, const char *name, size_t name_size, redlatch_latch **latch_out) {
    struct resource *resource;
    int status = counted_name(handle, REDLATCH_LATCH, name, name_size, latch_out, &resource);
    if (status != REDLATCH_OK) {
        return status;
    }
    struct redlatch_latch *latch = handle_new_latch();
    if (!latch) {
        counted_drop(handle->client, resource);
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    latch->client = handle->client;
    latch->resource = resource;
    *latch_out = latch;
    return REDLATCH_OK;
}

void redlatch_latch_free(redlatch_latch *latch) {
    if (!latch || guard_latch_handle(latch) != REDLATCH_OK) {
        return;
    }
    struct client *client = latch->client;
    struct resource *resource = latch->resource;
    handle_free_latch(latch);
    counted_drop(client, resource);
}

static struct count_wait wait_for(const struct redlatch_latch *latch, int64_t wait_ms) {
    return (struct count_wait){
        .client = latch->client, .resource = latch->resource, .wait_ms = wait_ms, .kind = OPERATION_WATCH};
}

int redlatch_latch_wait(redlatch_latch *latch, int64_t wait_ms, redlatch_cancel *cancel) {
    int status = guard_latch(latch);
    if (status != REDLATCH_OK) {
        return status;
    }
    struct count_wait wait = wait_for(latch, wait_ms);
    return counted_wait(&wait, cancel, NULL);
}

int redlatch_latch_begin_wait(redlatch_latch *latch, int64_t wait_ms, redlatch_cancel *cancel,
                              redlatch_wait **wait_out) {
    int status = guard_latch(latch);
    if (status != REDLATCH_OK) {
        return status;
    }
    struct count_wait wait = wait_for(latch, wait_ms);
    return counted_begin_wait(&wait, cancel, wait_out);
}

int redlatch_latch_start_wait(redlatch_latch *latch, int64_t wait_ms, uint64_t tag) {
    int status = guard_latch(latch);
    if (status != REDLATCH_OK || (status = check_duration("wait_ms", wait_ms, 0, true)) != REDLATCH_OK) {
        return status;
    }
    struct count_wait wait = wait_for(latch, wait_ms);
    return counted_start_wait(&wait, REDLATCH_EVENT_OPENED, tag);
}

static int start(redlatch_latch *latch, const struct count_request *what, int32_t event, uint64_t tag) {
    return counted_start(latch->client, latch->resource, what, event, tag);
}

static int check_count(const redlatch_latch *latch, int64_t count) {
    int status = guard_latch(latch);
    return status == REDLATCH_OK ? check_amount("count", count, 1) : status;
}

int redlatch_latch_try_set_count(redlatch_latch *latch, int64_t count, int32_t *set_out) {
    int status = check_count(latch, count);
    struct count_request what = {.change = LATCH_TRY_SET, .amount = count};
    return status != REDLATCH_OK ? status : counted_flag(latch->client, latch->resource, &what, set_out);
}

int redlatch_latch_start_try_set_count(redlatch_latch *latch, int64_t count, uint64_t tag) {
    int status = check_count(latch, count);
    struct count_request what = {.change = LATCH_TRY_SET, .amount = count};
    return status != REDLATCH_OK ? status : start(latch, &what, REDLATCH_EVENT_ANSWERED, tag);
}

int redlatch_latch_count_down(redlatch_latch *latch) {
    int status = guard_latch(latch);
    struct count_request what = {.change = LATCH_COUNT_DOWN};
    return status != REDLATCH_OK ? status : counted_request(latch->client, latch->resource, &what, NULL);
}

int redlatch_latch_start_count_down(redlatch_latch *latch, uint64_t tag) {
    int status = guard_latch(latch);
    struct count_request what = {.change = LATCH_COUNT_DOWN};
    return status != REDLATCH_OK ? status : start(latch, &what, REDLATCH_EVENT_COUNTED, tag);
}

int redlatch_latch_count(redlatch_latch *latch, int64_t *count_out) {
    int status = guard_latch(latch);
    struct count_request what = {.change = LATCH_COUNT};
    return status != REDLATCH_OK ? status : counted_request(latch->client, latch->resource, &what, count_out);
}

int redlatch_latch_start_count(redlatch_latch *latch, uint64_t tag) {
    int status = guard_latch(latch);
    struct count_request what = {.change = LATCH_COUNT};
    return status != REDLATCH_OK ? status : start(latch, &what, REDLATCH_EVENT_ANSWERED, tag);
}

int redlatch_latch_delete(redlatch_latch *latch, int32_t *deleted_out) {
    int status = guard_latch(latch);
    struct count_request what = {.change = LATCH_DELETE};
    return status != REDLATCH_OK ? status : counted_flag(latch->client, latch->resource, &what, deleted_out);
}

int redlatch_latch_start_delete(redlatch_latch *latch, uint64_t tag) {
    int status = guard_latch(latch);
    struct count_request what = {.change = LATCH_DELETE};
    return status != REDLATCH_OK ? status : start(latch, &what, REDLATCH_EVENT_ANSWERED, tag);
}
