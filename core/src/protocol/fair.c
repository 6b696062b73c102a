/* Waiting for a fair lock. Every waiter has a position in the server queue, under the number that its hold will have.
 * It is granted when its position is the first. The hold then works as that of a mutex (hold.c).
 * SPDX-License-Identifier: Apache-2.0
 *
 *   phase       event                          next
 *   REQUESTING  nil                            DONE (OK)
 *               queued                         PARKED, with a position; REQUESTING again if it was woken meanwhile
 *               no position                    REQUESTING, for a new one at the end; DONE (TIMEOUT) if non-blocking
 *               transient error                PAUSED, keeps its position; DONE if non-blocking
 *               NOTREPLICATED                  grant and position are given back; PAUSED
 *               other error                    the position is left, DONE
 *               time-out or cancel             the position is left, behind the request on its pipeline; DONE
 *   PARKED      message on its own channel     REQUESTING, moves to the front of the local queue
 *               timer, if it is the foremost   REQUESTING, to see whether its position is the first; makes no position
 *               refreshed: no position         REQUESTING, for a new position
 *               receiver of a local release    HANDED
 *               time-out or cancel             the position is left, DONE
 *   PAUSED      timer                          REQUESTING
 *   HANDED      reply of the hand-over         DONE (OK); PARKED if the lock went to another waiter; else, or if it was
 *                                              woken meanwhile, REQUESTING
 *
 * The local queue is in the order of the server queue: first the waiters with a position, in the order of their
 * replies, then the waiters without. Only the foremost rechecks by timer; the positions of the others are refreshed
 * (refresh.c). wake_channels.c says which waiters subscribe to their channels. One script lets a waiter leave: it ends
 * the position or the hold, whichever exists. */
#include "fair.h"

#include "acquire_steps.h"
#include "hold_command.h"
#include "hold_end.h"
#include "mutex.h"
#include "numbers.h"
#include "operations.h"
#include "park.h"
#include "planted.h"
#include "pools.h"
#include "queue.h"
#include "wait_queue.h"
#include "wake_channels.h"

/* How many commands the pool keeps for refreshes once a fair lock is used. A second waiter needs them. */
enum { REFRESHES = 4 };

/* Gives a new waiter the pipeline of the last waiter in the queue, so that their requests reach the server in order of
 * arrival. An asynchronous operation keeps its own pipeline. */
static void follow_pipeline(const struct wait_queue *queue, struct operation *operation) {
    if (list_is_empty(&queue->waiters)) {
        return;
    }
    const struct operation *last = container_of(queue->waiters.ring.previous, struct operation, link);
    if (!operation->asynchronous && !last->asynchronous) {
        operation->pipeline = last->pipeline;
    }
}

void fair_begin(struct engine *engine, struct operation *operation, int64_t now) {
    struct wait_queue *queue = attach_wait_queue(engine, operation);
    if (queue_foremost(queue) && operation->non_blocking) {
        finish(engine, operation, queue_timeout_status(queue));
        return;
    }
    follow_pipeline(queue, operation);
    engine->refreshes = REFRESHES;
    operation->phase = PHASE_QUEUED;
    queue_enter(engine, operation);
    acquire_recheck(engine, operation, now);
}

static void park(struct engine *engine, struct operation *operation, int64_t ttl_ms, int64_t now) {
    struct wait_queue *queue = operation->resource->queue;
    int64_t third = engine->settings.fair_timeout_ms * MILLISECOND / 3;
    operation->phase = PHASE_PARKED;
    operation->recheck_at = NEVER;
    wake_channels_listen(engine, queue, LISTENING_WAITERS);
    if (queue_foremost(queue) == operation) {
        int64_t recheck_at = acquire_recheck_time(engine, operation->wake_channel, ttl_ms, now);
        bool seldom = recheck_at < now + third || PLANTED(FAULT_POSITIONS_NOT_REFRESHED);
        operation->recheck_at = seldom ? recheck_at : now + third;
    } else {
        refresh_plan(engine, queue, now + third);
    }
    arm_operation(engine, operation);
}

/* Moves a waiter that has just got a position directly behind the other waiters that have one. */
static void order_by_position(struct wait_queue *queue, struct operation *operation) {
    struct list_link *before = &operation->link;
    while (before->previous != &queue->waiters.ring &&
           !container_of(before->previous, struct operation, link)->has_position) {
        before = before->previous;
    }
    if (before != &operation->link) {
        list_remove(&operation->link);
        list_insert_before(before, &operation->link);
    }
}

static void leave_on_server(struct engine *engine, struct operation *operation) {
    operation->position_in_doubt = false;
    if (!PLANTED(FAULT_POSITION_IS_KEPT)) {
        undo_acquire(engine, operation, operation->id, 0);
    }
}

