/* Asynchronous calls that are done: their events are filled, and their requests are freed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "completed.h"

#include <stdlib.h>
#include <string.h>

#include "composite.h"
#include "composite_async.h"
#include "composite_holds.h"
#include "composite_op.h"
#include "counted.h"
#include "errors.h"
#include "explain.h"
#include "failures.h"
#include "inquiry.h"
#include "kinds.h"
#include "lock.h"

struct composite *request_free(struct client *client, struct request *request) {
    struct request *explained = explained_request(request);
    struct composite *composite = explained ? request_free(client, explained) : request->composite;
    if (request->op) {
        composite_collected(request->op);
    }
    list_remove(&request->tagged);
    engine_claimed(&client->engine, &request->operation);
    if (request->inquiry) {
        inquiry_free(request->inquiry);
    }
    if (request->operation.resource) {
        resource_drop(&client->engine, request->operation.resource);
    }
    free(request->finding);
    free(request);
    return composite;
}

void event_set_name(redlatch_event *event, const char *name, size_t name_size) {
    size_t size = name_size < sizeof event->name - 1 ? name_size : sizeof event->name - 1;
    memcpy(event->name, name, size);
    event->name_size = name_size;
}

/* Notes what a call on a composite lock did to its hold. The event gets the serial of that hold, not that of a
 * member. */
static void note_composite(struct request *request, redlatch_event *event) {
    const struct operation *operation = &request->operation;
    if (operation->kind == OPERATION_ACQUIRE && operation->status == REDLATCH_OK) {
        composite_note_granted(request->composite, operation->owner);
    }
    event->serial = composite_serial(request->composite, operation->owner);
    if (operation->kind == OPERATION_RELEASE && operation->status != REDLATCH_CLOSED) {
        composite_note_released(request->composite, operation->owner, operation->status);
    }
}

/* Sets the status of a call, and the number, the lock's state or the report that it returns. */
static void fill_outcome(struct client *client, struct request *request, redlatch_event *event) {
    const struct operation *operation = &request->operation;
    event->status = counted_outcome(operation, &event->number);
    if (operation->kind == OPERATION_FORCE && event->status == REDLATCH_OK) {
        event->number = operation->forced;
    }
    if (operation->kind == OPERATION_QUERY && event->status == REDLATCH_OK) {
        lock_state_of(&request->answer, &client->event_state);
        event->state = &client->event_state;
    }
    if (request->inquiry) {
        event->report = request->inquiry->report;
        request->inquiry->report = NULL;
    }
}

/* Sets the calling thread's last error as the blocking call would do. */
static void fail_as_request(struct client *client, const struct request *request, int status) {
    const struct operation *operation = &request->operation;
    const struct inquiry *inquiry = request->inquiry;
    bool counts = operation->kind == OPERATION_CHANGE ||
                  (operation->kind != OPERATION_ACQUIRE && kind_has_permit_ids(operation->lock_kind));
    if (inquiry) {
        request_failed(client, request, verb_of(operation), inquiry->subject.text, inquiry->subject.size, status);
    } else if (counts) {
        counted_failed(request, status);
    } else {
        operation_failed(request, request->wait_ms);
    }
}

/* Sets message and reason of a failed call's event. The text stays in the client. */
static void fill_message(struct client *client, const struct request *request, redlatch_event *event) {
    struct error_text *error = &client->event_errors[LOSS_EVENTS];
    if (event->status == REDLATCH_OK) {
        return;
    }
    if (request->op && request->op->error.text[0]) {
        *error = request->op->error;
    } else {
        error_text_swap(error);
        fail_as_request(client, request, event->status);
        error_text_swap(error);
    }
    event->message = error->text;
    event->reason = error->reason;
}

static void fill_event(struct client *client, struct request *request, redlatch_event *event) {
    const struct operation *operation = &request->operation;
    event->kind = request->event;
    event->tag = request->tag;
    event->owner = operation->owner;
    event->serial = operation->serial;
    fill_outcome(client, request, event);
    fill_message(client, request, event);
    if (request->inquiry) {
        event_set_name(event, request->inquiry->subject.text, request->inquiry->subject.size);
    } else {
        event_set_name(event, operation->resource->name, operation->resource->name_size);
    }
    engine_claimed(&client->engine, &request->operation);
    if (request->composite) {
        note_composite(request, event);
    }
}

bool request_next_event(struct client *client, redlatch_event *event, struct composite **composite_out) {
    struct list_link *link;
    while ((link = list_pop(&client->events)) != NULL) {
        struct request *request = container_of(link, struct request, operation.link);
        if (request->inquiry ? inquiry_complete(request) : !explain_started(request)) {
            struct request *explained = explained_request(request);
            if (explained) {
                request_free(client, request);
                request = explained;
            }
            fill_event(client, request, event);
            *composite_out = request_free(client, request);
            return true;
        }
    }
    return false;
}
