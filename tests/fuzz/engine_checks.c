/* Invariants of the engine's records between any two steps: nothing is lost, counted twice or reserved twice; every
 * operation, hold and wait queue has something that moves it on; and every timer is in its place.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_play.h"
#include "kinds.h"
#include "lease.h"

enum { RECORDS_MAX = 1 << 16 };

/* Counts of a walk over all records in use. */
struct tally {
    uint32_t commands, batches, lines, holds, wait_queues;
    uint32_t reserved_commands, reserved_wait_queues, reserved_holds, reserved_entries;
    uint32_t expired_entries;
    uint32_t held, waiters;
    int32_t subscriptions;
    uint32_t timers;
};

static struct tally tally;

/* Walks over a list, whose links must be consistent in both directions. Returns the number of links. */
static uint32_t length(const struct list *list) {
    uint32_t count = 0;
    const struct list_link *before = &list->ring;
    for (const struct list_link *link = list->ring.next; link != &list->ring; link = link->next) {
        MUST(link && link->previous == before);
        MUST(++count < RECORDS_MAX);
        before = link;
    }
    MUST(list->ring.previous == before);
    return count;
}

static bool is_in(const struct list *list, const struct list_link *link) {
    for (const struct list_link *other = list_first(list); other; other = list_next(list, other)) {
        if (other == link) {
            return true;
        }
    }
    return false;
}

static struct list_link *next_in(const struct list *list, const struct list_link *link) {
    return link ? list_next(list, link) : list_first(list);
}

/* ---------------------------------------------------------------------------------------------------- commands -- */

static bool has_line_of(const struct command *command, const struct hold *hold) {
    for (uint32_t i = 0; i < command->entry_count; i++) {
        if (command->entries->entry[i].hold == hold) {
            return true;
        }
    }
    return command->hold == hold;
}

static void check_batch(const struct command *command) {
    tally.batches++;
    for (uint32_t i = 0; i < command->batch_count; i++) {
        const struct renewal *line = &command->batch[i];
        tally.expired_entries += line->expired;
        MUST(!(line->live && line->expired));
        if (line->live) {
            MUST(line->hold->batch == command && line->hold->batch_entry == i && line->hold->stage == HOLD_ALIVE);
        }
    }
}

/* A command in a pipeline or waiting for its timer. */
static void check_command(const struct command *command) {
    if (command->kind == COMMAND_RENEW) {
        check_batch(command);
        return;
    }
    tally.commands++;
    tally.lines += command->entries != NULL;
    MUST(command->resource && (command->entries || command->entry_count == 0));
    if (command->operation) { /* the operation exists and waits for the command */
        MUST(is_in(&rig.engine.operations, &command->operation->all));
        MUST(command->operation->command == command && command->operation->phase == PHASE_REQUESTING);
    }
    if (command->hold) {
        MUST(command->hold->busy == command);
    }
    for (uint32_t i = 0; command->entries && i < command->entry_count; i++) {
        const struct entry *line = &command->entries->entry[i];
        MUST(line->name && (!line->hold || line->hold->busy == command));
    }
}

/* The pipelines of the first server, then those of the second server of a cluster. */
enum { PIPELINES = 2 * PIPELINE_COUNT };

static const struct pipeline *pipeline_number(int number) {
    const struct server *server = number < PIPELINE_COUNT ? &rig.server : &rig.second;
    return &server->pipelines[number % PIPELINE_COUNT];
}

static void check_pipelines(void) {
    for (int number = 0; number < PIPELINES; number++) {
        const struct pipeline *pipeline = pipeline_number(number);
        const struct list *lists[] = {&pipeline->unsent, &pipeline->sent, &pipeline->in_doubt};
        MUST(length(&pipeline->sent) == pipeline->in_flight);
        for (int i = 0; i < 3; i++) {
            length(lists[i]);
            for (struct list_link *link = NULL; (link = next_in(lists[i], link)) != NULL;) {
                const struct command *command = container_of(link, struct command, link);
                MUST(command->pipeline == pipeline->role && command->server == pipeline->server);
                MUST(!command->importing || (play.cluster && i < 2));
                MUST(!timer_is_armed(&command->timer));
                MUST(i == 0 || command->was_sent || command->kind == COMMAND_RENEW);
                check_command(command);
            }
        }
    }
}

/* Returns whether a command is in a pipeline or waits for its timer. A command that was given back is in neither. */
static bool is_under_way(const struct command *command) {
    const struct pipeline *pipeline = &command->server->pipelines[command->pipeline];
    return timer_is_armed(&command->timer) || is_in(&pipeline->unsent, &command->link) ||
           is_in(&pipeline->sent, &command->link) || is_in(&pipeline->in_doubt, &command->link);
}

