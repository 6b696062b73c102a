/* Asynchronous calls: made, sent on their way, told of by an event.
 * SPDX-License-Identifier: Apache-2.0 */
#include "started.h"

#include <stdlib.h>
#include <string.h>

#include "counted.h"
#include "explain.h"
#include "joint_async.h"
#include "joint_holds.h"
#include "joint_words.h"
#include "lock.h"

/* ------------------------------------------------------------------------------------------------------ starting -- */

static void set_up(struct call *call, struct client *client, int32_t event, uint64_t tag) {
    call_init(call, client, NULL);
    call->tag = tag;
    call->event = event;
    call->operation.asynchronous = true;
    call->operation.lane = LANE_HOST;
}

struct call *call_start_entered(struct client *client, int32_t event, uint64_t tag, int *status_out) {
    struct call *call = malloc(sizeof *call);
    if (!call) {
        *status_out = fail_plain(REDLATCH_NO_MEMORY);
        return NULL;
    }
    *status_out = enter_call(client);
    if (*status_out != REDLATCH_OK) {
        free(call);
        return NULL;
    }
    set_up(call, client, event, tag);
    return call;
}

struct call *call_start_inside(struct client *client) {
    struct call *call = malloc(sizeof *call);
    if (call) {
        set_up(call, client, REDLATCH_EVENT_ANSWERED, 0);
    }
    return call;
}

int call_start_prepared(struct call *call, int status, int64_t now) {
    struct client *client = call->client;
    if (status == REDLATCH_OK && !keeper_start(client)) {
        status = fail_with(REDLATCH_SYSTEM, "no thread to be had from the system: expected one to see to the call");
    }
    if (status == REDLATCH_OK) {
        if (call->operation.resource) {
            resource_keep(call->operation.resource);
        }
        engine_start(&client->engine, &call->operation, now);
        client_settle(client, now);
    } else {
        if (call->inquiry) {
            inquiry_free(call->inquiry);
        }
        free(call);
    }
    leave_call(client);
    return status;
}

void call_start_over(struct call *call) {
    struct inquiry *inquiry = call->inquiry;
    set_up(call, call->client, call->event, call->tag);
    call->inquiry = inquiry;
}

/* ------------------------------------------------------------------------------------------------------- telling -- */

struct joint *call_free(struct client *client, struct call *call) {
    struct call *explained = explained_call(call);
    struct joint *joint = explained ? call_free(client, explained) : call->joint;
    if (call->run) {
        joint_collected(call->run);
    }
    engine_claimed(&client->engine, &call->operation);
    if (call->inquiry) {
        inquiry_free(call->inquiry);
    }
    if (call->operation.resource) {
        resource_drop(&client->engine, call->operation.resource);
    }
    free(call->finding);
    free(call);
    return joint;
}

void event_set_name(redlatch_event *event, const char *name, size_t name_size) {
    size_t size = name_size < sizeof event->name - 1 ? name_size : sizeof event->name - 1;
    memcpy(event->name, name, size);
    event->name_size = name_size;
}

/* What a call about all members of a multi lock did is noted, and told by the number of the whole. */
static void note_joint(struct call *call, redlatch_event *event) {
    const struct operation *operation = &call->operation;
    if (operation->kind == OPERATION_ACQUIRE && operation->status == REDLATCH_OK) {
        joint_note_granted(call->joint, operation->owner, joint_hold_new(call->joint));
    }
    event->serial = joint_serial(call->joint, operation->owner);
    if (operation->kind == OPERATION_RELEASE && operation->status != REDLATCH_CLOSED) {
        joint_note_released(call->joint, operation->owner, operation->status);
    }
}

/* What a question or a change has brought. */
static void tell_outcome(struct client *client, struct call *call, redlatch_event *event) {
    const struct operation *operation = &call->operation;
    event->status = counted_outcome(operation, &event->number);
    if (operation->kind == OPERATION_FORCE && event->status == REDLATCH_OK) {
        event->number = operation->forced;
    }
    if (operation->kind == OPERATION_QUERY && event->status == REDLATCH_OK) {
        lock_state_of(&call->answer, &client->told_state);
        event->state = &client->told_state;
    }
    if (call->inquiry) {
        event->report = call->inquiry->report;
        call->inquiry->report = NULL;
    }
}

/* Sets the calling thread's last error as the blocking call would have. */
static void fail_as_call(struct client *client, const struct call *call, int status) {
    const struct operation *operation = &call->operation;
    const struct inquiry *inquiry = call->inquiry;
    const struct redlatch_lock lock = {.client = client, .resource = operation->resource, .joint = call->joint};
    bool counts = operation->kind == OPERATION_CHANGE ||
                  (operation->kind != OPERATION_ACQUIRE && operation->lock_kind == REDLATCH_PERMIT_SEMAPHORE);
    if (inquiry) {
        call_failed(client, call, verb_of(operation), inquiry->subject.text, inquiry->subject.size, status);
    } else if (counts) {
        counted_failed(call, status);
    } else if (operation->set) {
        joint_failed_as_set(&lock, call, call->wait_ms);
    } else {
        lock_failed(&lock, call, verb_of(operation), status, call->wait_ms);
    }
}

/* The message of an event, which the client keeps. */
static void tell_words(struct client *client, const struct call *call, redlatch_event *event) {
    struct words *words = &client->told_words[LOSS_EVENTS];
    if (event->status == REDLATCH_OK) {
        return;
    }
    if (call->run && call->run->words.text[0]) {
        *words = call->run->words;
    } else {
        words_swap(words);
        fail_as_call(client, call, event->status);
        words_swap(words);
    }
    event->message = words->text;
    event->reason = words->reason;
}

static void tell(struct client *client, struct call *call, redlatch_event *event) {
    const struct operation *operation = &call->operation;
    event->kind = call->event;
    event->tag = call->tag;
    event->owner = operation->owner;
    event->serial = operation->serial;
    tell_outcome(client, call, event);
    tell_words(client, call, event);
    if (call->inquiry) {
        event_set_name(event, call->inquiry->subject.text, call->inquiry->subject.size);
    } else {
        event_set_name(event, operation->resource->name, operation->resource->name_size);
    }
    engine_claimed(&client->engine, &call->operation);
    if (call->joint) {
        note_joint(call, event);
    }
}

bool call_next_told(struct client *client, redlatch_event *event, struct joint **joint_out) {
    struct list_link *link;
    while ((link = list_pop(&client->events)) != NULL) {
        struct call *call = container_of(link, struct call, operation.link);
        if (call->inquiry ? inquiry_is_told(call) : !explain_started(call)) {
            struct call *explained = explained_call(call);
            if (explained) {
                call_free(client, call);
                call = explained;
            }
            tell(client, call, event);
            *joint_out = call_free(client, call);
            return true;
        }
    }
    return false;
}
