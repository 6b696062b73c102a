/* Subscriptions: when a channel is asked for, confirmed, lost, denied and left, and whom a message is for. A driver
 * carries out the changes and reports; several names may share a channel (`a` and `{a}`, two kinds of one name).
 * SPDX-License-Identifier: Apache-2.0
 *
 *   state     event                                   next
 *   NONE      somebody parks                          WANTED
 *   WANTED    confirmed                               ACTIVE, and whoever is parked looks
 *             the access rules forbid it              DENIED, and waiters poll
 *             nobody waits, and it was never sent     NONE
 *   ACTIVE    the connection broke                    WANTED
 *             nobody waits for the linger time        LEAVING
 *   LEAVING   confirmed, or refused                   NONE; WANTED if somebody waits again
 */
#include "machine.h"
#include "planted.h"
#include "steps.h"

static void change(struct engine *engine, struct subscription *subscription, enum subscription_state state) {
    subscription->state = (uint8_t)state;
    if (!list_is_linked(&subscription->link)) {
        list_append(&engine->subscription_changes, &subscription->link);
    }
}

void subscription_want(struct engine *engine, struct subscription *subscription) {
    if (subscription->state == SUBSCRIPTION_NONE) {
        change(engine, subscription, SUBSCRIPTION_WANTED);
    }
}

/* Leaves a channel that nobody wants to hear; one that is not confirmed yet can not be left yet. */
void subscription_leave(struct engine *engine, struct subscription *subscription) {
    if (subscription->state == SUBSCRIPTION_ACTIVE) {
        engine->subscriptions--;
        change(engine, subscription, SUBSCRIPTION_LEAVING);
    } else if (subscription->state == SUBSCRIPTION_WANTED && list_is_linked(&subscription->link)) {
        list_remove(&subscription->link); /* never sent */
        subscription->state = SUBSCRIPTION_NONE;
    }
}

/* Whoever is parked may have missed a message. */
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
    list_remove(&subscription->link); /* confirmed by what was sent for a name with the same channel */
    engine->subscriptions++;
    if (PLANTED(subscription->was_active ? FAULT_NO_RECHECK_AFTER_RESUBSCRIBE : FAULT_NO_RECHECK_AFTER_SUBSCRIBE)) {
        return;
    }
    subscription->was_active = true;
    if (subscription->waiter) {
        wake_channels_recheck(engine, subscription, now);
        return;
    }
    subscription->queue->sequence++; /* an ask under way may have been answered before the subscription */
    recheck_all(engine, subscription->queue, now);
}

void engine_unsubscribed(struct engine *engine, struct subscription *subscription, int64_t now) {
    struct wait_queue *queue = subscription->queue;
    if (subscription->state != SUBSCRIPTION_LEAVING) {
        return;
    }
    subscription->state = SUBSCRIPTION_NONE;
    list_remove(&subscription->sent);
    list_remove(&subscription->link); /* the connection broke before it was sent, or another name's channel was left */
    if (subscription->waiter) {
        wake_channels_free(engine, subscription, now);
    } else if (list_is_empty(&queue->waiters) && list_is_empty(&queue->watchers)) {
        queue_go_idle(engine, queue, now);
    } else {
        change(engine, subscription, SUBSCRIPTION_WANTED);
    }
}

void engine_subscription_denied(struct engine *engine, struct subscription *subscription, int64_t now) {
    struct wait_queue *queue = subscription->queue;
    if (subscription->state == SUBSCRIPTION_LEAVING) {
        engine_unsubscribed(engine, subscription, now); /* it goes on being heard, which does no harm */
        return;
    }
    subscription->state = SUBSCRIPTION_DENIED;
    list_remove(&subscription->sent);
    if (subscription->waiter) {
        wake_channels_recheck(engine, subscription, now);
        return;
    }
    const struct resource *resource = queue->resource;
    recheck_all(engine, queue, now);
    if (resource->queue == queue && list_is_empty(&queue->waiters)) { /* else the last one left as it looked */
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

/* Does the same to each subscription of each name. */
static void for_each(struct engine *engine, void (*act)(struct engine *, struct subscription *, int64_t), int64_t now) {
    struct list_link *link = list_first(&engine->wait_queues);
    while (link) {
        struct wait_queue *queue = container_of(link, struct wait_queue, all);
        const struct resource *resource = queue->resource;
        link = list_next(&engine->wait_queues, link);
        for (int i = 0; i < WAKE_CHANNELS && resource->queue == queue; i++) {
            act(engine, &queue->wake_channels[i], now);
        }
        if (resource->queue == queue) { /* it goes with its last subscription */
            act(engine, &queue->subscription, now);
        }
    }
}

/* The connection is gone, and with it what was subscribed to: what is still wanted is asked for again. */
static void lost(struct engine *engine, struct subscription *subscription, int64_t now) {
    bool wanted = !subscription->waiter || subscription->listener;
    list_remove(&subscription->sent);
    if (subscription->state == SUBSCRIPTION_ACTIVE) {
        engine->subscriptions--;
        subscription->state = SUBSCRIPTION_WANTED;
    }
    if (subscription->state == SUBSCRIPTION_LEAVING || (subscription->state == SUBSCRIPTION_WANTED && !wanted)) {
        subscription->state = SUBSCRIPTION_LEAVING;
        engine_unsubscribed(engine, subscription, now);
    } else if (subscription->state == SUBSCRIPTION_WANTED) {
        change(engine, subscription, SUBSCRIPTION_WANTED);
    }
}

void engine_subscriptions_lost(struct engine *engine, int64_t now) {
    for_each(engine, lost, now);
}

/* The linger time is over. */
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
        timer_arm(&engine->timers, &queue->timer, now + SECOND); /* not confirmed yet, so it can not be left yet */
    }
}

/* Adds those of the waiter whose own channel it is. */
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

/* Collects the subscriptions that a channel serves. */
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

void engine_pubsub_received(struct engine *engine, enum pubsub_reply what, const char *channel, size_t size,
                            int64_t number, int64_t now) {
    if (engine->broken) {
        return;
    }
    struct list found;
    struct list_link *link;
    find_served(engine, channel, size, &found);
    while ((link = list_pop(&found)) != NULL) { /* what one does may end another, and takes it off the list then */
        struct subscription *subscription = container_of(link, struct subscription, notified);
        if (what == PUBSUB_MESSAGE) {
            engine_message(engine, subscription, number, now);
        } else if (what == PUBSUB_SUBSCRIBED) {
            engine_subscribed(engine, subscription, now);
        } else {
            engine_unsubscribed(engine, subscription, now);
        }
    }
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