/* ------------------------------------------------------------------------------------------------------ timers -- */

static void check_timer(const struct timer *timer) {
    switch (timer->kind) {
    case TIMER_HOLD: {
        const struct hold *hold = container_of(timer, struct hold, timer);
        MUST(hold->stage == HOLD_ALIVE ||
             (hold->stage == HOLD_GONE && !hold->ended && hold->lock_kind == REDLATCH_PERMIT_SEMAPHORE));
        break;
    }
    case TIMER_OPERATION: {
        const struct operation *operation = container_of(timer, struct operation, timer);
        MUST(operation->unclaimed || is_in(&rig.engine.operations, &operation->all));
        break;
    }
    case TIMER_WAIT_QUEUE:
        MUST(is_in(&rig.engine.wait_queues, &container_of(timer, struct wait_queue, timer)->all));
        break;
    case TIMER_REFRESH:
        MUST(is_in(&rig.engine.wait_queues, &container_of(timer, struct wait_queue, refresh)->all));
        break;
    default:
        MUST(timer->kind == TIMER_COMMAND);
        MUST(!list_is_linked(&container_of(timer, struct command, timer)->link));
        check_command(container_of(timer, struct command, timer));
        break;
    }
}

static void check_heap(const struct timer *timer) {
    MUST(++tally.timers < RECORDS_MAX);
    check_timer(timer);
    const struct timer *before = timer;
    for (const struct timer *child = timer->child; child; child = child->sibling) {
        MUST(child->back == before && child->at >= timer->at);
        check_heap(child);
        before = child;
    }
}

static void check_timers(void) {
    const struct timer *root = rig.engine.timers.root;
    if (root) {
        MUST(root->back == root && !root->sibling);
        check_heap(root);
    }
}

/* ------------------------------------------------------------------------------------------------------- holds -- */

static void check_claim(const struct hold *hold) {
    const struct call *call = rig.calls;
    while (call && call->operation != hold->claim) {
        call = call->next;
    }
    MUST(call && call->done && hold->claim->granted > 0);
}

/* A thread has one hold of a name. An owner with several calls in progress may have more, if a server that forgets
 * grants each. */
static void check_only_one(const struct hold *hold) {
    const struct hold *first = resource_hold_of(hold->resource, hold->lock_kind, hold->owner);
    MUST(first == hold || hold->owner > THREADS);
}

static void check_hold(const struct hold *hold) {
    tally.holds++;
    tally.held += hold->stage == HOLD_ALIVE;
    tally.reserved_commands += hold->command_kept;
    MUST(!hold->ended && hold->id > 0 && hold->id <= rig.engine.last_id);
    if (hold->busy) {
        MUST(is_under_way(hold->busy) && has_line_of(hold->busy, hold));
    }
    if (hold->batch) {
        MUST(hold->batch->batch[hold->batch_entry].hold == hold && hold->batch->batch[hold->batch_entry].live);
        MUST(is_under_way(hold->batch));
    }
    if (hold->claim) {
        check_claim(hold);
    }
    switch (hold->stage) {
    case HOLD_ALIVE:
        MUST(hold->count > 0 && hold->renewed_from <= hold->count && hold->deadline <= hold->max_hold_at);
        MUST(timer_is_armed(&hold->timer) && hold->timer.at <= hold_next_attention(hold));
        check_only_one(hold);
        break;
    case HOLD_RELEASING:
        MUST(hold->busy && !hold->batch && !timer_is_armed(&hold->timer)); /* otherwise it would stay forever */
        break;
    default:
        MUST(!hold->batch);
        break;
    }
    uint32_t waiting = length(&hold->waiting);
    for (struct list_link *link = NULL; (link = next_in(&hold->waiting, link)) != NULL;) {
        const struct operation *operation = container_of(link, struct operation, link);
        MUST(operation->phase == PHASE_WAITING && operation->hold == hold);
    }
    /* Otherwise nothing would let them go on. A background release that had no memory is due at the hold's timer. */
    bool releases_later = hold->stage == HOLD_ALIVE && hold->deferred_releases > 0;
    MUST(waiting == 0 || hold->busy || hold->batch || releases_later);
}

