/* The rig: a driver for the engine whose time a test sets.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "acknowledgement.h"
#include "group.h"
#include "kinds.h"

struct rig rig;
const char rig_uuid[] = "01234567-89ab-8def-8123-456789abcdef";

struct rig_handle {
    struct rig_handle *next;
    struct resource *resource;
};

/* A block of memory that the engine gets. */
struct block {
    struct list_link link;
    max_align_t memory[];
};

static void *get_memory(size_t size) {
    void *memory = calloc(1, size);
    if (!memory) {
        abort();
    }
    return memory;
}

static void *supply(size_t size) {
    struct block *block = get_memory(sizeof *block + size);
    list_append(&rig.supplied, &block->link);
    return block->memory;
}

void rig_open(void) {
    static const struct engine_settings settings = {.watchdog_lease_ms = RIG_LEASE_MS,
                                                    .unreachable_timeout_ms = RIG_UNREACHABLE_MS,
                                                    .claim_timeout_ms = RIG_CLAIM_MS,
                                                    .linger_ms = RIG_LINGER_MS,
                                                    .fair_timeout_ms = RIG_FAIR_MS};
    memset(&rig, 0, sizeof rig);
    list_init(&rig.supplied);
    rig.now = 1000 * SECOND;
    rig.lock_kind = REDLATCH_MUTEX;
    rig.at = &rig.server;
    server_init(&rig.second);
    engine_init(&rig.engine, &rig.server, &settings, rig_uuid, 42);
    for (int queue = 0; queue < LOSS_QUEUES; queue++) {
        rig.engine.losses_wanted[queue] = true;
    }
}

void rig_open_cluster(void) {
    rig_open();
    for (int slot = 0; slot < SLOT_COUNT; slot++) {
        rig.routes[slot] = &rig.server;
    }
    rig.engine.routes = rig.routes;
}

/* ----------------------------------------------------------------------------------------------------- memory -- */

static void supply_for(uint8_t operation_kind, const struct name_set *set) {
    struct engine_preallocation needed = set ? engine_preallocation_needed_for_set(&rig.engine, operation_kind,
                                                                                   set->count)
                                             : engine_preallocation_needed(&rig.engine, operation_kind);
    rig.lines += needed.entries;
    for (uint32_t i = 0; i < needed.entries; i++) {
        engine_add_entries(&rig.engine, supply(sizeof(struct entries)));
    }
    rig.commands += needed.commands;
    rig.wait_queues += needed.wait_queues;
    rig.holds += needed.holds;
    rig.batches += needed.batches;
    for (uint32_t i = 0; i < needed.commands; i++) {
        engine_add_command(&rig.engine, supply(sizeof(struct command)));
    }
    for (uint32_t i = 0; i < needed.wait_queues; i++) {
        engine_add_wait_queue(&rig.engine, supply(sizeof(struct wait_queue)));
    }
    for (uint32_t i = 0; i < needed.holds; i++) {
        engine_add_hold(&rig.engine, supply(sizeof(struct hold)));
    }
    for (uint32_t i = 0; i < needed.batches; i++) {
        engine_add_batch(&rig.engine, supply(sizeof(struct command)),
                         supply(RENEWAL_BATCH_SIZE * sizeof(struct renewal)));
    }
}

static void preallocate_what_is_needed(uint8_t operation_kind) {
    supply_for(operation_kind, NULL);
}

static struct call *call_of(const struct operation *operation) {
    struct call *call = rig.calls;
    while (call->operation != operation) {
        call = call->next;
    }
    return call;
}

static void free_operation(struct call *call) {
    struct resource *resource = call->operation->resource;
    free(call->operation);
    call->operation = NULL;
    resource_drop(&rig.engine, resource);
}

/* Checks that the listener of each wake-up channel refers to that channel, and has the number that the channel is
 * for. */
