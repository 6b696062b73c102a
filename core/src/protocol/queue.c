/* The local queue of a name: first come, first served among this process's waiters, and only the foremost talks to
 * Redis. A release with a waiter behind it hands the hold over inside the process, for at most 16 times or 10 ms in a
 * row; then the lock is really released, and if other processes listen, this one lets them try first.
 * SPDX-License-Identifier: Apache-2.0 */
#include "lease.h"
#include "planted.h"
#include "steps.h"

enum { RUN_LENGTH = 16 };
static const int64_t RUN_TIME = 10 * MILLISECOND;

struct operation *queue_foremost(const struct contest *contest) {
    struct list_link *first = list_first(&contest->queue);
    return first ? container_of(first, struct operation, link) : NULL;
}

void queue_enter(struct engine *engine, struct operation *operation) {
    struct contest *contest = operation->resource->contest;
    list_append(&contest->queue, &operation->link);
    contest->waiters++;
    contest->named_owners += operation->named_owner;
    engine->stats.waiters++;
    timer_disarm(&engine->timers, &contest->timer);
}

/* Nobody queues any more: unless somebody watches, the subscription lingers, and a contest without one goes. */
void queue_go_idle(struct engine *engine, struct contest *contest, int64_t now) {
    contest->yielding = false;
    if (!list_is_empty(&contest->watchers)) {
        return;
    }
    switch (contest->subscription.state) {
    case SUBSCRIPTION_NONE:
    case SUBSCRIPTION_DENIED:
        if (!contest->handing) {
            detach_contest(engine, contest);
        }
        break;
    case SUBSCRIPTION_WANTED:
    case SUBSCRIPTION_ACTIVE:
        timer_arm(&engine->timers, &contest->timer, now + engine->settings.linger_ms * MILLISECOND);
        break;
    default: /* LEAVING: goes when that is confirmed */
        break;
    }
}

/* Lets the new foremost waiter, if it has not begun, look at once: a message may have been spent on the one that
 * left. While this process itself holds the lock there is nothing to see; the release will hand it over. */
void queue_advance(struct engine *engine, struct contest *contest, int64_t now) {
    struct operation *foremost = queue_foremost(contest);
    if (!foremost) {
        queue_go_idle(engine, contest, now);
        return;
    }
    if (foremost->phase != PHASE_QUEUED) {
        return;
    }
    struct hold *hold = resource_live_hold(contest->resource);
    if (hold || PLANTED(FAULT_NEXT_WAITER_SLEEPS)) {
        int64_t left_ms = hold && !hold_is_renewed(hold)
                              ? (hold->deadline - now) / MILLISECOND + hold->lease_ms / 100 + 2
                              : REDLATCH_FOREVER;
        acquire_park(engine, foremost, left_ms, now);
    } else {
        acquire_look(engine, foremost, now);
    }
}

void queue_leave(struct engine *engine, struct operation *operation, int64_t now) {
    struct contest *contest = operation->resource->contest;
    bool was_foremost = queue_foremost(contest) == operation;
    list_remove(&operation->link);
    struct operation *next = was_foremost ? queue_foremost(contest) : NULL;
    if (next) { /* what the one in front was told holds for who waited behind it */
        next->met_holder = next->met_holder || operation->met_holder;
    }
    contest->waiters--;
    contest->named_owners -= operation->named_owner;
    engine->stats.waiters--;
    operation->phase = PHASE_NEW;
    queue_advance(engine, contest, now);
}

/* After a grant: other calls of the same owner that wait for the lock would wait for themselves; they re-enter. */
void queue_reenter_others(struct engine *engine, struct contest *contest, struct hold *hold, int64_t now) {
    struct list_link *link = contest->named_owners ? list_first(&contest->queue) : NULL;
    while (link) {
        struct operation *other = container_of(link, struct operation, link);
        link = list_next(&contest->queue, link);
        if (other->owner == hold->owner && (other->phase == PHASE_QUEUED || other->phase == PHASE_PARKED)) {
            bool last = link == NULL;
            queue_leave(engine, other, now);
            hold_acquire(engine, hold, other, now);
            if (last) {
                return; /* the contest may be gone */
            }
        }
    }
}

/* The waiter of this process that shall have the hold next, or NULL when it is to be released for everybody. */
struct operation *queue_receiver(struct engine *engine, struct hold *hold, int64_t now) {
    struct contest *contest = hold->resource->contest;
    struct operation *foremost = contest ? queue_foremost(contest) : NULL;
    (void)engine;
    if (!foremost || foremost->phase != PHASE_PARKED || foremost->wait_until <= now || contest->handing) {
        return NULL;
    }
    if (hold->run == 0) {
        hold->run_since = now;
    }
    bool over = hold->run >= RUN_LENGTH || now - hold->run_since >= RUN_TIME;
    if (over && !PLANTED(FAULT_HAND_OVER_UNBOUNDED)) {
        contest->yielding = true;
        return NULL;
    }
    return foremost;
}

