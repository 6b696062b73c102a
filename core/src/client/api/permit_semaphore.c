/* Permit semaphores: the public functions. A permit of this client is a hold of the engine, which is released and
 * extended like any hold. Of another client's permit only the id is known: one command releases or extends it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "client_lock.h"
#include "counted.h"
#include "errors.h"
#include "guard.h"
#include "inherited.h"
#include "lease.h"
#include "options.h"
#include "outputs.h"
#include "permit_text.h"
#include "preallocate.h"
#include "wire.h"

static int guard_permits_handle(const struct redlatch_permit_semaphore *handle) {
    if (!handle || atomic_load(&handle->magic) != MAGIC_PERMITS) {
        return fail_bad_handle(handle, "permit_semaphore", "redlatch_permit_semaphore_new");
    }
    return REDLATCH_OK;
}

static int guard_permits(const struct redlatch_permit_semaphore *handle) {
    int status = guard_permits_handle(handle);
    return status == REDLATCH_OK ? client_check(handle->client) : status;
}

int redlatch_permit_semaphore_new(redlatch_client *handle, const char *name, size_t name_size,
                                  const redlatch_semaphore_options *given,
                                  redlatch_permit_semaphore **permit_semaphore_out) {
    struct resource *resource;
    redlatch_semaphore_options options;
    int status = guard_client(handle);
    if (status != REDLATCH_OK || (status = semaphore_options_of(given, true, &options)) != REDLATCH_OK) {
        return status;
    }
    status = counted_name(handle, REDLATCH_PERMIT_SEMAPHORE, name, name_size, permit_semaphore_out, &resource);
    if (status != REDLATCH_OK) {
        return status;
    }
    struct redlatch_permit_semaphore *permits = handle_new_permits();
    if (!permits) {
        counted_drop(handle->client, resource);
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    permits->client = handle->client;
    permits->resource = resource;
    permits->must_exist = options.must_exist;
    permits->limit = options.limit;
    permits->lease_ms = options.lease_ms;
    *permit_semaphore_out = permits;
    return REDLATCH_OK;
}

void redlatch_permit_semaphore_free(redlatch_permit_semaphore *permits) {
    if (!permits || guard_permits_handle(permits) != REDLATCH_OK) {
        return;
    }
    struct client *client = permits->client;
    struct resource *resource = permits->resource;
    handle_free_permits(permits);
    counted_drop(client, resource);
}

/* --------------------------------------------------------------------------------------------------- acquiring -- */

/* Gives back permits that were granted just before their wait was dropped. */
static void give_back(struct redlatch_wait *wait) {
    struct client *client = wait->target.client;
    const struct operation *operation = &wait->request.operation;
    client_lock(client);
    int64_t now = system_now();
    for (int64_t i = 0; i < operation->amount; i++) {
        uint64_t owner = PERMIT_OWNER | (operation->id + (uint64_t)i);
        struct hold *hold = resource_hold_of(operation->resource, REDLATCH_PERMIT_SEMAPHORE, owner);
        if (hold && !atomic_load(&client->closed)) {
            client_preallocate(client, OPERATION_RELEASE); /* without memory nothing is sent: the lease runs out */
            engine_give_back(&client->engine, hold, now);
        }
    }
    client_finish_step(client, now);
    client_unlock(client);
}

static struct count_wait wait_for(const struct redlatch_permit_semaphore *permits, int64_t count, int64_t lease_ms,
                                  int64_t wait_ms) {
    return (struct count_wait){.client = permits->client,
                               .resource = permits->resource,
                               .amount = count,
                               .limit = permits->limit,
                               .must_exist = permits->must_exist,
                               .wait_ms = wait_ms,
                               .kind = OPERATION_ACQUIRE,
                               .give_back = give_back,
                               .lease_ms = lease_ms == REDLATCH_LEASE_OF_LOCK ? permits->lease_ms : lease_ms};
}

static int check_acquire(int64_t permits, int64_t lease_ms) {
    if (permits < 1 || permits > REDLATCH_PERMITS_AT_ONCE_MAX) {
        return fail_with(REDLATCH_INVALID, "permits is %lld: expected 1 to %d", (long long)permits,
                         REDLATCH_PERMITS_AT_ONCE_MAX);
    }
    bool named = lease_ms == REDLATCH_RENEWED || lease_ms == REDLATCH_LEASE_OF_LOCK;
    return named ? REDLATCH_OK : check_duration("lease_ms", lease_ms, 1, false);
}

