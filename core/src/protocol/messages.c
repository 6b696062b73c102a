/* What a driver reports from the connection for messages: messages, and channels that were confirmed, lost, denied or
 * left. Finds the subscriptions that a report is about: several names may share a channel (`a` and `{a}`, two kinds of
 * one name).
 * SPDX-License-Identifier: Apache-2.0 */
#include "messages.h"

#include "channels.h"
#include "machine.h"
#include "park.h"
#include "planted.h"
#include "subscription.h"
#include "wait_queue.h"
#include "wake_channels.h"
#include "watch.h"

/* Frees a wake-up channel that was unsubscribed from, or that was lost and is not wanted again. */
static void wake_channels_free(struct engine *engine, struct subscription *channel, int64_t now) {
    struct wait_queue *queue = channel->queue;
    wake_channel_forget(channel);
    if (list_is_empty(&queue->waiters)) {
        queue_go_idle(engine, queue, now);
    } else {
        wake_channels_listen(engine, queue, LISTENING_WAITERS / 2);
    }
}

/* A wake-up channel was confirmed or denied. Its waiter may have missed a wake-up before that, unless this process
 * holds the lock. */
static void wake_channels_recheck(struct engine *engine, struct subscription *channel, int64_t now) {
    struct operation *operation = channel->listener;
    if (!operation && channel->state == SUBSCRIPTION_ACTIVE) {
        subscription_leave(engine, channel);
    } else if (!operation) {
        wake_channels_free(engine, channel, now);
    } else if (queue_foremost(channel->queue) == operation && !resource_live_hold(channel->queue->resource)) {
        operation->woken = true;
        if (operation->phase == PHASE_PARKED) {
            acquire_recheck(engine, operation, now);
        }
    }
}

/* Called after this process forced a release. The head may have been woken before its channel was subscribed to, and a
 * holder in this process does not release the lock any more. */
void wake_channels_forced_release(struct engine *engine, struct wait_queue *queue, int64_t now) {
    struct operation *operation = queue_foremost(queue);
    if (operation) {
        operation->woken = true;
        if (operation->phase == PHASE_PARKED) {
            acquire_recheck(engine, operation, now);
        }
    }
}

/* A waiter was woken. It is the first of the server queue, whatever order this process assumed. */
static void wake_channels_notified(struct engine *engine, struct subscription *channel, int64_t now) {
    struct operation *operation = channel->listener;
    if (!operation) {
        return;
    }
    operation->woken = true;
    if (operation->phase == PHASE_PARKED) {
        list_remove(&operation->link);
        list_prepend(&channel->queue->waiters, &operation->link);
        acquire_recheck(engine, operation, now);
    }
}

/* Waiters and watches that are parked may have missed a message. */
static void recheck_all(struct engine *engine, struct wait_queue *queue, int64_t now) {
    watch_recheck_all(engine, queue, now);
    machine_of(engine, queue->resource)->recheck(engine, queue, now);
}

void engine_subscribed(struct engine *engine, struct subscription *subscription, int64_t now) {
    if (subscription->state != SUBSCRIPTION_WANTED) {
        return;
    }
    subscription->state = SUBSCRIPTION_ACTIVE;
    list_remove(&subscription->sent);
    list_remove(&subscription->link); /* never sent: a SUBSCRIBE for another name confirmed the channel */
    subscription_count(engine, subscription, 1);
    if (PLANTED(subscription->was_active ? FAULT_NO_RECHECK_AFTER_RESUBSCRIBE : FAULT_NO_RECHECK_AFTER_SUBSCRIBE)) {
        return;
    }
    subscription->was_active = true;
    if (subscription->waiter) {
        wake_channels_recheck(engine, subscription, now);
        return;
    }
    subscription->queue->sequence++; /* a request in flight may have been answered before the subscription */
    recheck_all(engine, subscription->queue, now);
}

void engine_unsubscribed(struct engine *engine, struct subscription *subscription, int64_t now) {
    struct wait_queue *queue = subscription->queue;
    if (subscription->state != SUBSCRIPTION_LEAVING) {
        return;
    }
    subscription->state = SUBSCRIPTION_NONE;
    list_remove(&subscription->sent);
    list_remove(&subscription->link); /* never sent: the connection broke before, or another name left the channel */
    if (subscription->waiter) {
        wake_channels_free(engine, subscription, now);
    } else if (list_is_empty(&queue->waiters) && list_is_empty(&queue->watchers)) {
        queue_go_idle(engine, queue, now);
    } else {
        subscription_change(engine, subscription, SUBSCRIPTION_WANTED);
    }
}

