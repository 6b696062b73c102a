/* Starts, drives, collects and ends subrequests.
 * SPDX-License-Identifier: Apache-2.0 */
#include "subrequest.h"

#include "background_thread.h"
#include "client_lock.h"
#include "drive.h"
#include "errors.h"
#include "outputs.h"
#include "preallocate.h"
#include "reader.h"

static void set_up(struct request *request, struct client *client, const struct subrequest_spec *spec, int64_t now) {
    struct operation *operation = &request->operation;
    request_init(request, client, spec->cancel);
    operation->kind = spec->kind;
    operation->set = spec->set;
    operation->resource = spec->set ? spec->set->members[0].resource : spec->resource;
    operation->lock_kind = spec->set ? spec->set->members[0].lock_kind : spec->lock_kind;
    operation->question = spec->question;
    operation->owner = spec->owner;
    operation->named_owner = spec->named_owner;
    operation->lease_ms = spec->lease_ms;
    operation->max_hold_ms = spec->max_hold_ms;
    if (spec->non_blocking) {
        request_set_wait(request, 0, now);
    } else {
        operation->wait_until = spec->wait_ms == REDLATCH_FOREVER ? NEVER : now + spec->wait_ms * MILLISECOND;
    }
    request->op = spec->op;
    operation->asynchronous = spec->op != NULL;
}

void subrequest_start(struct subrequest *subrequest, struct client *client, const struct subrequest_spec *spec) {
    subrequest->client = client;
    subrequest->reads = NULL;
    subrequest->active = false;
    subrequest->deadline = 0;
    subrequest->count = 0;
    subrequest->member = 0;
    subrequest->status = client_enter(client);
    if (subrequest->status != REDLATCH_OK) {
        return;
    }
    int64_t now = system_now();
    set_up(&subrequest->request, client, spec, now);
    if (!client_preallocate_for(client, spec->kind, spec->set)) {
        subrequest->status = fail_plain(REDLATCH_NO_MEMORY);
    } else if (!background_start(client)) {
        subrequest->status = fail_with(REDLATCH_SYSTEM, "no thread can be started: expected one that renews leases");
    } else if (spec->op) {
        subrequest->active = true;
        struct operation *operation = &subrequest->request.operation;
        operation->pipeline = (uint8_t)drive_pick_pipeline(client, operation);
        engine_start(&client->engine, operation, now);
        client_finish_step(client, now);
    } else {
        subrequest->active = true;
        drive_start(&subrequest->request, now);
    }
    client_leave(client);
}

void subrequest_stop_reading(struct subrequest *subrequest, int64_t now) {
    struct pipeline_io *io = subrequest->reads;
    if (io) {
        subrequest->reads = NULL;
        reader_leave(io);
        reader_pass(io, now);
    }
}

/* Notes the outcome: what was granted, or which member was contended. Whatever the outcome is, engine_claimed makes all
 * holds forget the operation. A grant that was not collected in time was given back, so a part of it may be lost. */
static void note(struct subrequest *subrequest) {
    struct operation *operation = &subrequest->request.operation;
    subrequest->active = false;
    subrequest_stop_reading(subrequest, system_now());
    engine_claimed(&subrequest->client->engine, operation);
    subrequest->status = operation->status;
    subrequest->member = operation->contended_member;
    if (operation->kind != OPERATION_ACQUIRE || operation->status != REDLATCH_OK) {
        return;
    }
    subrequest->deadline = NEVER;
    subrequest->count = UINT32_MAX;
    for (uint32_t i = 0; i < operation->set->count; i++) {
        const struct set_member *member = &operation->set->members[i];
        const struct hold *hold = resource_hold_of(member->resource, member->lock_kind, operation->owner);
        int64_t deadline = hold ? hold->deadline : 0;
        uint32_t count = hold ? hold_count_left(hold) : 0;
        subrequest->deadline = deadline < subrequest->deadline ? deadline : subrequest->deadline;
        subrequest->count = count < subrequest->count ? count : subrequest->count;
    }
}

bool subrequest_drive(struct subrequest *subrequest, int64_t until) {
    struct client *client = subrequest->client;
    client_lock(client); /* also if it was closed meanwhile: then the request has ended with CLOSED */
    client->callers++;
    drive_until(&subrequest->request, until);
    bool done = subrequest->request.operation.phase == PHASE_DONE;
    if (done) {
        note(subrequest);
    }
    client_leave(client);
    return done;
}

bool subrequest_collect(struct subrequest *subrequest) {
    client_lock(subrequest->client);
    bool done = subrequest->active && subrequest->request.operation.phase == PHASE_DONE;
    if (done) {
        note(subrequest);
    }
    client_unlock(subrequest->client);
    return done;
}

void subrequest_abort(struct subrequest *subrequest) {
    struct client *client = subrequest->client;
    client_lock(client);
    int64_t now = system_now();
    bool granted = subrequest->request.operation.phase == PHASE_DONE &&
                   subrequest->request.operation.status == REDLATCH_OK &&
                   subrequest->request.operation.kind == OPERATION_ACQUIRE;
    engine_abort(&client->engine, &subrequest->request.operation, REDLATCH_CANCELLED, now);
    client_finish_step(client, now);
    note(subrequest);
    subrequest->status = granted ? REDLATCH_OK : REDLATCH_CANCELLED;
    client_unlock(client);
}