/* Undoes a request of a waiter without a position, because the request may have made one. If the waiter had a position
 * before, fair_end leaves it. */
void fair_undo(struct engine *engine, struct operation *operation, struct command *command) {
    (void)command;
    if (!operation->has_position) {
        leave_on_server(engine, operation);
    }
}

/* Leaves the local queue, and the server queue if the waiter may have a position there. A server that refused all its
 * requests has none. After an abandoned hand-over, the undo of the hand-over leaves the position. */
void fair_end(struct engine *engine, struct operation *operation, int status, int64_t now) {
    bool in_doubt = operation->id && operation->position_in_doubt;
    if ((operation->has_position || in_doubt) && operation->phase != PHASE_HANDED) {
        leave_on_server(engine, operation);
    }
    acquire_end(engine, operation, status, now);
}

/* Forgets a waiter's number, and its position if it has one. Its next request has a new number and gets a position at
 * the end. */
void fair_forget_number(struct engine *engine, struct operation *operation) {
    struct wait_queue *queue = operation->resource->queue;
    wake_channels_drop(engine, operation);
    if (operation->has_position) {
        queue->departed[queue->departures++ % DEPARTED_WAITERS] = operation->id;
        operation->has_position = false;
    }
    operation->id = 0;
    operation->position_in_doubt = false;
    list_remove(&operation->link);
    list_append(&queue->waiters, &operation->link);
}

void fair_give_back(struct engine *engine, struct operation *operation, int64_t now) {
    leave_on_server(engine, operation);
    fair_forget_number(engine, operation);
    queue_advance(engine, operation->resource->queue, now);
}

/* Returns the number in a reply, or 0 if the reply is no number. */
static uint64_t number_of(const struct reply *reply) {
    uint64_t number;
    return read_token(reply, &number) ? number : 0;
}

/* Leaves a position of this client that no waiter has any more, because others wait behind it. A server that lost its
 * last writes may bring such a position back. Does nothing if the number is that of a hold. */
static void leave_position(struct engine *engine, const struct operation *seen_by, uint64_t id) {
    for (const struct hold *hold = seen_by->resource->holds; hold; hold = hold->next) {
        if (hold->id == id) {
            return;
        }
    }
    struct command *command = release_id(engine, seen_by->resource, seen_by->lock_kind, id, seen_by->pipeline);
    if (command) {
        command->leaves = true;
    }
}

/* Returns whether the waiter with number `id` has left the queue since `asker` sent its request. Then the reply to that
 * request may be older than the departure, because the replies of two pipelines are read in any order. Only the last
 * DEPARTED_WAITERS departures are known. */
static bool has_departed(const struct wait_queue *queue, const struct operation *asker, uint64_t id) {
    uint32_t since = queue->departures - asker->departures;
    for (uint32_t i = 1; i <= since && i <= DEPARTED_WAITERS; i++) {
        if (queue->departed[(queue->departures - i) % DEPARTED_WAITERS] == id) {
            return true;
        }
    }
    return false;
}

/* The reply to `seen_by` says that the head of the server queue is a waiter of this client. That waiter becomes the
 * foremost here, too. The local queue may be long, so it is searched only if the foremost is another waiter. */
static void head_is_ours(struct engine *engine, struct operation *seen_by, uint64_t id, int64_t now) {
    struct wait_queue *queue = seen_by->resource->queue;
    struct operation *foremost = queue_foremost(queue);
    if ((foremost->id == id && foremost->has_position) || has_departed(queue, seen_by, id)) {
        return;
    }
    struct operation *head = queue_find(queue, id);
    if (!head) {
        if (queue->departures - seen_by->departures <= DEPARTED_WAITERS) {
            leave_position(engine, seen_by, id);
        }
    } else if (!head->has_position) {
        head->woken = true; /* its own reply may be older than this one, and its wake-up message was not received */
    } else {
        list_remove(&head->link);
        list_prepend(&queue->waiters, &head->link);
        wake_channels_listen(engine, queue, LISTENING_WAITERS);
        acquire_recheck(engine, head, now);
    }
}

/* Returns whether the owner has a hold already, from another operation that was faster. Then this operation would wait
 * for its own owner. Its position or grant is undone, and it re-enters that hold, or ends with LOST. */
static bool joins_its_owner(struct engine *engine, struct operation *operation, int64_t now) {
    struct hold *hold = hold_of_owner(engine, operation->resource, operation->lock_kind, operation->owner, now);
    if (hold) {
        undo_attempt(engine, operation);
        queue_leave(engine, operation, now);
        hold_acquire(engine, hold, operation, now);
    }
    return hold != NULL;
}

