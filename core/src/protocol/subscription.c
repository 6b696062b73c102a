/* Subscriptions: how a channel is requested and left. A driver carries out the changes; messages.c takes its reports.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   state     event                                   next
 *   NONE      a waiter parks                          WANTED
 *   WANTED    confirmed                               ACTIVE, and parked waiters recheck
 *             the access rules forbid it              DENIED, and waiters poll
 *             no waiter is left, and it was not sent  NONE
 *   ACTIVE    the connection broke, the name moved,   WANTED
 *             or the server ended it
 *             no waiter for the linger time           LEAVING
 *   LEAVING   confirmed, or refused                   NONE; WANTED if a waiter came meanwhile
 */
#include "subscription.h"

#include "planted.h"
#include "routes.h"

static const int64_t FOLLOW_PAUSE = 50 * MILLISECOND;

void subscription_count(struct engine *engine, const struct subscription *subscription, int change) {
    engine->subscriptions += change;
    subscription->server->subscriptions += change;
}

void subscription_change(struct engine *engine, struct subscription *subscription, enum subscription_state state) {
    subscription->state = (uint8_t)state;
    if (state == SUBSCRIPTION_WANTED) {
        struct server *server = server_of(engine, subscription->queue->resource);
        if (subscription->server != server) {
            list_remove(&subscription->link); /* it was to be requested from another server */
        }
        subscription->server = server;
    }
    if (!list_is_linked(&subscription->link)) {
        list_append(&subscription->server->subscription_changes, &subscription->link);
    }
}

void subscription_want_again(struct engine *engine, struct subscription *subscription, bool requested, int64_t now) {
    struct server *left = subscription->server;
    list_remove(&subscription->stale); /* it may be wanted there again */
    subscription_change(engine, subscription, SUBSCRIPTION_WANTED);
    struct server *server = subscription->server;
    if (server == left) {
        return;
    }
    if (requested && !shards_messages_of(left, subscription->queue->resource)) {
        list_append(&left->stale_channels, &subscription->stale);
    }
    if (now >= server->changes_from && !PLANTED(FAULT_CHANNELS_FOLLOW_WITHOUT_PAUSE)) {
        int64_t after = server->changes_from + FOLLOW_PAUSE;
        server->changes_from = now < after ? after : now;
    }
}

void subscription_want(struct engine *engine, struct subscription *subscription) {
    if (subscription->state == SUBSCRIPTION_NONE) {
        subscription_change(engine, subscription, SUBSCRIPTION_WANTED);
    }
}

/* Leaves a channel that no waiter needs. A channel that was requested and is not confirmed yet cannot be left yet. */
void subscription_leave(struct engine *engine, struct subscription *subscription) {
    if (subscription->state == SUBSCRIPTION_ACTIVE) {
        subscription_count(engine, subscription, -1);
        subscription_change(engine, subscription, SUBSCRIPTION_LEAVING);
    } else if (subscription->state == SUBSCRIPTION_WANTED && list_is_linked(&subscription->link)) {
        list_remove(&subscription->link); /* never sent */
        subscription->state = SUBSCRIPTION_NONE;
    }
}