int redlatch_permit_semaphore_acquire(redlatch_permit_semaphore *permits, int64_t count, int64_t lease_ms,
                                      int64_t wait_ms, redlatch_cancel *cancel, uint64_t *serial_out) {
    int status = guard_permits(permits);
    if (status != REDLATCH_OK) {
        return status;
    }
    if (!serial_out) {
        return fail_with(REDLATCH_INVALID, "serial_out is NULL: expected a pointer to set");
    }
    if ((status = check_acquire(count, lease_ms)) != REDLATCH_OK) {
        return status;
    }
    struct count_wait wait = wait_for(permits, count, lease_ms, wait_ms);
    return counted_wait(&wait, cancel, serial_out);
}

int redlatch_permit_semaphore_begin_acquire(redlatch_permit_semaphore *permits, int64_t count, int64_t lease_ms,
                                            int64_t wait_ms, redlatch_cancel *cancel, redlatch_wait **wait_out) {
    int status = guard_permits(permits);
    if (status != REDLATCH_OK || (status = check_acquire(count, lease_ms)) != REDLATCH_OK) {
        return status;
    }
    struct count_wait wait = wait_for(permits, count, lease_ms, wait_ms);
    return counted_begin_wait(&wait, cancel, wait_out);
}

int redlatch_permit_semaphore_start_acquire(redlatch_permit_semaphore *permits, int64_t count, int64_t lease_ms,
                                            int64_t wait_ms, uint64_t tag) {
    int status = guard_permits(permits);
    if (status != REDLATCH_OK || (status = check_acquire(count, lease_ms)) != REDLATCH_OK ||
        (status = check_duration("wait_ms", wait_ms, 0, true)) != REDLATCH_OK) {
        return status;
    }
    struct count_wait wait = wait_for(permits, count, lease_ms, wait_ms);
    return counted_start_wait(&wait, REDLATCH_EVENT_ACQUIRED, tag);
}

/* ------------------------------------------------------------------------------------------------- by their ids -- */

static int digit_value(char digit) {
    return digit >= '0' && digit <= '9'   ? digit - '0'
           : digit >= 'a' && digit <= 'f' ? digit - 'a' + 10
           : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
                                          : -1;
}

static int read_id(const char *id, unsigned char bytes[PERMIT_SIZE]) {
    bool good = id && strlen(id) == 2 * PERMIT_SIZE;
    for (int i = 0; good && i < PERMIT_SIZE; i++) {
        int high = digit_value(id[2 * i]);
        int low = digit_value(id[2 * i + 1]);
        good = high >= 0 && low >= 0;
        bytes[i] = (unsigned char)(good ? high << 4 | low : 0);
    }
    char shown[64];
    return good ? REDLATCH_OK
                : fail_with(REDLATCH_INVALID, "id is \"%s\": expected 32 hexadecimal digits",
                            id ? shown_name(id, strlen(id), shown) : "NULL");
}

static int fail_inherited(const struct redlatch_permit_semaphore *permits) {
    char shown[64];
    return fail_with(REDLATCH_FORKED, "permit of semaphore \"%s\": it belongs to the parent process",
                     shown_name(permits->resource->name, permits->resource->name_size, shown));
}

/* Returns FORKED for a permit that the parent held when this process was forked. */
static int check_serial(const struct redlatch_permit_semaphore *permits, uint64_t serial) {
    bool inherited = inherited_has(permits->client, permits->resource, REDLATCH_PERMIT_SEMAPHORE,
                                   PERMIT_OWNER | serial);
    return inherited ? fail_inherited(permits) : REDLATCH_OK;
}

/* Returns the owner number of a permit that this client holds, or held and lost. Returns 0 for any other. */
static uint64_t owner_of(const struct redlatch_permit_semaphore *permits, const unsigned char bytes[PERMIT_SIZE]) {
    struct client *client = permits->client;
    client_lock(client);
    uint64_t number = permit_number(&client->engine, bytes);
    uint64_t owner = PERMIT_OWNER | number;
    bool known = number && resource_hold_of(permits->resource, REDLATCH_PERMIT_SEMAPHORE, owner);
    client_unlock(client);
    return known ? owner : 0;
}

