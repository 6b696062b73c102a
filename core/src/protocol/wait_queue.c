/* The wait queue of a name as a record: its foremost waiter, the watches and sets beside it, and when it is detached.
 * SPDX-License-Identifier: Apache-2.0 */
#include "wait_queue.h"

#include "machine.h"
#include "pools.h"
#include "wake_channels.h"

struct operation *queue_foremost(const struct wait_queue *queue) {
    struct list_link *first = list_first(&queue->waiters);
    return first ? container_of(first, struct operation, link) : NULL;
}

/* Returns the waiter with a wire number, or NULL. */
struct operation *queue_find(const struct wait_queue *queue, uint64_t id) {
    struct list_link *link = list_first(&queue->waiters);
    for (; link; link = list_next(&queue->waiters, link)) {
        struct operation *operation = container_of(link, struct operation, link);
        if (operation->id == id) {
            return operation;
        }
    }
    return NULL;
}

/* Returns the transient error of a waiter as it is for those behind it: they have sent nothing that may have run. */
static int error_behind(const struct operation *operation) {
    return operation->transient_error == REDLATCH_NO_REPLY ? REDLATCH_UNREACHABLE : operation->transient_error;
}

int queue_timeout_status(const struct wait_queue *queue) {
    int error = error_behind(queue_foremost(queue));
    return error ? error : REDLATCH_TIMEOUT;
}

void waiter_inherit_error(struct operation *operation, const struct operation *other) {
    if (operation->unusable_since || operation->command || !other->unusable_since) {
        return;
    }
    bool later = operation->started_at > other->unusable_since;
    operation->unusable_since = later ? operation->started_at : other->unusable_since;
    operation->transient_error = error_behind(other);
}

/* Called when no waiter is left. Unless there are watchers, the subscription lingers, and a wait queue without one is
 * detached. */
void queue_go_idle(struct engine *engine, struct wait_queue *queue, int64_t now) {
    bool all_closed = wake_channels_close_unused(engine, queue);
    queue->yielding = false;
    if (!list_is_empty(&queue->watchers)) {
        return;
    }
    switch (queue->subscription.state) {
    case SUBSCRIPTION_NONE:
    case SUBSCRIPTION_DENIED:
        if (!queue->handing && all_closed) {
            detach_wait_queue(engine, queue);
        }
        break;
    case SUBSCRIPTION_WANTED:
    case SUBSCRIPTION_ACTIVE:
        timer_arm(&engine->timers, &queue->timer, now + engine->settings.linger_ms * MILLISECOND);
        break;
    default: /* LEAVING: detached when that is confirmed */
        break;
    }
}

/* Puts a watch or a set beside the wait queue of its name, which is attached. */
void watch_join(struct engine *engine, struct operation *operation) {
    struct wait_queue *queue = operation->resource->queue;
    timer_disarm(&engine->timers, &queue->timer); /* the end of a linger time */
    list_append(&queue->watchers, &operation->link);
    engine->stats.waiters++;
}

void watch_leave(struct engine *engine, struct operation *operation, int64_t now) {
    struct wait_queue *queue = operation->resource->queue;
    list_remove(&operation->link);
    list_remove(&operation->turn);
    engine->stats.waiters--;
    if (list_is_empty(&queue->waiters)) {
        queue_go_idle(engine, queue, now);
    }
}

/* Returns whether a set waits for a name. */
bool set_is_waiting(const struct wait_queue *queue) {
    for (struct list_link *link = list_first(&queue->watchers); link; link = list_next(&queue->watchers, link)) {
        if (container_of(link, struct operation, link)->set) {
            return true;
        }
    }
    return false;
}

/* The first parked set that waits for a name rechecks, since the name may be free. */
void set_recheck_next(struct engine *engine, struct wait_queue *queue, int64_t now) {
    for (struct list_link *link = list_first(&queue->watchers); link; link = list_next(&queue->watchers, link)) {
        struct operation *operation = container_of(link, struct operation, link);
        if (operation->set && operation->phase == PHASE_PARKED) {
            machine_for(engine, operation)->begin(engine, operation, now);
            return;
        }
    }
}

struct operation *receiver_of(const struct command *command) {
    if (command->kind != COMMAND_HAND_OVER) {
        return NULL;
    }
    const struct wait_queue *queue = command->resource->queue;
    return queue && queue->handing == command ? queue->receiver : NULL;
}
