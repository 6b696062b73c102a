/* The acquire machine: ask, park until a message, a timer or the holder's lease, ask again.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   phase    event                          next
 *   QUEUED   becomes foremost               ASKING; PARKED while this process itself holds the lock
 *   ASKING   nil, or a token                DONE (OK), or undone and DONE (LOST) if the grant is older than its lease
 *            remaining ms                   PARKED; ASKING again if a message came since; DONE (TIMEOUT) for a try;
 *                                           of a group undone first if the ask was sent again
 *            refusal that may pass          PAUSED; DONE for a try
 *            other refusal                  DONE
 *            caller has had enough          undo queued behind the ask on the same lane, DONE
 *   PARKED   message, subscription, timer   ASKING
 *            chosen by a local release      HANDED; of a kind that polls the timer is the next pause of its back-off
 *   PAUSED   timer                          ASKING
 *   HANDED   the hand-over's reply          DONE (OK), or ASKING
 *            caller has had enough          undo queued behind the hand-over, DONE
 */
#include "kinds.h"
#include "lease.h"
#include "numbers.h"
#include "planted.h"
#include "steps.h"

/* The longest a foremost waiter goes without a look, with and without a subscription to wake it. */
static const int64_t LOOK_CAP = 5 * SECOND;
static const int64_t POLL_CAP = SECOND / 4;

/* How long before the end of its patience a waiter that polls looks for the last time: its answer takes a while. */
static const int64_t LAST_LOOK = 25 * MILLISECOND;

int64_t engine_wire_lease(const struct engine *engine, int64_t lease_ms) {
    return lease_ms == REDLATCH_RENEWED ? engine->settings.watchdog_lease_ms : lease_ms;
}

int64_t acquire_lease(const struct engine *engine, const struct operation *operation, int64_t now) {
    int64_t lease_ms = engine_wire_lease(engine, operation->lease_ms);
    if (operation->max_hold_ms != REDLATCH_FOREVER) {
        lease_ms = lease_within(lease_ms, now + operation->max_hold_ms * MILLISECOND, now);
    }
    return lease_ms;
}

/* What is left of the caller's patience, in ms; 0 also when there is no end of it, or when it is over: then the caller
 * is about to give up. */
static int64_t patience_left(const struct operation *operation, int64_t now) {
    bool counts = operation->wait_until != NEVER && operation->wait_until > now;
    return counts ? (operation->wait_until - now) / MILLISECOND : 0;
}

void acquire_ask(struct engine *engine, struct operation *operation, int64_t now) {
    struct command *command = take_command(engine, operation);
    if (!command) { /* every reserve is bound in ids that may still arrive late */
        acquire_abort(engine, operation, REDLATCH_NO_REPLY, now);
        return;
    }
    if (operation->id == 0) {
        operation->id = engine->last_id + 1;
        engine->last_id += operation->amount > 1 ? (uint64_t)operation->amount : 1;
    }
    if (PLANTED(FAULT_WIRE_ID_REUSED)) {
        operation->id = UINT64_C(1) << 40 | operation->owner;
    }
    command->kind = COMMAND_ACQUIRE;
    command->id = operation->id;
    command->amount = operation->amount;
    command->lease_ms = acquire_lease(engine, operation, now);
    command->token_from_time = operation->token_from_time;
    command->successor = read_write_pass(operation->resource, operation->lock_kind, operation->owner);
    command->place = operation->once ? PLACE_UNWANTED : operation->placed ? PLACE_TAKEN : PLACE_WANTED;
    command->wait_ms = patience_left(operation, now);
    operation->command = command;
    operation->called = false;
    operation->phase = PHASE_ASKING;
    operation->seen = operation->resource->contest->sequence;
    operation->departures = operation->resource->contest->departures;
    push_command(engine, command);
    arm_operation(engine, operation);
}

static void ask(struct engine *engine, struct operation *operation, int64_t now) {
    kind_of(operation->resource)->ask(engine, operation, now);
}