/* Checks the queues of losses, and counts the holds that are kept only until their loss is reported. */
static void check_losses(void) {
    for (int queue = 0; queue < LOSS_QUEUES; queue++) {
        struct hold **end = &rig.engine.losses[queue];
        for (; *end; end = &(*end)->next_loss[queue]) {
            const struct hold *hold = *end;
            bool late = queue == LATE_EVENTS || queue == LATE_THREADS;
            MUST((late || hold->stage == HOLD_GONE) && hold->reported >> queue & 1);
            bool first = (hold->reported & ((1 << queue) - 1)) == 0;
            tally.holds += hold->ended && first;
        }
        MUST(rig.engine.losses_end[queue] == end);
    }
}

/* -------------------------------------------------------------------------------------------------- operations -- */

static void check_parked(const struct operation *operation) {
    const struct wait_queue *queue = operation->resource->queue;
    MUST(queue);
    bool foremost = list_first(&queue->waiters) == &operation->link;
    if (operation->recheck_at == NEVER) { /* a waiter of a fair lock, whose position is refreshed */
        MUST(operation->has_position && !foremost && timer_is_armed(&queue->refresh));
    } else {
        MUST(timer_is_armed(&operation->timer) && operation->timer.at <= operation->recheck_at);
    }
}

/* In every phase something must move the operation on. */
static void check_operation(const struct operation *operation) {
    const struct wait_queue *queue = operation->resource->queue;
    tally.reserved_commands += operation->reserved_commands;
    tally.reserved_wait_queues += operation->reserved_wait_queues;
    tally.reserved_holds += operation->reserved_holds;
    tally.reserved_entries += operation->reserved_entries;
    bool has_end = operation->asynchronous && operation->wait_until != NEVER;
    MUST(!has_end || (timer_is_armed(&operation->timer) && operation->timer.at <= operation->wait_until));
    switch (operation->phase) {
    case PHASE_QUEUED:
        MUST(queue && is_in(&queue->waiters, &operation->link));
        break;
    case PHASE_REQUESTING:
        MUST(operation->command && is_under_way(operation->command) && operation->command->operation == operation);
        break;
    case PHASE_PARKED:
        MUST(!operation->command && queue);
        MUST(is_in(&queue->waiters, &operation->link) || is_in(&queue->watchers, &operation->link));
        check_parked(operation);
        break;
    case PHASE_PAUSED:
        MUST(!operation->command && timer_is_armed(&operation->timer) && operation->timer.at <= operation->recheck_at);
        break;
    case PHASE_HANDED:
        MUST(queue && queue->handing && queue->receiver == operation && is_under_way(queue->handing));
        break;
    case PHASE_WAITING:
        MUST(operation->hold && is_in(&operation->hold->waiting, &operation->link));
        break;
    default:
        fuzz_broken("an operation under way is neither new nor done", __FILE__, __LINE__);
        break;
    }
}

static void check_operations(void) {
    length(&rig.engine.operations);
    MUST(list_is_empty(&rig.engine.finished));
    for (struct list_link *link = NULL; (link = next_in(&rig.engine.operations, link)) != NULL;) {
        check_operation(container_of(link, struct operation, all));
    }
    for (const struct call *call = rig.calls; call; call = call->next) {
        if (call->operation && call->done) { /* not collected yet */
            MUST(call->operation->phase == PHASE_DONE);
            tally.reserved_commands += call->operation->reserved_commands;
            MUST(!call->operation->unclaimed || timer_is_armed(&call->operation->timer));
        }
    }
}

/* ---------------------------------------------------------------------------------------------------- wait queues --
 */

static void check_subscription(const struct subscription *subscription, const struct wait_queue *queue) {
    MUST(subscription->queue == queue && !list_is_linked(&subscription->notified));
    tally.subscriptions += subscription->state == SUBSCRIPTION_ACTIVE;
    bool changes = subscription->state == SUBSCRIPTION_WANTED || subscription->state == SUBSCRIPTION_LEAVING;
    bool is_there = changes || subscription->state == SUBSCRIPTION_ACTIVE;
    MUST(!is_there || !play.cluster || subscription->server == queue->resource->server);
    MUST(!list_is_linked(&subscription->link) ||
         (changes && is_in(&subscription->server->subscription_changes, &subscription->link)));
    if (subscription->listener) {
        MUST(subscription->listener->wake_channel == subscription &&
             subscription->listener->id == subscription->waiter);
    }
}