static void queued(struct engine *engine, struct operation *operation, const struct reply *reply, int64_t now) {
    struct wait_queue *queue = operation->resource->queue;
    operation_contended(engine, operation);
    if (!operation->has_position) {
        order_by_position(queue, operation);
        operation->has_position = true;
    }
    if (joins_its_owner(engine, operation, now)) {
        return;
    }
    bool woken = operation->woken && !PLANTED(FAULT_MESSAGE_MISSED_WHILE_REQUESTING);
    park(engine, operation, server_ms(reply->elements[0].integer), now);
    if (woken) {
        acquire_recheck(engine, operation, now);
    }
    uint64_t head = number_of(&reply->elements[1]);
    if (head) {
        head_is_ours(engine, operation, head, now);
    }
}

/* The server does not know the waiter's position: requests a new one, at the end. */
void fair_take_position(struct engine *engine, struct operation *operation, int64_t now) {
    struct wait_queue *queue = operation->resource->queue;
    operation->has_position = false;
    operation->position_in_doubt = false;
    operation->phase = PHASE_PARKED;
    list_remove(&operation->link);
    list_append(&queue->waiters, &operation->link);
    acquire_recheck(engine, operation, now);
}

/* Some waiters have lost their positions. The waiter that is foremost now may have lost its position, too, and then
 * gets a new one behind them. If it is parked without a timer, it rechecks at once. */
void fair_positions_lost(struct engine *engine, struct wait_queue *queue, int64_t now) {
    struct operation *foremost = queue_foremost(queue);
    if (foremost->phase == PHASE_PARKED && foremost->recheck_at == NEVER) {
        acquire_recheck(engine, foremost, now);
    }
}

void fair_result(struct engine *engine, struct operation *operation, struct command *command, const struct reply *reply,
                 int64_t now) {
    if (reply->kind == REPLY_NIL && joins_its_owner(engine, operation, now)) {
        return;
    }
    if (reply->kind == REPLY_NIL) {
        acquire_granted(engine, operation, command->sent_at, command->lease_ms, 0, now);
    } else if (reply->kind == REPLY_ARRAY && reply->count == 2 && reply->elements[0].kind == REPLY_INTEGER &&
               !operation->non_blocking) { /* a non-blocking acquire gets no position */
        queued(engine, operation, reply, now);
    } else if (reply->kind != REPLY_INTEGER) {
        fair_undo(engine, operation, command);
        fair_end(engine, operation, REDLATCH_PROTOCOL, now);
    } else if (operation->non_blocking) {
        operation->contended = true;
        engine->stats.contended++;
        fair_end(engine, operation, REDLATCH_TIMEOUT, now);
    } else {
        fair_take_position(engine, operation, now);
        fair_positions_lost(engine, operation->resource->queue, now);
    }
}

/* A hand-over did not reach its receiver, which parks again. If the lock was released for another waiter, the head of
 * the server queue has been woken. Otherwise, or if the receiver was woken meanwhile, it rechecks at once. */
void fair_not_handed(struct engine *engine, struct operation *operation, bool for_another, int64_t now) {
    park(engine, operation, REDLATCH_FOREVER, now);
    if (!for_another || operation->woken) {
        acquire_recheck(engine, operation, now);
    }
}

/* The foremost has changed. If this process itself holds the lock, its release will hand the lock over or wake the new
 * foremost. Else the new foremost rechecks at once: until now its position was refreshed only, and it may not know how
 * long the holder's lease is. */
void fair_next(struct engine *engine, struct wait_queue *queue, int64_t now) {
    struct operation *foremost = queue_foremost(queue);
    wake_channels_listen(engine, queue, LISTENING_WAITERS / 2);
    if (foremost->phase != PHASE_PARKED || foremost->recheck_at != NEVER) {
        return;
    }
    bool released_here = resource_live_hold(queue->resource) && !foremost->unusable_since;
    if (released_here || PLANTED(FAULT_NEXT_WAITER_SLEEPS)) {
        park(engine, foremost, REDLATCH_FOREVER, now);
    } else {
        acquire_recheck(engine, foremost, now);
    }
}

/* Messages on the channel of the name are for its watches. Each waiter is woken on its own channel. */
void fair_notified(struct engine *engine, struct wait_queue *queue, int64_t number, int64_t now) {
    (void)engine;
    (void)queue;
    (void)number;
    (void)now;
}

/* Has the positions of a wait queue refreshed at the time `at`, or earlier if that is planned already. */
void refresh_plan(struct engine *engine, struct wait_queue *queue, int64_t at) {
    if (!timer_is_armed(&queue->refresh) || queue->refresh.at > at) {
        timer_arm(&engine->timers, &queue->refresh, at);
    }
}
