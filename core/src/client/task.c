/* Calls that one thread makes of several clients at once.
 * SPDX-License-Identifier: Apache-2.0 */
#include "task.h"

#include "errors.h"

static void set_up(struct call *call, struct client *client, const struct errand *errand, int64_t now) {
    struct operation *operation = &call->operation;
    call_init(call, client, errand->cancel);
    operation->kind = errand->kind;
    operation->set = errand->set;
    operation->resource = errand->set ? errand->set->members[0].resource : errand->resource;
    operation->lock_kind = errand->set ? errand->set->members[0].lock_kind : errand->lock_kind;
    operation->owner = errand->owner;
    operation->named_owner = errand->named_owner;
    operation->lease_ms = errand->lease_ms;
    operation->max_hold_ms = errand->max_hold_ms;
    if (errand->once) {
        call_wait_for(call, 0, now);
    } else {
        operation->wait_until = errand->wait_ms == REDLATCH_FOREVER ? NEVER : now + errand->wait_ms * MILLISECOND;
    }
    call->run = errand->run;
    operation->asynchronous = errand->run != NULL;
}

void task_start(struct task *task, struct client *client, const struct errand *errand) {
    task->client = client;
    task->reads = NULL;
    task->active = false;
    task->deadline = 0;
    task->count = 0;
    task->status = enter_call(client);
    if (task->status != REDLATCH_OK) {
        return;
    }
    int64_t now = system_now();
    set_up(&task->call, client, errand, now);
    if (!client_supply_for(client, errand->kind, errand->set)) {
        task->status = fail_plain(REDLATCH_NO_MEMORY);
    } else if (!keeper_start(client)) {
        task->status = fail_with(REDLATCH_SYSTEM, "no thread to be had from the system: expected one to renew leases");
    } else if (errand->run) {
        task->active = true;
        task->call.operation.lane = LANE_HOST;
        engine_start(&client->engine, &task->call.operation, now);
        client_settle(client, now);
    } else {
        task->active = true;
        drive_start(&task->call, now);
    }
    leave_call(client);
}

/* What was granted, or what was in the way. Whatever it was, no hold knows of the operation any more: of what was given
 * back, as nobody collected it in time, a part may be lost. */
static void note(struct task *task) {
    struct operation *operation = &task->call.operation;
    task->active = false;
    task_stop_reading(task, system_now());
    engine_claimed(&task->client->engine, operation);
    task->status = operation->status;
    task->member = operation->met_member;
    if (operation->kind != OPERATION_ACQUIRE || operation->status != REDLATCH_OK) {
        return;
    }
    task->deadline = NEVER;
    task->count = UINT32_MAX;
    for (uint32_t i = 0; i < operation->set->count; i++) {
        const struct set_member *member = &operation->set->members[i];
        const struct hold *hold = resource_hold_of(member->resource, member->lock_kind, operation->owner);
        int64_t deadline = hold ? hold->deadline : 0;
        uint32_t count = hold ? hold_levels_left(hold) : 0;
        task->deadline = deadline < task->deadline ? deadline : task->deadline;
        task->count = count < task->count ? count : task->count;
    }
}

bool task_visit(struct task *task, int64_t until) {
    struct client *client = task->client;
    client_lock(client); /* also of one that was closed meanwhile: the call has ended with CLOSED then */
    client->calls++;
    drive_until(&task->call, until);
    bool done = task->call.operation.phase == PHASE_DONE;
    if (done) {
        note(task);
    }
    leave_call(client);
    return done;
}

bool task_collect(struct task *task) {
    client_lock(task->client);
    bool done = task->active && task->call.operation.phase == PHASE_DONE;
    if (done) {
        note(task);
    }
    client_unlock(task->client);
    return done;
}

void task_abort(struct task *task) {
    struct client *client = task->client;
    client_lock(client);
    int64_t now = system_now();
    bool granted = task->call.operation.phase == PHASE_DONE && task->call.operation.status == REDLATCH_OK &&
                   task->call.operation.kind == OPERATION_ACQUIRE;
    engine_abort(&client->engine, &task->call.operation, REDLATCH_CANCELLED, now);
    client_settle(client, now);
    note(task);
    task->status = granted ? REDLATCH_OK : REDLATCH_CANCELLED;
    client_unlock(client);
}
