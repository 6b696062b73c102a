/* Waiting until a name is free without acquiring it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "background_thread.h"
#include "client_lock.h"
#include "drive.h"
#include "errors.h"
#include "guard.h"
#include "options.h"
#include "outputs.h"
#include "preallocate.h"
#include "resumable_wait.h"
#include "started.h"

/* One kind for each channel on which a release of the name may be published; the channel of a mutex is the first. */
static const uint8_t roles[WATCH_ROLES] = {REDLATCH_MUTEX, REDLATCH_READ, REDLATCH_PLAIN, REDLATCH_SEMAPHORE,
                                           REDLATCH_LATCH};

static void drop_roles(struct client *client, struct operation *operation) {
    for (int i = 0; i < WATCH_ROLES; i++) {
        if (operation->roles[i]) {
            resource_drop(&client->engine, operation->roles[i]);
            operation->roles[i] = NULL;
        }
    }
}

/* Gets the resources of a name in all its roles, which the operation drops when it ends. If there was no memory, drops
 * those it has got and returns false. */
static bool take_roles(struct client *client, struct operation *operation, const char *name, size_t size) {
    for (int i = 0; i < WATCH_ROLES; i++) {
        operation->roles[i] = client_resource(client, roles[i], name, size);
        if (!operation->roles[i]) {
            drop_roles(client, operation);
            return false;
        }
    }
    return true;
}

/* Prepares the request. Its resource is that of the first role, without a further reference. With the mutex. */
static int prepare(struct request *request, const char *name, size_t size, int64_t wait_ms, int64_t now) {
    struct operation *operation = &request->operation;
    if (!take_roles(request->client, operation, name, size) || !client_preallocate(request->client, OPERATION_WATCH)) {
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    operation->kind = OPERATION_WATCH;
    operation->resource = operation->roles[0];
    request_set_wait(request, wait_ms, now);
    return REDLATCH_OK;
}

/* Begins the wait. If it returns OK, the mutex is held, and the caller has to drop a reference to the operation's
 * resource. */
static int begin(struct request *request, const char *name, size_t size, int64_t wait_ms) {
    struct client *client = request->client;
    int status = client_enter(client);
    if (status != REDLATCH_OK) {
        return status;
    }
    int64_t now = system_now();
    status = prepare(request, name, size, wait_ms, now);
    if (status == REDLATCH_OK && !background_start(client)) {
        status = fail_with(REDLATCH_SYSTEM, "no thread can be started: expected one that receives messages");
    }
    if (status != REDLATCH_OK) {
        drop_roles(client, &request->operation);
        client_finish_step(client, now);
        client_leave(client);
        return status;
    }
    resource_keep(request->operation.resource);
    drive_start(request, now);
    return REDLATCH_OK;
}

static int wait_blocking(struct client *client, const char *name, size_t size, int64_t wait_ms,
                         struct redlatch_cancel *cancel) {
    struct request request;
    request_init(&request, client, cancel);
    int status = begin(&request, name, size, wait_ms);
    if (status != REDLATCH_OK) {
        return status;
    }
    struct resource *resource = request.operation.resource;
    drive(&request);
    status = resumable_result(&request, wait_ms);
    resource_drop(&client->engine, resource);
    client_finish_step(client, system_now());
    client_leave(client);
    return status;
}

static int check_arguments(const redlatch_client *handle, const char *name, size_t name_size, int64_t wait_ms) {
    int status = guard_client(handle);
    if (status != REDLATCH_OK || (status = check_duration("wait_ms", wait_ms, 0, true)) != REDLATCH_OK) {
        return status;
    }
    return check_name(handle->client, name, name_size);
}

int redlatch_client_wait_free(redlatch_client *handle, const char *name, size_t name_size, int64_t wait_ms,
                              redlatch_cancel *cancel) {
    int status = check_arguments(handle, name, name_size, wait_ms);
    if (status != REDLATCH_OK || (status = cancel_claim(cancel)) != REDLATCH_OK) {
        return status;
    }
    status = wait_blocking(handle->client, name, name_size, wait_ms, cancel);
    cancel_finish(cancel);
    return status;
}

/* Begins the wait with the name of the resource that the wait keeps. */
static int start_resumable(struct redlatch_wait *wait) {
    struct client *client = wait->target.client;
    const struct resource *resource = wait->target.resource;
    int status = begin(&wait->request, resource->name + client->name_prefix_size,
                       resource->name_size - client->name_prefix_size, wait->wait_ms);
    if (status == REDLATCH_OK) {
        resource_drop(&client->engine, wait->request.operation.resource); /* the wait has one of its own */
    }
    return status;
}

int redlatch_client_begin_wait_free(redlatch_client *handle, const char *name, size_t name_size, int64_t wait_ms,
                                    redlatch_cancel *cancel, redlatch_wait **wait_out) {
    int status = check_arguments(handle, name, name_size, wait_ms);
    if (status != REDLATCH_OK) {
        return status;
    }
    struct client *client = handle->client;
    client_lock(client);
    struct resource *resource = client_resource(client, roles[0], name, name_size);
    client_unlock(client);
    if (!resource) {
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    const struct target target = {.client = client, .resource = resource};
    struct redlatch_wait *wait = wait_new(&target, cancel, wait_ms, wait_out, &status);
    client_lock(client);
    resource_drop(&client->engine, resource);
    client_finish_step(client, system_now());
    client_unlock(client);
    if (wait) {
        wait->start = start_resumable;
        *wait_out = wait;
    }
    return status;
}

int redlatch_client_start_wait_free(redlatch_client *handle, const char *name, size_t name_size, int64_t wait_ms,
                                    uint64_t tag) {
    int status = check_arguments(handle, name, name_size, wait_ms);
    if (status != REDLATCH_OK) {
        return status;
    }
    struct client *client = handle->client;
    struct request *request = request_start_entered(client, REDLATCH_EVENT_FREE, tag, &status);
    if (!request) {
        return status;
    }
    int64_t now = system_now();
    status = prepare(request, name, name_size, wait_ms, now);
    if (status == REDLATCH_OK && !background_start(client)) {
        status = fail_with(REDLATCH_SYSTEM, "no thread can be started: expected one that receives messages");
    }
    if (status != REDLATCH_OK) {
        drop_roles(client, &request->operation);
        client_finish_step(client, now);
    }
    return request_start_prepared(request, status, now);
}
