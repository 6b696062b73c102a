/* Semaphores: the public functions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "counted.h"
#include "errors.h"
#include "guard.h"
#include "options.h"

static int guard_semaphore_handle(const struct redlatch_semaphore *handle) {
    if (!handle || atomic_load(&handle->magic) != MAGIC_SEMAPHORE) {
        return fail_bad_handle(handle, "semaphore", "redlatch_semaphore_new");
    }
    return REDLATCH_OK;
}

static int guard_semaphore(const struct redlatch_semaphore *handle) {
    int status = guard_semaphore_handle(handle);
    return status == REDLATCH_OK ? client_check(handle->client) : status;
}

int redlatch_semaphore_new(redlatch_client *handle, const char *name, size_t name_size,
                           const redlatch_semaphore_options *given, redlatch_semaphore **semaphore_out) {
    struct resource *resource;
    redlatch_semaphore_options options;
    int status = guard_client(handle);
    if (status != REDLATCH_OK || (status = semaphore_options_of(given, false, &options)) != REDLATCH_OK) {
        return status;
    }
    status = counted_name(handle, REDLATCH_SEMAPHORE, name, name_size, semaphore_out, &resource);
    if (status != REDLATCH_OK) {
        return status;
    }
    struct redlatch_semaphore *semaphore = handle_new_semaphore();
    if (!semaphore) {
        counted_drop(handle->client, resource);
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    semaphore->client = handle->client;
    semaphore->resource = resource;
    semaphore->must_exist = options.must_exist;
    semaphore->limit = options.limit;
    *semaphore_out = semaphore;
    return REDLATCH_OK;
}

void redlatch_semaphore_free(redlatch_semaphore *semaphore) {
    if (!semaphore || guard_semaphore_handle(semaphore) != REDLATCH_OK) {
        return;
    }
    struct client *client = semaphore->client;
    struct resource *resource = semaphore->resource;
    handle_free_semaphore(semaphore);
    counted_drop(client, resource);
}

/* --------------------------------------------------------------------------------------------------- acquiring -- */

static void give_back(struct redlatch_wait *wait) {
    const struct operation *operation = &wait->request.operation;
    struct count_request what = {.change = SEMAPHORE_RELEASE, .amount = operation->amount};
    counted_request(wait->target.client, operation->resource, &what, NULL);
}

static struct count_wait wait_for(const struct redlatch_semaphore *semaphore, int64_t permits, int64_t wait_ms) {
    return (struct count_wait){.client = semaphore->client,
                               .resource = semaphore->resource,
                               .amount = permits,
                               .limit = semaphore->limit,
                               .must_exist = semaphore->must_exist,
                               .wait_ms = wait_ms,
                               .kind = OPERATION_ACQUIRE,
                               .give_back = give_back};
}

int redlatch_semaphore_acquire(redlatch_semaphore *semaphore, int64_t permits, int64_t wait_ms,
                               redlatch_cancel *cancel) {
    int status = guard_semaphore(semaphore);
    if (status != REDLATCH_OK || (status = check_amount("permits", permits, 0)) != REDLATCH_OK || permits == 0) {
        return status;
    }
    struct count_wait wait = wait_for(semaphore, permits, wait_ms);
    return counted_wait(&wait, cancel, NULL);
}

int redlatch_semaphore_begin_acquire(redlatch_semaphore *semaphore, int64_t permits, int64_t wait_ms,
                                     redlatch_cancel *cancel, redlatch_wait **wait_out) {
    int status = guard_semaphore(semaphore);
    if (status != REDLATCH_OK || (status = check_amount("permits", permits, 0)) != REDLATCH_OK) {
        return status;
    }
    struct count_wait wait = wait_for(semaphore, permits, wait_ms);
    status = counted_begin_wait(&wait, cancel, wait_out);
    if (status == REDLATCH_OK && permits == 0) { /* it is granted at once */
        (*wait_out)->status = REDLATCH_OK;
        cancel_finish((*wait_out)->cancel);
    }
    return status;
}

int redlatch_semaphore_start_acquire(redlatch_semaphore *semaphore, int64_t permits, int64_t wait_ms, uint64_t tag) {
    int status = guard_semaphore(semaphore);
    if (status != REDLATCH_OK || (status = check_amount("permits", permits, 1)) != REDLATCH_OK ||
        (status = check_duration("wait_ms", wait_ms, 0, true)) != REDLATCH_OK) {
        return status;
    }
    struct count_wait wait = wait_for(semaphore, permits, wait_ms);
    return counted_start_wait(&wait, REDLATCH_EVENT_ACQUIRED, tag);
}

/* ---------------------------------------------------------------------------------------------------- changing -- */

static int change(redlatch_semaphore *semaphore, const struct count_request *what, int64_t *number_out) {
    return counted_request(semaphore->client, semaphore->resource, what, number_out);
}

static int start(redlatch_semaphore *semaphore, const struct count_request *what, int32_t event, uint64_t tag) {
    return counted_start(semaphore->client, semaphore->resource, what, event, tag);
}

static int check_permits(const redlatch_semaphore *semaphore, int64_t permits, int64_t low) {
    int status = guard_semaphore(semaphore);
    return status == REDLATCH_OK ? check_amount("permits", permits, low) : status;
}

int redlatch_semaphore_release(redlatch_semaphore *semaphore, int64_t permits) {
    int status = check_permits(semaphore, permits, 0);
    if (status != REDLATCH_OK || permits == 0) {
        return status;
    }
    struct count_request what = {.change = SEMAPHORE_RELEASE, .amount = permits};
    return change(semaphore, &what, NULL);
}