/* Counts the hand-over that led to a grant, so that the run has an end however often the queue was empty meanwhile. */
static void count_run(struct operation *receiver, uint64_t id, uint32_t run, int64_t run_since) {
    struct hold *granted = resource_hold_of(receiver->resource, receiver->owner);
    if (granted && granted->id == id) {
        granted->run = run + 1;
        granted->run_since = run_since;
    }
}

/* A real release of ours was answered: `told` subscribers heard of it, -1 if unknown. If others did, they go first. */
void queue_after_release(struct engine *engine, struct resource *resource, int64_t told, int64_t now) {
    struct contest *contest = resource->contest;
    if (!contest) {
        return;
    }
    contest->sequence++; /* an ask under way may have been answered before the release */
    struct operation *foremost = queue_foremost(contest);
    bool yielding = contest->yielding;
    contest->yielding = false;
    if (told < 0) { /* nobody hears of it */
        set_next_looks(engine, contest, now);
    }
    if (!foremost || foremost->phase != PHASE_PARKED) {
        return;
    }
    int64_t own = contest->subscription.state == SUBSCRIPTION_ACTIVE ? 1 : 0;
    if (yielding && (told < 0 || told > own)) {
        if (contest->yield_until <= now) {
            contest->yield_until = now + MILLISECOND + engine_random(engine, 2000);
        }
        foremost->look_at = contest->yield_until;
        arm_operation(engine, foremost);
    } else {
        acquire_look(engine, foremost, now);
    }
}

void hand_over_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now) {
    struct contest *contest = command->resource->contest;
    struct operation *receiver = NULL;
    if (contest && contest->handing == command) {
        receiver = contest->receiver;
        contest->handing = NULL;
        contest->receiver = NULL;
    }
    struct hold *hold = command->hold;
    uint32_t run = hold->run;
    int64_t run_since = hold->run_since;
    uint64_t token;
    bool drawn = read_token(reply, &token);
    bool handed = drawn || (reply->kind == REPLY_INTEGER && reply->integer == 1);
    if (!drawn && reply->kind != REPLY_INTEGER) { /* refused: release for everybody instead */
        struct refusal refusal = refusal_of(reply->text, reply->kind == REPLY_ERROR ? reply->size : 0);
        if (receiver && (refusal.may_have_run || command->repeated)) {
            undo_acquire(engine, receiver, command->successor, 0);
        }
        turn_into_release(command, hold);
        command->was_sent = command->repeated || refusal.may_have_run;
        push_command(engine, command);
    } else {
        bool resolved = command->repeated && command->first_sent_at < hold->deadline; /* as for a release */
        if (command->operation) {
            finish(engine, command->operation, handed || resolved ? REDLATCH_OK : REDLATCH_LOST);
        }
        hold_end(engine, hold, now);
        command->hold = NULL;
    }
    if (receiver && handed) {
        engine->stats.hand_overs++;
        receiver->met_holder = true;
        acquire_granted(engine, receiver, command->first_sent_at, command->lease_ms, token, now);
        count_run(receiver, command->successor, run, run_since);
    } else if (receiver) {
        receiver->id = 0;
        receiver->phase = PHASE_PARKED;
        acquire_look(engine, receiver, now);
    } else if (contest && list_is_empty(&contest->queue)) {
        queue_advance(engine, contest, now);
    }
}

/* The channel may be heard from now on, or can not be: whoever is parked looks. */
void queue_look(struct engine *engine, struct contest *contest, int64_t now) {
    struct operation *foremost = queue_foremost(contest);
    if (foremost && foremost->phase == PHASE_PARKED) {
        acquire_look(engine, foremost, now);
    }
}

/* A release was heard of. */
void queue_told(struct engine *engine, struct contest *contest, int64_t now) {
    struct operation *foremost = queue_foremost(contest);
    if (!foremost || foremost->phase != PHASE_PARKED) {
        return;
    }
    if (contest->yielding && contest->yield_until <= now) { /* the echo of our own release, ahead of its reply */
        contest->yield_until = now + MILLISECOND + engine_random(engine, 2000);
        foremost->look_at = contest->yield_until;
        arm_operation(engine, foremost);
    } else if (contest->yield_until <= now) {
        acquire_look(engine, foremost, now);
    } else if (foremost->look_at > contest->yield_until) { /* not before others had their turn, but then */
        foremost->look_at = contest->yield_until;
        arm_operation(engine, foremost);
    }
}
