/* Hand-overs: the hold of the owner that released ends, and the hold of the receiver begins.
 * SPDX-License-Identifier: Apache-2.0 */
#include "hand_over.h"

#include "error_reply.h"
#include "fair.h"
#include "hold_command.h"
#include "hold_end.h"
#include "kinds.h"
#include "mutex.h"
#include "numbers.h"
#include "operations.h"
#include "park.h"
#include "queue.h"

void hand_over_to_nobody(struct engine *engine, struct command *command, int64_t now) {
    struct wait_queue *queue = command->resource->queue; /* stays attached during a hand-over, one at a time */
    queue->handing = NULL;
    turn_into_release(command, command->hold);
    if (list_is_empty(&queue->waiters)) {
        queue_advance(engine, queue, now);
    }
}

/* Counts the hand-over in the hold that it led to, so that the hand-overs in a row are bounded however often the wait
 * queue was empty meanwhile. */
static void count_hand_over(struct operation *receiver, uint64_t id, uint32_t hand_overs, int64_t hand_overs_since) {
    struct hold *granted = resource_hold_of(receiver->resource, receiver->lock_kind, receiver->owner);
    if (granted && granted->id == id) {
        granted->hand_overs = hand_overs + 1;
        granted->hand_overs_since = hand_overs_since;
    }
}

void hand_over_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now) {
    struct wait_queue *queue = command->resource->queue;
    struct operation *receiver = NULL;
    if (queue && queue->handing == command) {
        receiver = queue->receiver;
        queue->handing = NULL;
        queue->receiver = NULL;
    }
    if (receiver && reply->kind != REPLY_ERROR) {
        operation_usable(receiver);
    }
    struct hold *hold = command->hold;
    bool queues_on_server = kind_of(command->resource)->queues_on_server;
    bool other_answer = reply->kind == REPLY_INTEGER && reply->integer == 2;
    bool without_position = queues_on_server && reply->kind == REPLY_INTEGER && reply->integer == 3;
    bool released = (other_answer && queues_on_server) || without_position; /* for the waiter at the head */
    bool reads_on = other_answer && !queues_on_server;                      /* the writer also reads: it downgrades */
    uint32_t hand_overs = hold->hand_overs;
    int64_t hand_overs_since = hold->hand_overs_since;
    uint64_t token;
    bool drawn = read_token(reply, &token);
    bool handed = drawn || (reply->kind == REPLY_INTEGER && reply->integer == 1);
    if (reads_on || (!drawn && reply->kind != REPLY_INTEGER)) { /* not handed over: the lock is released instead */
        struct error_reply error = error_of_reply(reply);
        if (receiver && !queues_on_server && (error.may_have_executed || command->repeated)) {
            undo_acquire(engine, receiver, command->successor, 0);
        }
        turn_into_release(command, hold);
        command->was_sent = command->repeated || error.may_have_executed;
        push_command(engine, command);
    } else {
        bool resolved = command->repeated && command->first_sent_at < hold->deadline; /* as in full_release_replied */
        if (command->operation && (handed || released || resolved)) {
            finish(engine, command->operation, REDLATCH_OK);
        } else if (command->operation) {
            finish_lost(engine, command->operation, hold_reason(hold, now));
        } else if (hold->unconfirmed && !handed && !released && !resolved) {
            hold_release_failed(engine, hold, REDLATCH_LOST, hold_reason(hold, now));
        }
        hold_end(engine, hold, now);
        command->hold = NULL;
    }
    if (receiver && handed) {
        engine->stats.hand_overs++;
        receiver->contended = true;
        acquire_granted(engine, receiver, command->first_sent_at, command->lease_ms, token, now);
        count_hand_over(receiver, command->successor, hand_overs, hand_overs_since);
    } else if (receiver && queues_on_server) {
        fair_not_handed(engine, receiver, released && !without_position, now);
    } else if (receiver) {
        receiver->id = 0;
        receiver->phase = PHASE_PARKED;
        acquire_recheck(engine, receiver, now);
    } else if (queue && list_is_empty(&queue->waiters)) {
        queue_advance(engine, queue, now);
    }
}