int redlatch_permit_semaphore_permit_status(redlatch_permit_semaphore *permits, uint64_t serial,
                                            redlatch_permit *permit_out) {
    int status = guard_permits(permits);
    if (status != REDLATCH_OK || (status = check_serial(permits, serial)) != REDLATCH_OK) {
        return status;
    }
    struct client *client = permits->client;
    redlatch_permit answer = {.state = REDLATCH_NOT_HELD, .serial = serial};
    client_lock(client);
    int64_t now = system_now();
    struct hold *hold = engine_hold_of(&client->engine, permits->resource, REDLATCH_PERMIT_SEMAPHORE,
                                       PERMIT_OWNER | serial, now);
    if (hold) {
        answer.state = hold_state_at(hold, now);
        answer.reason = hold->reason;
        answer.remaining_ms = answer.state == REDLATCH_GONE ? 0 : (hold->deadline - now) / MILLISECOND;
    }
    permit_id(&client->engine, serial, answer.id);
    client_finish_step(client, now);
    client_unlock(client);
    return answer_write(permit_out, &answer, sizeof answer, "permit_out");
}

static int start(redlatch_permit_semaphore *permits, const struct count_request *what, int32_t event, uint64_t tag) {
    return counted_start(permits->client, permits->resource, what, event, tag);
}

/* Checks a call on the permit with an id, and sets it up. If the permit is this client's, a release or an extension is
 * on its hold. */
static int prepare_by_id(const redlatch_permit_semaphore *permits, const char *id, struct count_request *what) {
    int status = guard_permits(permits);
    if (status != REDLATCH_OK || (status = read_id(id, what->permit)) != REDLATCH_OK ||
        (what->change == PERMITS_EXTEND &&
         (status = check_duration("lease_ms", what->ttl_ms, 1, false)) != REDLATCH_OK)) {
        return status;
    }
    if (what->change != PERMITS_LEASE && inherited_has_permit(permits->client, permits->resource, what->permit)) {
        return fail_inherited(permits);
    }
    what->owner = what->change == PERMITS_LEASE ? 0 : owner_of(permits, what->permit);
    return REDLATCH_OK;
}

int redlatch_permit_semaphore_release(redlatch_permit_semaphore *permits, const char *id) {
    struct count_request what = {.change = PERMITS_RELEASE};
    int status = prepare_by_id(permits, id, &what);
    return status != REDLATCH_OK ? status : counted_request(permits->client, permits->resource, &what, NULL);
}

int redlatch_permit_semaphore_start_release_by_id(redlatch_permit_semaphore *permits, const char *id, uint64_t tag) {
    struct count_request what = {.change = PERMITS_RELEASE};
    int status = prepare_by_id(permits, id, &what);
    return status != REDLATCH_OK ? status : start(permits, &what, REDLATCH_EVENT_RELEASED, tag);
}

int redlatch_permit_semaphore_start_release(redlatch_permit_semaphore *permits, uint64_t serial, uint64_t tag) {
    int status = guard_permits(permits);
    struct count_request what = {.change = PERMITS_RELEASE, .owner = PERMIT_OWNER | serial};
    status = status == REDLATCH_OK ? check_serial(permits, serial) : status;
    return status != REDLATCH_OK ? status : start(permits, &what, REDLATCH_EVENT_RELEASED, tag);
}

int redlatch_permit_semaphore_update_lease(redlatch_permit_semaphore *permits, const char *id, int64_t lease_ms) {
    struct count_request what = {.change = PERMITS_EXTEND, .ttl_ms = lease_ms};
    int status = prepare_by_id(permits, id, &what);
    return status != REDLATCH_OK ? status : counted_request(permits->client, permits->resource, &what, NULL);
}

int redlatch_permit_semaphore_start_update_lease(redlatch_permit_semaphore *permits, const char *id, int64_t lease_ms,
                                                 uint64_t tag) {
    struct count_request what = {.change = PERMITS_EXTEND, .ttl_ms = lease_ms};
    int status = prepare_by_id(permits, id, &what);
    return status != REDLATCH_OK ? status : start(permits, &what, REDLATCH_EVENT_EXTENDED, tag);
}

int redlatch_permit_semaphore_lease_of(redlatch_permit_semaphore *permits, const char *id, int64_t *lease_ms_out) {
    struct count_request what = {.change = PERMITS_LEASE};
    int status = prepare_by_id(permits, id, &what);
    return status != REDLATCH_OK ? status : counted_request(permits->client, permits->resource, &what, lease_ms_out);
}

int redlatch_permit_semaphore_start_lease_of(redlatch_permit_semaphore *permits, const char *id, uint64_t tag) {
    struct count_request what = {.change = PERMITS_LEASE};
    int status = prepare_by_id(permits, id, &what);
    return status != REDLATCH_OK ? status : start(permits, &what, REDLATCH_EVENT_ANSWERED, tag);
}