void acquire_look(struct engine *engine, struct operation *operation, int64_t now) {
    if (operation->phase == PHASE_PARKED || operation->phase == PHASE_PAUSED || operation->phase == PHASE_QUEUED) {
        ask(engine, operation, now);
    }
}

/* No later than the holder's lease ends, and a little. */
static int64_t within_lease(struct engine *engine, int64_t look_at, int64_t ttl_ms, int64_t now) {
    if (ttl_ms >= 0) {
        int64_t over = now + (ttl_ms + 1 + engine_random(engine, 10)) * MILLISECOND;
        look_at = over < look_at ? over : look_at;
    }
    return look_at;
}

/* When to look again, if no message comes before. */
int64_t acquire_look_at(struct engine *engine, const struct subscription *subscription, int64_t ttl_ms, int64_t now) {
    bool denied = subscription && subscription->state == SUBSCRIPTION_DENIED;
    bool unheard = subscription && kind_of(subscription->contest->resource)->polls; /* not all of its holders tell */
    return within_lease(engine, now + (denied || unheard ? POLL_CAP : LOOK_CAP), ttl_ms, now);
}

/* When a waiter that hears of no release looks again. While this process itself holds the lock there is nothing to see
 * by asking again and again: the release will hand it over. */
static int64_t next_poll(struct engine *engine, struct operation *operation, int64_t now) {
    if (resource_live_hold(operation->resource) || PLANTED(FAULT_SPINS_SELDOM)) {
        return now + LOOK_CAP;
    }
    int64_t look_at = now + back_off_next(engine, &operation->back_off) * MILLISECOND;
    int64_t last = operation->wait_until - LAST_LOOK;
    return look_at > last && last > now ? last : look_at;
}

void acquire_park(struct engine *engine, struct operation *operation, int64_t ttl_ms, int64_t now) {
    struct subscription *subscription = &operation->resource->contest->subscription;
    bool queues = operation->kind == OPERATION_ACQUIRE && !operation->set; /* else it stands beside, with no back-off */
    operation->phase = PHASE_PARKED;
    if (queues && kind_of(operation->resource)->polls) {
        operation->look_at = within_lease(engine, next_poll(engine, operation, now), ttl_ms, now);
    } else {
        subscription_want(engine, subscription);
        operation->look_at = acquire_look_at(engine, subscription, ttl_ms, now);
    }
    arm_operation(engine, operation);
}

void acquire_begin(struct engine *engine, struct operation *operation, int64_t now) {
    struct contest *contest = attach_contest(engine, operation);
    struct operation *foremost = queue_foremost(contest);
    bool joins = queue_lets_in(contest, operation);
    if (!joins && operation->once) {
        finish(engine, operation, foremost->trouble ? foremost->trouble : REDLATCH_TIMEOUT);
        return;
    }
    operation->phase = PHASE_QUEUED;
    queue_enter(engine, operation);
    if (!joins) {
        arm_operation(engine, operation);
    } else if (contest->yield_until > now && !operation->once) {
        acquire_park(engine, operation, REDLATCH_FOREVER, now);
        operation->look_at = contest->yield_until;
        arm_operation(engine, operation);
    } else {
        ask(engine, operation, now);
    }
}

void undo_acquire(struct engine *engine, struct operation *operation, uint64_t id, int64_t repeat_until) {
    struct command *command = take_command(engine, operation);
    if (!command) {
        return; /* the id lives for one lease at most */
    }
    command->operation = NULL;
    command->kind = COMMAND_RELEASE;
    command->id = id;
    command->amount = operation->amount;
    command->lease_ms = engine_wire_lease(engine, operation->lease_ms);
    command->repeat_until = repeat_until;
    command->leaves = kind_of(operation->resource)->has_places;
    /* Nobody waits for the reply, and what follows on this lane must not find a place that was given up. */
    command->as_text = command->leaves && !engine->leave_is_known;
    engine->stats.script_loads += command->as_text;
    engine->stats.compensations++;
    push_command(engine, command);
}