static void check_calls(void) {
    const struct list *wait_queues = &rig.engine.wait_queues;
    for (struct list_link *link = list_first(wait_queues); link; link = list_next(wait_queues, link)) {
        const struct wait_queue *queue = container_of(link, struct wait_queue, all);
        for (int i = 0; i < WAKE_CHANNELS; i++) {
            const struct operation *listener = queue->wake_channels[i].listener;
            CHECK(!listener || (listener->wake_channel == &queue->wake_channels[i] &&
                                listener->id == queue->wake_channels[i].waiter));
        }
    }
}

void rig_turn(void) {
    struct list_link *link;
    check_calls();
    while ((link = list_pop(&rig.engine.finished)) != NULL) {
        struct operation *operation = container_of(link, struct operation, link);
        struct call *call = call_of(operation);
        call->done = true;
        call->nth = ++rig.done_count;
        call->status = operation->status;
        call->hold = resource_hold_of(operation->resource, operation->lock_kind, operation->owner);
        call->id = operation->id;
        call->forced = operation->forced;
        call->result = operation->result;
        if (!operation->granted && !operation->unclaimed) {
            free_operation(call);
        }
    }
    while (rig.engine.dead_resources) {
        struct resource *dead = rig.engine.dead_resources;
        rig.engine.dead_resources = dead->next;
        CHECK_EQ_INT(dead->wait_queue_users, 0);
        free(dead);
    }
}

/* Returns a name for something that the engine still has, or "nothing". */
static const char *left_over(void) {
    const struct engine *engine = &rig.engine;
    const struct {
        bool there;
        const char *what;
    } checks[] = {
        {!list_is_empty(&engine->operations), "an operation under way"},
        {engine->command_pool_size != rig.commands, "a command"},
        {engine->batch_pool_size != rig.batches, "a renewal"},
        {engine->hold_pool_size != rig.holds, "a hold"},
        {engine->wait_queue_pool_size != rig.wait_queues, "a wait queue"},
        {!list_is_empty(&engine->wait_queues), "a wait queue in the list"},
        {!list_is_empty(&rig.server.subscription_changes), "a change of a subscription"},
        {!list_is_empty(&rig.second.subscription_changes), "a change of a subscription on the second server"},
        {rig.server.subscriptions != 0 || rig.second.subscriptions != 0, "a subscription of a server"},
        {engine->entries_pool_size != rig.lines, "lines of a command"},
        {engine->reserved_entries != 0, "reserved lines of a command"},
        {engine->reserved_commands != 0, "a reserved command"},
        {engine->reserved_holds != 0, "a reserved hold"},
        {engine->reserved_wait_queues != 0, "a reserved wait queue"},
        {engine_next_timer(engine) != NEVER, "a timer"},
        {engine->resources.used != 0, "a name"},
        {engine->subscriptions != 0, "a subscription"},
        {engine->stats.held != 0, "a hold in the gauge"},
        {engine->stats.waiters != 0, "a waiter in the gauge"},
    };
    for (int pipeline = 0; pipeline < 2 * PIPELINE_COUNT; pipeline++) {
        const struct server *server = pipeline < PIPELINE_COUNT ? &rig.server : &rig.second;
        const struct pipeline *at = &server->pipelines[pipeline % PIPELINE_COUNT];
        if (!list_is_empty(&at->unsent) || !list_is_empty(&at->sent) || !list_is_empty(&at->in_doubt) ||
            at->in_flight) {
            return "something in a pipeline";
        }
    }
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        if (checks[i].there) {
            return checks[i].what;
        }
    }
    return "nothing";
}

static int subscriptions_of(struct server *server) {
    int changes = 0;
    struct list_link *link;
    while ((link = list_pop(&server->subscription_changes)) != NULL) {
        struct subscription *subscription = container_of(link, struct subscription, link);
        changes++;
        if (subscription->state == SUBSCRIPTION_WANTED) {
            engine_subscribed(&rig.engine, subscription, rig.now);
        } else if (subscription->state == SUBSCRIPTION_LEAVING) {
            engine_unsubscribed(&rig.engine, subscription, rig.now);
        }
        rig_turn();
    }
    return changes;
}

static void end_subscriptions(void) {
    while (subscriptions_of(&rig.server) + subscriptions_of(&rig.second) > 0) {
    }
}