int redlatch_semaphore_start_release(redlatch_semaphore *semaphore, int64_t permits, uint64_t tag) {
    int status = check_permits(semaphore, permits, 1);
    struct count_request what = {.change = SEMAPHORE_RELEASE, .amount = permits};
    return status != REDLATCH_OK ? status : start(semaphore, &what, REDLATCH_EVENT_RELEASED, tag);
}

int redlatch_semaphore_release_if_exists(redlatch_semaphore *semaphore, int64_t permits, int32_t *released_out) {
    int status = check_permits(semaphore, permits, 0);
    if (status != REDLATCH_OK) {
        return status;
    }
    if (permits == 0) {
        if (released_out) {
            *released_out = 0;
        }
        return REDLATCH_OK;
    }
    struct count_request what = {.change = SEMAPHORE_RELEASE_IF_EXISTS, .amount = permits};
    return counted_flag(semaphore->client, semaphore->resource, &what, released_out);
}

int redlatch_semaphore_start_release_if_exists(redlatch_semaphore *semaphore, int64_t permits, uint64_t tag) {
    int status = check_permits(semaphore, permits, 1);
    struct count_request what = {.change = SEMAPHORE_RELEASE_IF_EXISTS, .amount = permits};
    return status != REDLATCH_OK ? status : start(semaphore, &what, REDLATCH_EVENT_RELEASED, tag);
}

/* Checks and sets up the command that sets the permits, unless the semaphore exists. */
static int prepare_try_set(const redlatch_semaphore *semaphore, int64_t permits, int64_t ttl_ms,
                           struct count_request *what_out) {
    int status = check_permits(semaphore, permits, 0);
    *what_out = (struct count_request){
        .change = SEMAPHORE_TRY_SET, .amount = permits, .ttl_ms = ttl_ms == REDLATCH_FOREVER ? 0 : ttl_ms};
    return status == REDLATCH_OK ? check_duration("ttl_ms", ttl_ms, 1, true) : status;
}

int redlatch_semaphore_try_set_permits(redlatch_semaphore *semaphore, int64_t permits, int64_t ttl_ms,
                                       int32_t *set_out) {
    struct count_request what;
    int status = prepare_try_set(semaphore, permits, ttl_ms, &what);
    return status != REDLATCH_OK ? status : counted_flag(semaphore->client, semaphore->resource, &what, set_out);
}

int redlatch_semaphore_start_try_set_permits(redlatch_semaphore *semaphore, int64_t permits, int64_t ttl_ms,
                                             uint64_t tag) {
    struct count_request what;
    int status = prepare_try_set(semaphore, permits, ttl_ms, &what);
    return status != REDLATCH_OK ? status : start(semaphore, &what, REDLATCH_EVENT_ANSWERED, tag);
}

int redlatch_semaphore_add_permits(redlatch_semaphore *semaphore, int64_t permits) {
    int status = check_permits(semaphore, permits, -REDLATCH_PERMITS_MAX);
    struct count_request what = {.change = SEMAPHORE_ADD, .amount = permits};
    return status != REDLATCH_OK ? status : change(semaphore, &what, NULL);
}

int redlatch_semaphore_start_add_permits(redlatch_semaphore *semaphore, int64_t permits, uint64_t tag) {
    int status = check_permits(semaphore, permits, -REDLATCH_PERMITS_MAX);
    struct count_request what = {.change = SEMAPHORE_ADD, .amount = permits};
    return status != REDLATCH_OK ? status : start(semaphore, &what, REDLATCH_EVENT_ANSWERED, tag);
}

int redlatch_semaphore_drain(redlatch_semaphore *semaphore, int64_t *drained_out) {
    int status = guard_semaphore(semaphore);
    struct count_request what = {.change = SEMAPHORE_DRAIN};
    return status != REDLATCH_OK ? status : change(semaphore, &what, drained_out);
}

int redlatch_semaphore_start_drain(redlatch_semaphore *semaphore, uint64_t tag) {
    int status = guard_semaphore(semaphore);
    struct count_request what = {.change = SEMAPHORE_DRAIN};
    return status != REDLATCH_OK ? status : start(semaphore, &what, REDLATCH_EVENT_ANSWERED, tag);
}

int redlatch_semaphore_available(redlatch_semaphore *semaphore, int64_t *available_out) {
    int status = guard_semaphore(semaphore);
    struct count_request what = {.change = SEMAPHORE_COUNT};
    return status != REDLATCH_OK ? status : change(semaphore, &what, available_out);
}

int redlatch_semaphore_start_available(redlatch_semaphore *semaphore, uint64_t tag) {
    int status = guard_semaphore(semaphore);
    struct count_request what = {.change = SEMAPHORE_COUNT};
    return status != REDLATCH_OK ? status : start(semaphore, &what, REDLATCH_EVENT_ANSWERED, tag);
}

int redlatch_semaphore_delete(redlatch_semaphore *semaphore, int32_t *deleted_out) {
    int status = guard_semaphore(semaphore);
    struct count_request what = {.change = SEMAPHORE_DELETE};
    return status != REDLATCH_OK ? status : counted_flag(semaphore->client, semaphore->resource, &what, deleted_out);
}

int redlatch_semaphore_start_delete(redlatch_semaphore *semaphore, uint64_t tag) {
    int status = guard_semaphore(semaphore);
    struct count_request what = {.change = SEMAPHORE_DELETE};
    return status != REDLATCH_OK ? status : start(semaphore, &what, REDLATCH_EVENT_ANSWERED, tag);
}