/* ------------------------------------------------------------------------------------------------- all of them -- */

static int request(redlatch_permit_semaphore *permits, enum change change, int64_t amount, int64_t *number_out) {
    int status = guard_permits(permits);
    struct count_request what = {.change = change, .amount = amount};
    return status != REDLATCH_OK ? status : counted_request(permits->client, permits->resource, &what, number_out);
}

static int start_request(redlatch_permit_semaphore *permits, enum change change, int64_t amount, uint64_t tag) {
    int status = guard_permits(permits);
    struct count_request what = {.change = change, .amount = amount};
    return status != REDLATCH_OK ? status : start(permits, &what, REDLATCH_EVENT_ANSWERED, tag);
}

static int ask(redlatch_permit_semaphore *permits, enum change change, int64_t amount, int32_t *answer_out) {
    int status = guard_permits(permits);
    struct count_request what = {.change = change, .amount = amount};
    return status != REDLATCH_OK ? status : counted_flag(permits->client, permits->resource, &what, answer_out);
}

int redlatch_permit_semaphore_try_set_permits(redlatch_permit_semaphore *permits, int64_t count, int32_t *set_out) {
    int status = check_amount("permits", count, 0);
    return status != REDLATCH_OK ? status : ask(permits, PERMITS_TRY_SET, count, set_out);
}

int redlatch_permit_semaphore_start_try_set_permits(redlatch_permit_semaphore *permits, int64_t count, uint64_t tag) {
    int status = check_amount("permits", count, 0);
    return status != REDLATCH_OK ? status : start_request(permits, PERMITS_TRY_SET, count, tag);
}

int redlatch_permit_semaphore_set_permits(redlatch_permit_semaphore *permits, int64_t count) {
    int status = check_amount("permits", count, 0);
    return status != REDLATCH_OK ? status : request(permits, PERMITS_SET, count, NULL);
}

int redlatch_permit_semaphore_start_set_permits(redlatch_permit_semaphore *permits, int64_t count, uint64_t tag) {
    int status = check_amount("permits", count, 0);
    return status != REDLATCH_OK ? status : start_request(permits, PERMITS_SET, count, tag);
}

int redlatch_permit_semaphore_add_permits(redlatch_permit_semaphore *permits, int64_t count) {
    int status = check_amount("permits", count, -REDLATCH_PERMITS_MAX);
    return status != REDLATCH_OK ? status : request(permits, PERMITS_ADD, count, NULL);
}

int redlatch_permit_semaphore_start_add_permits(redlatch_permit_semaphore *permits, int64_t count, uint64_t tag) {
    int status = check_amount("permits", count, -REDLATCH_PERMITS_MAX);
    return status != REDLATCH_OK ? status : start_request(permits, PERMITS_ADD, count, tag);
}

int redlatch_permit_semaphore_available(redlatch_permit_semaphore *permits, int64_t *available_out) {
    return request(permits, PERMITS_AVAILABLE, 0, available_out);
}

int redlatch_permit_semaphore_start_available(redlatch_permit_semaphore *permits, uint64_t tag) {
    return start_request(permits, PERMITS_AVAILABLE, 0, tag);
}

int redlatch_permit_semaphore_acquired(redlatch_permit_semaphore *permits, int64_t *acquired_out) {
    return request(permits, PERMITS_TAKEN, 0, acquired_out);
}

int redlatch_permit_semaphore_start_acquired(redlatch_permit_semaphore *permits, uint64_t tag) {
    return start_request(permits, PERMITS_TAKEN, 0, tag);
}

int redlatch_permit_semaphore_permits(redlatch_permit_semaphore *permits, int64_t *permits_out) {
    return request(permits, PERMITS_ALL, 0, permits_out);
}

int redlatch_permit_semaphore_start_permits(redlatch_permit_semaphore *permits, uint64_t tag) {
    return start_request(permits, PERMITS_ALL, 0, tag);
}

int redlatch_permit_semaphore_delete(redlatch_permit_semaphore *permits, int32_t *deleted_out) {
    return ask(permits, PERMITS_DELETE, 0, deleted_out);
}

int redlatch_permit_semaphore_start_delete(redlatch_permit_semaphore *permits, uint64_t tag) {
    return start_request(permits, PERMITS_DELETE, 0, tag);
}