const char *rig_close(void) {
    for (int queue = 0; queue < LOSS_QUEUES; queue++) {
        rig_losses((enum loss_queue)queue, NULL);
    }
    end_subscriptions();
    rig_pass((RIG_LINGER_MS + 1) * MILLISECOND);
    end_subscriptions();
    while (rig.handles) {
        struct rig_handle *handle = rig.handles;
        rig.handles = handle->next;
        resource_drop(&rig.engine, handle->resource);
        free(handle);
    }
    rig_turn();
    const char *left = left_over();
    while (rig.calls) {
        struct call *call = rig.calls;
        rig.calls = call->next;
        if (call->operation && strcmp(left, "nothing") == 0) {
            left = "the claim of a call";
        }
        free(call->operation);
        free(call->set);
        free(call);
    }
    for (uint32_t i = 0; i < rig.engine.resources.bucket_count; i++) {
        for (struct resource *resource = rig.engine.resources.buckets[i]; resource;) {
            struct resource *next = resource->next;
            free(resource);
            resource = next;
        }
    }
    free(rig.engine.resources.buckets);
    struct list_link *link;
    while ((link = list_pop(&rig.supplied)) != NULL) {
        free(container_of(link, struct block, link));
    }
    return left;
}

/* ------------------------------------------------------------------------------------------------------ calls -- */

struct resource *rig_name(const char *name) {
    struct resource_table *table = &rig.engine.resources;
    size_t size = strlen(name);
    uint32_t hash = resource_hash(name, size);
    struct resource *resource = resource_find(table, kind_of_names(rig.lock_kind), name, size, hash);
    if (resource) {
        resource->references--; /* the handle has a reference already */
        return resource;
    }
    uint32_t wanted = resource_table_wants(table);
    if (wanted) {
        free(resource_table_rehash(table, get_memory(wanted * sizeof(struct resource *)), wanted));
    }
    resource = get_memory(sizeof *resource + size + (size_t)rig.value_count * GROUP_VALUE_SIZE);
    resource->hash = hash;
    resource->name_size = (uint32_t)size;
    resource->kind = kind_of_names(rig.lock_kind);
    memcpy(resource->name, name, size);
    if (rig.engine.routes) {
        resource->slot = key_slot(name, size);
        resource->server = rig.routes[resource->slot];
    }
    resource->value_count = rig.value_count;
    for (uint32_t i = 0; i < rig.value_count; i++) { /* sorted */
        memset(resource->name + size + (size_t)i * GROUP_VALUE_SIZE, 'a' + (char)i, GROUP_VALUE_SIZE);
    }
    resource_add(table, resource);
    struct rig_handle *handle = get_memory(sizeof *handle);
    handle->resource = resource;
    handle->next = rig.handles;
    rig.handles = handle;
    return resource;
}

struct wait_queue *rig_wait_queue(const char *name) {
    return rig_name(name)->queue;
}

struct call *rig_call(enum operation_kind kind, const char *name, uint64_t owner) {
    struct call *call = get_memory(sizeof *call);
    call->operation = get_memory(sizeof *call->operation);
    call->next = rig.calls;
    rig.calls = call;
    struct operation *operation = call->operation;
    operation->kind = (uint8_t)kind;
    operation->lock_kind = rig.lock_kind;
    operation->resource = resource_keep(rig_name(name));
    operation->owner = owner;
    operation->pipeline = PIPELINE_CALLERS;
    operation->lease_ms = REDLATCH_RENEWED;
    operation->max_hold_ms = REDLATCH_FOREVER;
    operation->wait_until = NEVER;
    operation->answer = &call->answer;
    return call;
}

struct call *rig_set_call(enum operation_kind kind, const char *letters, uint64_t owner) {
    size_t count = strlen(letters);
    struct call *call = rig_call(kind, (char[]){letters[0], 0}, owner);
    call->set = get_memory(sizeof *call->set + count * sizeof call->set->members[0]);
    call->set->count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        call->set->members[i].resource = rig_name((char[]){letters[i], 0});
        call->set->members[i].lock_kind = rig.lock_kind;
    }
    call->operation->set = call->set;
    return call;
}

