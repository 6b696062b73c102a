/* Started calls: making and starting their requests.
 * SPDX-License-Identifier: Apache-2.0 */
#include "started.h"

#include <stdlib.h>

#include "background_thread.h"
#include "client_lock.h"
#include "drive.h"
#include "errors.h"
#include "outputs.h"

static void set_up(struct request *request, struct client *client, int32_t event, uint64_t tag) {
    request_init(request, client, NULL);
    request->tag = tag;
    request->event = event;
    request->operation.asynchronous = true;
    request->operation.pipeline = PIPELINE_HOST;
}

struct request *request_start_entered(struct client *client, int32_t event, uint64_t tag, int *status_out) {
    struct request *request = malloc(sizeof *request);
    if (!request) {
        *status_out = fail_plain(REDLATCH_NO_MEMORY);
        return NULL;
    }
    *status_out = client_enter(client);
    if (*status_out != REDLATCH_OK) {
        free(request);
        return NULL;
    }
    set_up(request, client, event, tag);
    return request;
}

struct request *request_start_inside(struct client *client) {
    struct request *request = malloc(sizeof *request);
    if (request) {
        set_up(request, client, REDLATCH_EVENT_ANSWERED, 0);
    }
    return request;
}

int request_start_prepared(struct request *request, int status, int64_t now) {
    struct client *client = request->client;
    if (status == REDLATCH_OK && !background_start(client)) {
        status = fail_with(REDLATCH_SYSTEM, "no thread can be started: expected one that completes the call");
    }
    if (status == REDLATCH_OK) {
        if (request->operation.resource) {
            resource_keep(request->operation.resource);
        }
        if (request->operation.kind == OPERATION_ACQUIRE || request->operation.kind == OPERATION_WATCH) {
            list_append(&client->tagged[request->tag % TAG_LISTS], &request->tagged);
        }
        request->operation.pipeline = (uint8_t)drive_pick_pipeline(client, &request->operation);
        engine_start(&client->engine, &request->operation, now);
        client_finish_step(client, now);
    } else {
        free(request);
    }
    client_leave(client);
    return status;
}

void request_start_over(struct request *request) {
    struct inquiry *inquiry = request->inquiry;
    set_up(request, request->client, request->event, request->tag);
    request->inquiry = inquiry;
}