void engine_subscription_denied(struct engine *engine, struct subscription *subscription, int64_t now) {
    struct wait_queue *queue = subscription->queue;
    if (subscription->state == SUBSCRIPTION_LEAVING) {
        engine_unsubscribed(engine, subscription, now); /* its messages go on coming, which does no harm */
        return;
    }
    if (subscription->state == SUBSCRIPTION_ACTIVE) {
        subscription_count(engine, subscription, -1);
    }
    subscription->state = SUBSCRIPTION_DENIED;
    list_remove(&subscription->sent);
    if (subscription->waiter) {
        wake_channels_recheck(engine, subscription, now);
        return;
    }
    const struct resource *resource = queue->resource;
    recheck_all(engine, queue, now);
    if (resource->queue == queue && list_is_empty(&queue->waiters)) { /* else the recheck has detached it */
        queue_go_idle(engine, queue, now);
    }
}

void engine_message(struct engine *engine, struct subscription *subscription, int64_t number, int64_t now) {
    struct wait_queue *queue = subscription->queue;
    engine->stats.messages++;
    if (subscription->waiter) {
        wake_channels_notified(engine, subscription, now);
        return;
    }
    queue->sequence++;
    watch_notified(engine, queue, now);
    machine_of(engine, queue->resource)->notified(engine, queue, number, now);
}

/* A server no longer serves a channel. The channel is requested again if it is still wanted. */
static void lost(struct engine *engine, struct subscription *subscription, const struct server *server, int64_t now) {
    if (subscription->server != server) {
        return;
    }
    bool wanted = !subscription->waiter || subscription->listener;
    bool requested = subscription->state == SUBSCRIPTION_ACTIVE || list_is_linked(&subscription->sent);
    list_remove(&subscription->sent);
    if (subscription->state == SUBSCRIPTION_ACTIVE) {
        subscription_count(engine, subscription, -1);
        subscription->state = SUBSCRIPTION_WANTED;
    }
    if (subscription->state == SUBSCRIPTION_LEAVING || (subscription->state == SUBSCRIPTION_WANTED && !wanted)) {
        subscription->state = SUBSCRIPTION_LEAVING;
        engine_unsubscribed(engine, subscription, now);
    } else if (subscription->state == SUBSCRIPTION_WANTED) {
        subscription_want_again(engine, subscription, requested, now);
    }
}

void queue_channels_lost(struct engine *engine, struct wait_queue *queue, const struct server *server, int64_t now) {
    const struct resource *resource = queue->resource;
    for (int i = 0; i < WAKE_CHANNELS && resource->queue == queue; i++) {
        lost(engine, &queue->wake_channels[i], server, now);
    }
    if (resource->queue == queue) { /* the queue is detached with its last subscription */
        lost(engine, &queue->subscription, server, now);
    }
}

void engine_subscriptions_lost(struct engine *engine, struct server *server, int64_t now) {
    struct list_link *link = list_first(&engine->wait_queues);
    while (link) {
        struct wait_queue *queue = container_of(link, struct wait_queue, all);
        link = list_next(&engine->wait_queues, link);
        queue_channels_lost(engine, queue, server, now);
    }
}

void engine_list_active(struct engine *engine, const struct server *server, struct list *active) {
    for (struct list_link *link = list_first(&engine->wait_queues); link;
         link = list_next(&engine->wait_queues, link)) {
        struct wait_queue *queue = container_of(link, struct wait_queue, all);
        for (int i = 0; i <= WAKE_CHANNELS; i++) {
            struct subscription *subscription = i < WAKE_CHANNELS ? &queue->wake_channels[i] : &queue->subscription;
            if (subscription->state == SUBSCRIPTION_ACTIVE && subscription->server == server) {
                list_append(active, &subscription->sent);
            }
        }
    }
}