struct call *rig_acquire_all(const char *letters, uint64_t owner) {
    struct call *call = rig_set_call(OPERATION_ACQUIRE, letters, owner);
    rig_start(call);
    return call;
}

struct call *rig_release_all(const char *letters, uint64_t owner) {
    struct call *call = rig_set_call(OPERATION_RELEASE, letters, owner);
    rig_start(call);
    return call;
}

/* Adds holds to the pool: each permit of a permit semaphore becomes a hold. */
static void supply_holds(int64_t count) {
    while (rig.engine.hold_pool_size < rig.engine.reserved_holds + count) {
        rig.holds++;
        engine_add_hold(&rig.engine, supply(sizeof(struct hold)));
    }
}

void rig_start(struct call *call) {
    const struct operation *operation = call->operation;
    supply_for(operation->kind, operation->set);
    if (operation->kind == OPERATION_ACQUIRE && operation->lock_kind == REDLATCH_PERMIT_SEMAPHORE) {
        supply_holds(operation->amount);
    }
    engine_start(&rig.engine, call->operation, rig.now);
    rig_turn();
}

static struct call *started(struct call *call) {
    rig_start(call);
    return call;
}

struct call *rig_acquire(const char *name, uint64_t owner) {
    return started(rig_call(OPERATION_ACQUIRE, name, owner));
}

struct call *rig_acquire_for(const char *name, uint64_t owner, int64_t lease_ms) {
    struct call *call = rig_call(OPERATION_ACQUIRE, name, owner);
    call->operation->lease_ms = lease_ms;
    return started(call);
}

struct call *rig_acquire_named(const char *name, uint64_t owner) {
    struct call *call = rig_call(OPERATION_ACQUIRE, name, owner);
    call->operation->named_owner = true;
    return started(call);
}

struct call *rig_try(const char *name, uint64_t owner) {
    struct call *call = rig_call(OPERATION_ACQUIRE, name, owner);
    call->operation->non_blocking = true;
    return started(call);
}

struct call *rig_release(const char *name, uint64_t owner) {
    return started(rig_call(OPERATION_RELEASE, name, owner));
}

struct call *rig_extend(const char *name, uint64_t owner, int64_t lease_ms) {
    struct call *call = rig_call(OPERATION_EXTEND, name, owner);
    call->operation->lease_ms = lease_ms;
    return started(call);
}

void rig_abort(struct call *call, int status) {
    engine_abort(&rig.engine, call->operation, status, rig.now);
    rig_turn();
}

void rig_claim(struct call *call) {
    engine_claimed(&rig.engine, call->operation);
    free_operation(call);
    rig_turn();
}

/* ----------------------------------------------------------------------------------------------------- server -- */

struct command *rig_send(enum pipeline_role pipeline) {
    return engine_next_to_send(&rig.engine, &rig.at->pipelines[pipeline], rig.now);
}

void rig_reply(enum pipeline_role pipeline, const struct reply *reply) {
    engine_replied(&rig.engine, &rig.at->pipelines[pipeline], reply, rig.now);
    rig_turn();
}

void rig_acknowledged(enum pipeline_role pipeline, struct reply reply, int64_t replicas) {
    struct acknowledgement acknowledgement = {.status = REDLATCH_OK};
    if (engine_keeps_reply(engine_pipeline(&rig.engine, pipeline), &reply)) {
        const struct reply count = {.kind = REPLY_INTEGER, .integer = replicas};
        acknowledgement_take(&acknowledgement, &rig.engine, &count);
        reply.acknowledgement = &acknowledgement;
    }
    rig_reply(pipeline, &reply);
}

void rig_granted(enum pipeline_role pipeline) {
    rig_integers(pipeline, (const int64_t[]){0}, 1);
}

void rig_contended(enum pipeline_role pipeline, int line, int64_t ttl_ms) {
    rig_integers(pipeline, (const int64_t[]){line, ttl_ms}, 2);
}