/* Undoes what was asked with; should the operation ask again, that undo may still be under way. */
void undo_ask(struct engine *engine, struct operation *operation) {
    undo_acquire(engine, operation, operation->id, 0);
    operation->id = 0;
}

/* Leaves the queue with a status. */
static void end(struct engine *engine, struct operation *operation, int status, int64_t now) {
    queue_leave(engine, operation, now);
    finish(engine, operation, status);
}

bool read_token(const struct reply *reply, uint64_t *token_out) {
    *token_out = 0;
    bool number = reply->kind == REPLY_STRING && reply->size > 0 && reply->size < 20;
    for (size_t i = 0; number && i < reply->size; i++) {
        number = reply->text[i] >= '0' && reply->text[i] <= '9';
        *token_out = *token_out * 10 + (uint64_t)(reply->text[i] - '0');
    }
    return number;
}

/* One hold of what was granted: all of a lock, one of the names of a set, or one of so many permits, each its own
 * owner. */
struct hold *acquire_enter(struct engine *engine, struct operation *operation, uint64_t id, int64_t sent_at,
                           int64_t lease_ms, uint64_t token, int64_t now) {
    struct hold *hold = take_hold(engine, operation);
    if (!hold) {
        return NULL;
    }
    hold->owner = operation->lock_kind == REDLATCH_PERMIT_SEMAPHORE ? PERMIT_OWNER | id : operation->owner;
    list_append(&engine->holds_of[hold->owner % OWNER_CHAINS], &hold->owned);
    hold->id = id;
    hold->serial = id;
    hold->token = token;
    hold->count = 1;
    hold->renewed_from = operation->lease_ms == REDLATCH_RENEWED ? 1 : 0;
    hold->max_hold_at =
        operation->max_hold_ms == REDLATCH_FOREVER ? NEVER : sent_at + operation->max_hold_ms * MILLISECOND;
    hold->renew_at = NEVER;
    hold->alone = !operation->set;
    hold->in_set = operation->set != NULL;
    hold_confirm(hold, sent_at, lease_ms);
    if (operation->asynchronous) {
        operation->granted++;
        hold->claim = operation;
        hold->claim_by = now + engine->settings.claim_timeout_ms * MILLISECOND;
        keep_command_for(operation, hold);
    }
    hold_arm(engine, hold);
    engine->stats.acquired++;
    engine->stats.held++;
    return hold;
}

void acquire_granted(struct engine *engine, struct operation *operation, int64_t sent_at, int64_t lease_ms,
                     uint64_t token, int64_t now) {
    if (PLANTED(FAULT_DEADLINE_FROM_REPLY)) {
        sent_at = now;
    }
    if (now >= lease_deadline(sent_at, lease_ms) && !PLANTED(FAULT_LATE_GRANT_IS_KEPT)) {
        undo_acquire(engine, operation, operation->id, 0);
        operation->reason = REDLATCH_REASON_EXPIRED;
        end(engine, operation, REDLATCH_LOST, now);
        return;
    }
    struct hold *hold = NULL;
    operation->serial = operation->id;
    for (int64_t i = 0; i < (operation->amount > 1 ? operation->amount : 1); i++) {
        hold = acquire_enter(engine, operation, operation->id + (uint64_t)i, sent_at, lease_ms, token, now);
    }
    if (!hold) {
        return;
    }
    struct contest *contest = operation->resource->contest;
    end(engine, operation, REDLATCH_OK, now);
    if (operation->resource->contest == contest) {
        queue_reenter_others(engine, contest, hold, now);
    }
}

