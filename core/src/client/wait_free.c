/* Waiting until a name is free without taking it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "errors.h"
#include "guard.h"
#include "options.h"

/* Drives a watch to its end. */
static int watch(struct call *call, struct resource *resource, int64_t wait_ms) {
    struct operation *operation = &call->operation;
    int64_t now = system_now();
    operation->kind = OPERATION_WATCH;
    operation->resource = resource;
    call_wait_for(call, wait_ms, now);
    drive_start(call, now);
    return drive(call);
}

/* The client is entered, and left again. */
static int wait_entered(struct client *client, const char *name, size_t size, int64_t wait_ms,
                        struct redlatch_cancel *cancel) {
    struct resource *resource = client_resource(client, REDLATCH_MUTEX, name, size);
    if (!resource || !client_supply(client, OPERATION_WATCH)) {
        if (resource) {
            resource_drop(&client->engine, resource);
        }
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    int status;
    if (keeper_start(client)) {
        struct call call;
        call_init(&call, client, cancel);
        status = watch(&call, resource, wait_ms);
        if (status != REDLATCH_OK) {
            call_failed(client, "wait for", name, size, status, wait_ms);
        }
    } else {
        status = fail_with(REDLATCH_SYSTEM, "no thread to be had from the system: expected one to listen");
    }
    resource_drop(&client->engine, resource);
    client_settle(client, system_now());
    return status;
}

int redlatch_wait_free(redlatch_client *handle, const char *name, size_t name_size, int64_t wait_ms,
                       redlatch_cancel *cancel) {
    int status = guard_client(handle);
    if (status != REDLATCH_OK || (status = check_duration("wait_ms", wait_ms, 0, true)) != REDLATCH_OK ||
        (status = check_name(handle->client, name, name_size)) != REDLATCH_OK ||
        (cancel && (status = guard_cancel(cancel)) != REDLATCH_OK)) {
        return status;
    }
    if (cancel && atomic_exchange(&cancel->in_use, 1)) {
        return fail_plain(REDLATCH_IN_USE);
    }
    if (cancel && cancel->sliced) { /* it names an acquire that goes on between calls */
        atomic_store(&cancel->in_use, 0);
        return fail_plain(REDLATCH_IN_USE);
    }
    struct client *client = handle->client;
    status = enter_call(client);
    if (status == REDLATCH_OK) {
        status = wait_entered(client, name, name_size, wait_ms, cancel);
        leave_call(client);
    }
    if (cancel) {
        cancel_renew(cancel);
    }
    return status;
}
