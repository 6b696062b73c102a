/* Calls on semaphores and latches: commands whose reply is a number, and waits. Blocking and asynchronous.
 * SPDX-License-Identifier: Apache-2.0 */
#include "counted.h"

#include <string.h>

#include "background_thread.h"
#include "client_lock.h"
#include "drive.h"
#include "errors.h"
#include "explain.h"
#include "failures.h"
#include "guard.h"
#include "options.h"
#include "outputs.h"
#include "permit_text.h"
#include "preallocate.h"
#include "resumable_wait.h"
#include "started.h"

int check_amount(const char *what, int64_t amount, int64_t low) {
    if (amount < low || amount > REDLATCH_PERMITS_MAX) {
        return fail_with(REDLATCH_INVALID, "%s is %lld: expected %lld to %d", what, (long long)amount, (long long)low,
                         REDLATCH_PERMITS_MAX);
    }
    return REDLATCH_OK;
}

int counted_name(redlatch_client *handle, uint8_t kind, const char *name, size_t size, const void *out,
                 struct resource **resource_out) {
    int status = guard_client(handle);
    if (status != REDLATCH_OK) {
        return status;
    }
    if (!out) {
        return fail_with(REDLATCH_INVALID, "%s_out is NULL: expected a pointer to set", redlatch_kind_name(kind));
    }
    struct client *client = handle->client;
    status = check_name(client, name, size);
    if (status != REDLATCH_OK) {
        return status;
    }
    client_lock(client);
    *resource_out = client_resource(client, kind, name, size);
    client_unlock(client);
    if (!*resource_out) {
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    client_keep(client);
    return REDLATCH_OK;
}

int semaphore_options_of(const redlatch_semaphore_options *given, bool has_leases,
                         redlatch_semaphore_options *options_out) {
    redlatch_semaphore_options_init(options_out, sizeof *options_out);
    int status = given ? options_read(options_out, sizeof *options_out, given, "semaphore options") : REDLATCH_OK;
    if (status != REDLATCH_OK || (status = check_flag("must_exist", options_out->must_exist, true)) != REDLATCH_OK ||
        (status = check_amount("limit", options_out->limit, 0)) != REDLATCH_OK) {
        return status;
    }
    if (options_out->limit && options_out->must_exist) {
        return fail_with(REDLATCH_INVALID, "must_exist is 1 and limit is %lld: expected one of them",
                         (long long)options_out->limit);
    }
    if (options_out->lease_ms == REDLATCH_RENEWED) {
        return REDLATCH_OK;
    }
    if (!has_leases) {
        return fail_with(REDLATCH_INVALID, "lease_ms is %lld: expected REDLATCH_RENEWED for a semaphore without leases",
                         (long long)options_out->lease_ms);
    }
    return check_duration("lease_ms", options_out->lease_ms, 1, false);
}

void counted_drop(struct client *client, struct resource *resource) {
    if (client_adopt(client)) {
        client_lock(client);
        resource_drop(&client->engine, resource);
        client_finish_step(client, system_now());
        client_unlock(client);
    }
    client_drop(client);
}

/* With the mutex. */
static int prepare(struct request *request, struct resource *resource, const struct count_request *what) {
    struct operation *operation = &request->operation;
    operation->kind = OPERATION_CHANGE;
    operation->lock_kind = resource->kind;
    operation->resource = resource;
    operation->change = (uint8_t)what->change;
    operation->amount = what->amount;
    operation->lease_ms = what->ttl_ms;
    memcpy(operation->permit, what->permit, sizeof operation->permit);
    if (what->owner) {
        operation->kind = what->change == PERMITS_RELEASE ? OPERATION_RELEASE : OPERATION_EXTEND;
        operation->owner = what->owner;
    }
    return client_preallocate(request->client, OPERATION_CHANGE) ? REDLATCH_OK : fail_plain(REDLATCH_NO_MEMORY);
}

/* INVALID comes from the server: only there is it known that a sum of permits would be too large. */
int counted_failed(const struct request *request, int status) {
    const struct operation *operation = &request->operation;
    const struct resource *resource = operation->resource;
    bool one_permit = operation->kind == OPERATION_RELEASE || operation->kind == OPERATION_EXTEND ||
                      operation->change == PERMITS_RELEASE || operation->change == PERMITS_EXTEND;
    if (one_permit && (status == REDLATCH_LOST || status == REDLATCH_NOT_OWNED)) {
        return permit_failed(request, status);
    }
    if (status == REDLATCH_INVALID) {
        char shown[64];
        return fail_with(status, "%s \"%s\": there would be more than %d permits", verb_of(operation),
                         shown_name(resource->name, resource->name_size, shown), REDLATCH_PERMITS_MAX);
    }
    return request_failed(request->client, request, verb_of(operation), resource->name, resource->name_size, status);
}

int counted_outcome(const struct operation *operation, int64_t *number_out) {
    int64_t result = operation->result;
    *number_out = 0;
    if (operation->status != REDLATCH_OK || operation->kind != OPERATION_CHANGE) {
        return operation->status;
    }
    switch ((enum change)operation->change) {
    case SEMAPHORE_TRY_SET:
    case SEMAPHORE_RELEASE_IF_EXISTS:
    case SEMAPHORE_DELETE:
    case LATCH_TRY_SET:
    case LATCH_DELETE:
    case PERMITS_TRY_SET:
    case PERMITS_DELETE:
        *number_out = result == 1;
        break;
    case LATCH_COUNT:
        *number_out = result > 0 ? result : 0;
        break;
    case SEMAPHORE_COUNT:
    case SEMAPHORE_DRAIN:
    case PERMITS_LEASE:
    case PERMITS_AVAILABLE:
    case PERMITS_TAKEN:
    case PERMITS_ALL:
        *number_out = result;
        break;
    case PERMITS_RELEASE:
        return result > 0 ? REDLATCH_OK : result < 0 ? REDLATCH_LOST : REDLATCH_NOT_OWNED;
    case PERMITS_EXTEND:
        return result == 1 ? REDLATCH_OK : REDLATCH_NOT_OWNED;
    default:
        break;
    }
    return REDLATCH_OK;
}

int counted_request(struct client *client, struct resource *resource, const struct count_request *what,
                    int64_t *number_out) {
    struct request request;
    request_init(&request, client, NULL);
    int status = client_enter(client);
    if (status != REDLATCH_OK) {
        return status;
    }
    status = prepare(&request, resource, what);
    if (status == REDLATCH_OK) {
        int64_t now = system_now();
        request.operation.wait_until = now + client->command_timeout;
        drive_start(&request, now);
        status = drive(&request);
        if (status != REDLATCH_OK) {
            struct finding finding;
            request.finding = explain(client, &request.operation, NULL, status, 0, &finding);
            counted_failed(&request, status);
            request.finding = NULL;
            background_start(client); /* the thread finishes or undoes what the operation left */
        }
    }
    int64_t number;
    if (status == REDLATCH_OK && (status = counted_outcome(&request.operation, &number)) != REDLATCH_OK) {
        counted_failed(&request, status);
    }
    client_leave(client);
    if (status == REDLATCH_OK && number_out) {
        *number_out = number;
    }
    return status;
}

int counted_flag(struct client *client, struct resource *resource, const struct count_request *what,
                 int32_t *answer_out) {
    int64_t number = 0;
    int status = counted_request(client, resource, what, &number);
    if (status == REDLATCH_OK && answer_out) {
        *answer_out = (int32_t)number;
    }
    return status;
}

static void set_up_wait(struct request *request, const struct count_wait *wait) {
    struct operation *operation = &request->operation;
    operation->kind = wait->kind;
    operation->lock_kind = wait->resource->kind;
    operation->resource = wait->resource;
    operation->amount = wait->amount;
    operation->limit = wait->limit;
    operation->must_exist = wait->must_exist;
    operation->lease_ms = wait->lease_ms;
}

/* With the mutex. Each permit with an id is a hold. */
static int preallocate(struct request *request) {
    const struct operation *operation = &request->operation;
    bool has_holds = operation->kind == OPERATION_ACQUIRE && operation->lock_kind == REDLATCH_PERMIT_SEMAPHORE;
    bool preallocated = client_preallocate(request->client, operation->kind) &&
                        client_preallocate_holds(request->client, has_holds ? (uint32_t)operation->amount : 0);
    return preallocated ? REDLATCH_OK : fail_plain(REDLATCH_NO_MEMORY);
}

/* Starts the operation that was set up. If it returns OK, the mutex is held. */
static int begin(struct request *request, int64_t wait_ms) {
    struct client *client = request->client;
    int status = client_enter(client);
    if (status != REDLATCH_OK) {
        return status;
    }
    status = preallocate(request);
    if (status == REDLATCH_OK && !background_start(client)) {
        status = fail_with(REDLATCH_SYSTEM, "no thread can be started: expected one that receives messages");
    }
    if (status != REDLATCH_OK) {
        client_leave(client);
        return status;
    }
    int64_t now = system_now();
    request_set_wait(request, wait_ms, now);
    drive_start(request, now);
    return REDLATCH_OK;
}

static int wait_blocking(const struct count_wait *wait, struct redlatch_cancel *cancel, uint64_t *serial_out) {
    struct request request;
    request_init(&request, wait->client, cancel);
    set_up_wait(&request, wait);
    int status = begin(&request, wait->wait_ms);
    if (status != REDLATCH_OK) {
        return status;
    }
    drive(&request);
    status = resumable_result(&request, wait->wait_ms);
    if (status == REDLATCH_OK && serial_out) {
        *serial_out = request.operation.serial;
    }
    client_leave(wait->client);
    return status;
}

int counted_wait(const struct count_wait *wait, struct redlatch_cancel *cancel, uint64_t *serial_out) {
    int status = check_duration("wait_ms", wait->wait_ms, 0, true);
    if (status != REDLATCH_OK || (status = cancel_claim(cancel)) != REDLATCH_OK) {
        return status;
    }
    status = wait_blocking(wait, cancel, serial_out);
    cancel_finish(cancel);
    return status;
}

static int start_resumable(struct redlatch_wait *wait) {
    return begin(&wait->request, wait->wait_ms);
}

int counted_begin_wait(const struct count_wait *given, struct redlatch_cancel *cancel, redlatch_wait **wait_out) {
    int status = check_duration("wait_ms", given->wait_ms, 0, true);
    const struct target target = {.client = given->client, .resource = given->resource};
    struct redlatch_wait *wait = status == REDLATCH_OK ? wait_new(&target, cancel, given->wait_ms, wait_out, &status)
                                                       : NULL;
    if (!wait) {
        return status;
    }
    set_up_wait(&wait->request, given);
    wait->start = start_resumable;
    wait->give_back = given->give_back;
    *wait_out = wait;
    return REDLATCH_OK;
}

int counted_start(struct client *client, struct resource *resource, const struct count_request *what, int32_t event,
                  uint64_t tag) {
    int status;
    struct request *request = request_start_entered(client, event, tag, &status);
    if (!request) {
        return status;
    }
    int64_t now = system_now();
    request->operation.wait_until = now + client->command_timeout;
    return request_start_prepared(request, prepare(request, resource, what), now);
}

int counted_start_wait(const struct count_wait *wait, int32_t event, uint64_t tag) {
    int status;
    struct request *request = request_start_entered(wait->client, event, tag, &status);
    if (!request) {
        return status;
    }
    int64_t now = system_now();
    set_up_wait(request, wait);
    request_set_wait(request, wait->wait_ms, now);
    return request_start_prepared(request, preallocate(request), now);
}