/* The server can not be used for now: to be asked again after a pause that grows. */
void operation_pause(struct engine *engine, struct operation *operation, int status, int64_t now) {
    if (operation->trouble_since == 0) {
        operation->trouble_since = now;
        operation->pause_ms = 0;
    }
    bool long_since = now - operation->trouble_since > 5 * SECOND;
    uint32_t cap = long_since ? 1000 : 100;
    uint32_t longer = operation->pause_ms ? operation->pause_ms * 2 : 20;
    operation->pause_ms = longer < cap ? longer : cap;
    operation->trouble = status;
    operation->phase = PHASE_PAUSED;
    operation->look_at = now + (operation->pause_ms + engine_random(engine, operation->pause_ms)) * MILLISECOND;
    arm_operation(engine, operation);
}

/* Who asked what is answered; NULL when that was given up on. A server that does not refuse is in no trouble. */
struct operation *operation_answered(const struct command *command, const struct reply *reply) {
    struct operation *operation = command->operation;
    if (!operation) {
        return NULL;
    }
    operation->command = NULL;
    if (reply->kind != REPLY_ERROR) {
        operation->trouble = 0;
        operation->trouble_since = 0;
    }
    return operation;
}

/* A refusal that may pass is waited out, unless the caller does not wait. */
void acquire_refused(struct engine *engine, struct operation *operation, struct refusal refusal, int64_t now) {
    if (refusal.may_have_run) {
        undo_ask(engine, operation);
    }
    if (!refusal.passing || operation->once) {
        end(engine, operation, refusal.status, now);
        return;
    }
    operation_pause(engine, operation, refusal.status, now);
}

void acquire_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now) {
    struct operation *operation = operation_answered(command, reply);
    if (!operation) {
        return; /* given up on; its undo is queued behind it */
    }
    if (reply->kind == REPLY_ERROR) {
        struct refusal refusal = refusal_of(reply->text, reply->size);
        refusal.may_have_run = refusal.may_have_run || command->repeated; /* before the connection broke */
        acquire_refused(engine, operation, refusal, now);
        return;
    }
    uint64_t token;
    if (read_token(reply, &token) || reply->kind == REPLY_NIL) {
        acquire_granted(engine, operation, command->sent_at, command->lease_ms, token, now);
        return;
    }
    if (reply->kind != REPLY_INTEGER) {
        end(engine, operation, REDLATCH_PROTOCOL, now);
        return;
    }
    if (!operation->met_holder) {
        engine->stats.contended++;
    }
    operation->met_holder = true;
    if (command->repeated && kind_of(command->resource)->has_values) { /* some may be left of what was granted before */
        undo_ask(engine, operation);
    }
    if (operation->once) {
        end(engine, operation, REDLATCH_TIMEOUT, now);
    } else if (operation->seen != operation->resource->contest->sequence &&
               !PLANTED(FAULT_MESSAGE_MISSED_WHILE_ASKING)) {
        ask(engine, operation, now);
    } else {
        acquire_park(engine, operation, server_ms(reply->integer), now);
    }
}

void acquire_abort(struct engine *engine, struct operation *operation, int status, int64_t now) {
    struct contest *contest = operation->resource->contest;
    if (operation->phase == PHASE_HANDED) {
        contest->receiver = NULL;
        if (!PLANTED(FAULT_NO_HAND_OVER_COMPENSATION)) {
            uint8_t lane = operation->lane;
            operation->lane = contest->handing->lane; /* behind what it undoes */
            undo_acquire(engine, operation, operation->id, 0);
            operation->lane = lane;
        }
    } else if (operation->phase == PHASE_ASKING && operation->command) {
        struct command *command = operation->command;
        operation->command = NULL;
        if (!drop_unsent(engine, command)) {
            command->abandoned = true;
            command->operation = NULL;
            if (!PLANTED(FAULT_NO_COMPENSATION)) {
                undo_acquire(engine, operation, operation->id, 0);
            }
        }
    }
    end(engine, operation, status, now);
}

void acquire_timer(struct engine *engine, struct operation *operation, int64_t now) {
    if (operation->phase == PHASE_PARKED || operation->phase == PHASE_PAUSED) {
        if (now >= operation->look_at) {
            ask(engine, operation, now);
            return;
        }
    }
    arm_operation(engine, operation);
}