static void check_queue(const struct wait_queue *queue) {
    uint32_t alone = 0;
    uint32_t named = 0;
    bool fair = kind_of(queue->resource)->queues_on_server;
    for (struct list_link *link = NULL; (link = next_in(&queue->waiters, link)) != NULL;) {
        const struct operation *operation = container_of(link, struct operation, link);
        MUST(operation->resource == queue->resource && operation->kind == OPERATION_ACQUIRE);
        MUST(is_in(&rig.engine.operations, &operation->all));
        alone += !kind_of_number(operation->lock_kind)->waiters_go_together;
        named += operation->named_owner;
        MUST(fair || (!operation->has_position && !operation->wake_channel));
    }
    MUST(queue->waiter_count == length(&queue->waiters) && queue->exclusive_count == alone &&
         queue->named_owners == named);
    if (queue->waiter_count > 0) { /* the foremost talks to the server, or will */
        MUST(container_of(list_first(&queue->waiters), struct operation, link)->phase != PHASE_QUEUED);
    }
}

static void check_wait_queue(const struct wait_queue *queue) {
    tally.wait_queues++;
    MUST(queue->resource->queue == queue);
    check_queue(queue);
    uint32_t watchers = length(&queue->watchers);
    for (struct list_link *link = NULL; (link = next_in(&queue->watchers, link)) != NULL;) {
        const struct operation *operation = container_of(link, struct operation, link);
        MUST(operation->resource == queue->resource && is_in(&rig.engine.operations, &operation->all));
    }
    tally.waiters += queue->waiter_count + watchers;
    check_subscription(&queue->subscription, queue);
    bool calls = false;
    for (int i = 0; i < WAKE_CHANNELS; i++) {
        check_subscription(&queue->wake_channels[i], queue);
        MUST((queue->wake_channels[i].state != SUBSCRIPTION_NONE) == (queue->wake_channels[i].waiter != 0));
        calls = calls || queue->wake_channels[i].state != SUBSCRIPTION_NONE;
    }
    MUST(!queue->receiver || queue->handing);
    if (queue->handing) {
        MUST(is_under_way(queue->handing) && queue->handing->kind == COMMAND_HAND_OVER);
    }
    if (queue->waiter_count + watchers == 0 && !queue->handing && !calls) { /* otherwise it would stay forever */
        bool leaving = queue->subscription.state == SUBSCRIPTION_LEAVING;
        MUST(leaving || timer_is_armed(&queue->timer));
    }
}

static void check_wait_queues(void) {
    length(&rig.engine.wait_queues);
    length(&rig.server.subscription_changes);
    length(&rig.second.subscription_changes);
    for (struct list_link *link = NULL; (link = next_in(&rig.engine.wait_queues, link)) != NULL;) {
        check_wait_queue(container_of(link, struct wait_queue, all));
    }
}

/* ------------------------------------------------------------------------------------------------------- names -- */

static uint32_t references_of_command(const struct command *command, const struct resource *resource) {
    uint32_t count = command->kind != COMMAND_RENEW && command->resource == resource;
    for (uint32_t i = 0; command->kind == COMMAND_RENEW && i < command->batch_count; i++) {
        count += command->batch[i].name == resource;
    }
    for (uint32_t i = 0; i < command->entry_count; i++) {
        count += command->entries->entry[i].name == resource;
    }
    return count;
}

static uint32_t references_of_heap(const struct timer *timer, const struct resource *resource) {
    uint32_t count = 0;
    for (; timer; timer = timer->sibling) {
        count += references_of_heap(timer->child, resource);
        if (timer->kind == TIMER_COMMAND) {
            count += references_of_command(container_of(timer, struct command, timer), resource);
        }
    }
    return count;
}

static uint32_t references_of_calls(const struct resource *resource) {
    uint32_t count = 0;
    for (const struct call *call = rig.calls; call; call = call->next) {
        const struct operation *operation = call->operation;
        if (!operation) {
            continue;
        }
        const struct resource *own = call->set             ? call->set->members[0].resource
                                     : operation->roles[0] ? operation->roles[0]
                                                           : operation->resource;
        count += own == resource;
        for (int i = 0; i < WATCH_ROLES; i++) {
            count += operation->roles[i] == resource;
        }
    }
    return count;
}

/* Returns the sum of what is counted in each command that is in a pipeline. */
static uint32_t count_in_pipelines(const struct resource *resource,
                                   uint32_t (*count_in)(const struct command *, const struct resource *)) {
    uint32_t count = 0;
    for (int number = 0; number < PIPELINES; number++) {
        const struct pipeline *pipeline = pipeline_number(number);
        const struct list *lists[] = {&pipeline->unsent, &pipeline->sent, &pipeline->in_doubt};
        for (int i = 0; i < 3; i++) {
            for (struct list_link *link = NULL; (link = next_in(lists[i], link)) != NULL;) {
                count += count_in(container_of(link, struct command, link), resource);
            }
        }
    }
    return count;
}