/* Called at the end of the linger time. */
void wait_queue_timer(struct engine *engine, struct wait_queue *queue, int64_t now) {
    struct subscription *subscription = &queue->subscription;
    if (!list_is_empty(&queue->waiters) || !list_is_empty(&queue->watchers)) {
        return;
    }
    bool wanted = subscription->state == SUBSCRIPTION_WANTED;
    subscription_leave(engine, subscription);
    if (wanted && subscription->state == SUBSCRIPTION_NONE) {
        queue_go_idle(engine, queue, now);
    } else if (wanted) {
        timer_arm(&engine->timers, &queue->timer, now + SECOND); /* not confirmed yet, so it cannot be left yet */
    }
}

/* Adds the subscription of the waiter whose wake-up channel it is. */
static void find_wake_channels(struct engine *engine, const char *channel, size_t size, struct list *found) {
    struct argument_part names[CHANNEL_NAMES_MAX];
    uint64_t waiter = channel_waiter(engine, channel, &size);
    size_t names_count = waiter ? channel_names(channel, size, names) : 0;
    for (size_t i = 0; i < names_count; i++) {
        uint32_t hash = resource_hash(names[i].text, names[i].size);
        struct resource *resource = NULL;
        while ((resource = resource_next_named(&engine->resources, resource, names[i].text, names[i].size, hash))) {
            for (int slot = 0; resource->queue && slot < WAKE_CHANNELS; slot++) {
                struct subscription *subscription = &resource->queue->wake_channels[slot];
                if (subscription->waiter == waiter && channel_is_of(resource, channel, size)) {
                    list_append(found, &subscription->notified);
                }
            }
        }
    }
}

/* Collects the subscriptions that a channel serves in `found`. */
static void find_served(struct engine *engine, const char *channel, size_t size, struct list *found) {
    list_init(found);
    struct argument_part names[CHANNEL_NAMES_MAX];
    size_t names_count = channel_names(channel, size, names);
    for (size_t i = 0; i < names_count; i++) {
        uint32_t hash = resource_hash(names[i].text, names[i].size);
        struct resource *resource = NULL;
        while ((resource = resource_next_named(&engine->resources, resource, names[i].text, names[i].size, hash))) {
            if (resource->queue && channel_is_of(resource, channel, size)) {
                list_append(found, &resource->queue->subscription.notified);
            }
        }
    }
    find_wake_channels(engine, channel, size, found);
}

bool engine_pubsub_received(struct engine *engine, const struct server *server, enum pubsub_reply what,
                            const char *channel, size_t size, int64_t number, int64_t now) {
    if (engine->broken) {
        return true;
    }
    struct list found;
    struct list_link *link;
    bool wanted = false;
    find_served(engine, channel, size, &found);
    while ((link = list_pop(&found)) != NULL) { /* what one does may end another, which is then taken off the list */
        struct subscription *subscription = container_of(link, struct subscription, notified);
        bool closed = subscription->state == SUBSCRIPTION_NONE || subscription->state == SUBSCRIPTION_DENIED;
        wanted = wanted || (subscription->server == server && !closed);
        if (what == PUBSUB_MESSAGE) {
            engine_message(engine, subscription, number, now);
        } else if (subscription->server != server && !PLANTED(FAULT_OLD_NODE_CONFIRMS)) {
            continue; /* the name was on that server before */
        } else if (what == PUBSUB_SUBSCRIBED) {
            engine_subscribed(engine, subscription, now);
        } else if (subscription->state == SUBSCRIPTION_ACTIVE && engine->routes &&
                   !PLANTED(FAULT_CHANNEL_ENDS_UNSEEN)) {
            lost(engine, subscription, server, now); /* not requested: the slot is now on another server */
        } else {
            engine_unsubscribed(engine, subscription, now);
        }
    }
    return wanted;
}

bool engine_needs_channel(struct engine *engine, const struct subscription *leaving, const char *channel, size_t size) {
    struct list found;
    struct list_link *link;
    bool needed = false;
    find_served(engine, channel, size, &found);
    while ((link = list_pop(&found)) != NULL) {
        const struct subscription *other = container_of(link, struct subscription, notified);
        needed = needed ||
                 (other != leaving && (other->state == SUBSCRIPTION_WANTED || other->state == SUBSCRIPTION_ACTIVE));
    }
    return needed;
}