void rig_nil(enum pipeline_role pipeline) {
    struct reply reply = {.kind = REPLY_NIL};
    rig_reply(pipeline, &reply);
}

void rig_integer(enum pipeline_role pipeline, int64_t value) {
    struct reply reply = {.kind = REPLY_INTEGER, .integer = value};
    rig_reply(pipeline, &reply);
}

void rig_error(enum pipeline_role pipeline, const char *text) {
    struct reply reply = {.kind = REPLY_ERROR, .text = text, .size = strlen(text)};
    rig_reply(pipeline, &reply);
}

void rig_integers(enum pipeline_role pipeline, const int64_t *values, size_t count) {
    struct reply *elements = get_memory((count + 1) * sizeof *elements);
    for (size_t i = 0; i < count; i++) {
        elements[i].kind = REPLY_INTEGER;
        elements[i].integer = values[i];
    }
    struct reply reply = {.kind = REPLY_ARRAY, .elements = elements, .count = count};
    rig_reply(pipeline, &reply);
    free(elements);
}

void rig_drain_background(void) {
    static const int64_t before[RENEWAL_BATCH_SIZE];
    struct command *command;
    while ((command = rig_send(PIPELINE_BACKGROUND)) != NULL) {
        rig_integers(PIPELINE_BACKGROUND, before, command->batch_count);
    }
}

void rig_lost(enum pipeline_role pipeline) {
    engine_pipeline_lost(&rig.engine, &rig.at->pipelines[pipeline], rig.now);
    rig_turn();
}

void rig_ready(enum pipeline_role pipeline, enum resolution how) {
    engine_pipeline_ready(&rig.engine, &rig.at->pipelines[pipeline], how, rig.now);
    rig_turn();
}

void rig_failed(enum pipeline_role pipeline, int status) {
    engine_pipeline_failed(&rig.engine, &rig.at->pipelines[pipeline], status, status != REDLATCH_AUTHENTICATION,
                           rig.now);
    rig_turn();
}

int rig_subscriptions(void) {
    return subscriptions_of(rig.at);
}

void rig_message(const char *name) {
    rig_message_of(name, 0);
}

void rig_message_of(const char *name, int64_t number) {
    engine_message(&rig.engine, &rig_wait_queue(name)->subscription, number, rig.now);
    rig_turn();
}

void rig_park(int64_t ttl_ms) {
    rig_send(PIPELINE_CALLERS);
    rig_integer(PIPELINE_CALLERS, ttl_ms);
    rig_subscriptions(); /* which makes the waiter recheck */
    rig_send(PIPELINE_CALLERS);
    rig_integer(PIPELINE_CALLERS, ttl_ms);
}

void rig_supply(void) {
    preallocate_what_is_needed(OPERATION_QUERY);
}

void rig_pass(int64_t microseconds) {
    int64_t end = rig.now + microseconds;
    while (engine_next_timer(&rig.engine) <= end) {
        int64_t at = engine_next_timer(&rig.engine);
        rig.now = at > rig.now ? at : rig.now;
        engine_run_timers(&rig.engine, rig.now);
        rig_turn();
    }
    rig.now = end;
}

struct hold *rig_grant_for(const char *name, uint64_t owner, int64_t lease_ms) {
    struct call *call = rig_acquire_for(name, owner, lease_ms);
    rig_send(PIPELINE_CALLERS);
    rig_nil(PIPELINE_CALLERS);
    return call->hold;
}

struct hold *rig_grant(const char *name, uint64_t owner) {
    return rig_grant_for(name, owner, REDLATCH_RENEWED);
}

void rig_end(const char *name, uint64_t owner) {
    rig_release(name, owner);
    rig_send(PIPELINE_CALLERS);
    rig_integer(PIPELINE_CALLERS, 1);
}

int rig_losses(enum loss_queue queue, int *reason_out) {
    int count = 0;
    struct hold *hold;
    while ((hold = engine_first_loss(&rig.engine, queue)) != NULL) {
        count++;
        if (reason_out) {
            *reason_out = hold->reason;
        }
        engine_loss_taken(&rig.engine, queue);
        rig_turn();
    }
    return count;
}
