/* How waiters of a fair lock keep their positions. A batch names them to the server every third of the fair timeout; a
 * client without a heartbeat for that timeout loses its positions. The reply says which positions have ended. A waiter
 * that is alone in its queue needs no refresh: its rechecks do the same.
 * SPDX-License-Identifier: Apache-2.0 */
#include "refresh.h"

#include "fair.h"
#include "numbers.h"
#include "operations.h"
#include "planted.h"
#include "pools.h"
#include "wait_queue.h"

enum { REFRESH_BATCH_SIZE = 100 };
_Static_assert((int)REFRESH_BATCH_SIZE <= (int)REPLY_ELEMENTS_MAX, "each of them may be answered to have no place");

/* Returns a refresh that names no waiter yet. Returns NULL if there is no memory. */
static struct command *open_batch(struct engine *engine, struct wait_queue *queue) {
    struct command *command = take_command(engine, NULL);
    if (command) {
        command->kind = COMMAND_REFRESH;
        command->pipeline = PIPELINE_BACKGROUND;
        command->lock_kind = queue->resource->kind;
        command->resource = resource_keep(queue->resource);
        command->resource->refreshes++;
        command->count = ++queue->batches;
        push_command(engine, command);
    }
    return command;
}

/* Nothing is sent while earlier refreshes have no reply: one more would wait for the connection for each third of the
 * fair timeout that the server is away. */
void refresh_waiters(struct engine *engine, struct wait_queue *queue, int64_t now) {
    struct command *command = NULL;
    uint32_t size = REFRESH_BATCH_SIZE;
    bool wanted = queue->resource->refreshes == 0 && !PLANTED(FAULT_POSITIONS_NOT_REFRESHED);
    struct list_link *link = wanted ? list_first(&queue->waiters) : NULL;
    for (; link; link = list_next(&queue->waiters, link)) {
        struct operation *operation = container_of(link, struct operation, link);
        if (operation->phase != PHASE_PARKED || !operation->has_position) {
            continue;
        }
        if (size == REFRESH_BATCH_SIZE) {
            size = 0;
            command = open_batch(engine, queue);
        }
        if (!command) {
            break; /* the next time; until then the foremost renews the heartbeat */
        }
        operation->batch = command->count;
        size++;
    }
    if (queue->waiter_count > 1) {
        timer_arm(&engine->timers, &queue->refresh, now + engine->settings.fair_timeout_ms * MILLISECOND / 3);
    }
}

/* The reply names the waiters whose positions have ended. Those that are parked request new ones, in the order of the
 * queue. A waiter that is requesting learns it from its own reply. One that is to be handed the lock requests if it
 * does not get it. */
void refresh_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now) {
    struct wait_queue *queue = command->resource->queue;
    bool lost = false;
    for (size_t i = 0; queue && reply->kind == REPLY_ARRAY && i < reply->count; i++) {
        uint64_t number;
        struct operation *operation = NULL;
        if (read_token(&reply->elements[i], &number)) {
            operation = queue_find(queue, number);
        }
        if (operation && operation->phase == PHASE_PARKED && operation->has_position) {
            fair_take_position(engine, operation, now);
            lost = true;
        } else if (operation && operation->phase == PHASE_HANDED) {
            operation->woken = true; /* it requests if the hand-over fails */
        }
    }
    if (lost) {
        fair_positions_lost(engine, queue, now);
    }
}