static uint32_t contenders_of(const struct resource *resource) {
    uint32_t count = 0;
    for (struct list_link *link = NULL; (link = next_in(&rig.engine.operations, link)) != NULL;) {
        const struct operation *operation = container_of(link, struct operation, all);
        count += operation->uses_wait_queue && operation->resource == resource;
    }
    return count;
}

static uint32_t is_refresh_of(const struct command *command, const struct resource *resource) {
    return command->kind == COMMAND_REFRESH && command->resource == resource;
}

static void check_resource(const struct resource *resource) {
    MUST(resource->refreshes == count_in_pipelines(resource, is_refresh_of));
    MUST(!play.cluster || resource->server == rig.routes[resource->slot]);
    uint32_t references = 1; /* the one of the rig */
    for (const struct hold *hold = resource->holds; hold; hold = hold->next) {
        MUST(hold->resource == resource);
        check_hold(hold);
        references++;
    }
    for (int queue = 0; queue < LOSS_QUEUES; queue++) {
        for (const struct hold *hold = rig.engine.losses[queue]; hold; hold = hold->next_loss[queue]) {
            bool first = (hold->reported & ((1 << queue) - 1)) == 0;
            references += hold->ended && first && hold->resource == resource;
        }
    }
    references += resource->queue != NULL;
    references += references_of_calls(resource) + count_in_pipelines(resource, references_of_command);
    references += references_of_heap(rig.engine.timers.root, resource);
    MUST(resource->references == references);
    MUST(resource->wait_queue_users == contenders_of(resource));
    tally.reserved_wait_queues += resource->wait_queue_users > 0 && !resource->queue;
}

static void check_resources(void) {
    for (uint32_t i = 0; i < rig.engine.resources.bucket_count; i++) {
        for (const struct resource *resource = rig.engine.resources.buckets[i]; resource; resource = resource->next) {
            check_resource(resource);
        }
    }
}

/* ------------------------------------------------------------------------------------------------------- pools -- */

static void check_pools(void) {
    const struct engine *engine = &rig.engine;
    uint32_t holds = 0;
    for (const struct hold *hold = engine->hold_pool; hold; hold = hold->next) {
        MUST(++holds < RECORDS_MAX);
    }
    MUST(engine->hold_pool_size == holds && holds + tally.holds == rig.holds);
    MUST(engine->command_pool_size == length(&engine->command_pool));
    MUST(engine->command_pool_size + tally.commands == rig.commands);
    MUST(engine->batch_pool_size == length(&engine->batch_pool));
    MUST(engine->batch_pool_size + tally.batches == rig.batches);
    MUST(engine->entries_pool_size == length(&engine->entries_pool));
    MUST(engine->entries_pool_size + tally.lines == rig.lines);
    MUST(engine->wait_queue_pool_size == length(&engine->wait_queue_pool));
    MUST(engine->wait_queue_pool_size + tally.wait_queues == rig.wait_queues);
    MUST(engine->reserved_commands == tally.reserved_commands);
    MUST(tally.reserved_commands <= engine->command_pool_size);
    MUST(engine->reserved_holds == tally.reserved_holds && tally.reserved_holds <= holds);
    MUST(engine->reserved_entries == tally.reserved_entries && tally.reserved_entries <= engine->entries_pool_size);
    MUST(engine->reserved_wait_queues == tally.reserved_wait_queues &&
         tally.reserved_wait_queues <= engine->wait_queue_pool_size);
    MUST(engine->expired_entries == tally.expired_entries);
}

void check_engine(void) {
    tally = (struct tally){0};
    check_pipelines();
    check_timers();
    check_operations();
    check_wait_queues();
    check_resources();
    check_losses();
    check_pools();
    MUST(rig.engine.stats.held == tally.held && rig.engine.stats.waiters == tally.waiters);
    MUST(rig.engine.subscriptions == tally.subscriptions);
    MUST(rig.server.subscriptions + rig.second.subscriptions == tally.subscriptions);
    MUST(!rig.engine.dead_resources);
}

uint32_t commands_under_way(void) {
    return tally.commands + tally.batches;
}

uint32_t commands_at_most(void) {
    uint32_t calls = 0;
    for (const struct call *call = rig.calls; call; call = call->next) {
        calls += call->operation != NULL;
    }
    return commands_under_way() + 2 * (calls + tally.holds) + tally.wait_queues;
}
