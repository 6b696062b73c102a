/* The wake-up channels of waiters for a fair lock. Each waiter has its own. The first few waiters of a process
 * subscribe, so that the next one has subscribed before its turn comes. The channel of a waiter that left is
 * unsubscribed from when its room in the array is needed, or when nobody waits any more.
 * SPDX-License-Identifier: Apache-2.0 */
#include "wake_channels.h"

#include "subscription.h"

void wake_channel_forget(struct subscription *channel) {
    list_remove(&channel->link);
    list_remove(&channel->sent);
    list_remove(&channel->stale);
    channel->state = SUBSCRIPTION_NONE;
    channel->waiter = 0;
    channel->was_active = false;
}

/* Returns room for a further channel. If there is none, leaves the channels of waiters that are gone and returns NULL;
 * there is room once that is confirmed. */
static struct subscription *find_room(struct engine *engine, struct wait_queue *queue) {
    for (int i = 0; i < WAKE_CHANNELS; i++) {
        if (queue->wake_channels[i].state == SUBSCRIPTION_NONE) {
            return &queue->wake_channels[i];
        }
    }
    wake_channels_close_unused(engine, queue);
    return NULL;
}

/* Returns whether one of the first `count` waiters has a position and is not subscribed yet. */
static bool some_do_not(const struct wait_queue *queue, int count) {
    struct list_link *link = list_first(&queue->waiters);
    for (; link && count > 0; link = list_next(&queue->waiters, link), count--) {
        const struct operation *operation = container_of(link, struct operation, link);
        if (operation->has_position && !operation->wake_channel) {
            return true;
        }
    }
    return false;
}

/* Subscribes the foremost waiters, as far as there is room, if one of the first `near` is not subscribed. As waiters
 * leave, the next ones subscribe several at a time, which spares the thread that reads messages most of its work. */
void wake_channels_listen(struct engine *engine, struct wait_queue *queue, int near) {
    if (!some_do_not(queue, near)) {
        return;
    }
    struct list_link *link = list_first(&queue->waiters);
    for (int i = 0; link && i < LISTENING_WAITERS; link = list_next(&queue->waiters, link), i++) {
        struct operation *operation = container_of(link, struct operation, link);
        struct subscription *channel = operation->has_position && !operation->wake_channel ? find_room(engine, queue)
                                                                                           : NULL;
        if (channel) {
            channel->waiter = operation->id;
            channel->listener = operation;
            operation->wake_channel = channel;
            subscription_want(engine, channel);
        }
    }
}

/* Called when a waiter is gone, or will have another number. */
void wake_channels_drop(struct engine *engine, struct operation *operation) {
    struct subscription *channel = operation->wake_channel;
    (void)engine;
    if (!channel) {
        return;
    }
    operation->wake_channel = NULL;
    channel->listener = NULL;
    bool unsent = channel->state == SUBSCRIPTION_WANTED && list_is_linked(&channel->link);
    if (unsent || channel->state == SUBSCRIPTION_DENIED) {
        wake_channel_forget(channel);
    }
}

/* Leaves the channels of waiters that are gone. Returns whether all channels have been left. */
bool wake_channels_close_unused(struct engine *engine, struct wait_queue *queue) {
    bool all_closed = true;
    for (int i = 0; i < WAKE_CHANNELS; i++) {
        struct subscription *channel = &queue->wake_channels[i];
        if (!channel->listener && channel->state == SUBSCRIPTION_ACTIVE) {
            subscription_leave(engine, channel);
        }
        all_closed = all_closed && channel->state == SUBSCRIPTION_NONE;
    }
    return all_closed;
}
