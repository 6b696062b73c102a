/* The local queue of a name: first come, first served among this process's waiters, and only the foremost talks to
 * Redis, or those readers who stand side by side at the front. A release with a waiter behind it hands the hold over
 * inside the process, for at most 16 times or 10 ms in a row; then the lock is really released, and if other processes
 * listen, this one lets them try first. Waiters of a fair lock are here, too, in the order of their places (fair.c).
 * SPDX-License-Identifier: Apache-2.0 */
#include "kinds.h"
#include "lease.h"
#include "planted.h"
#include "steps.h"

enum { RUN_LENGTH = 16 };
static const int64_t RUN_TIME = 10 * MILLISECOND;

struct operation *queue_foremost(const struct contest *contest) {
    struct list_link *first = list_first(&contest->queue);
    return first ? container_of(first, struct operation, link) : NULL;
}

/* The waiter of that number, or NULL. */
struct operation *queue_find(const struct contest *contest, uint64_t id) {
    struct list_link *link = list_first(&contest->queue);
    for (; link; link = list_next(&contest->queue, link)) {
        struct operation *operation = container_of(link, struct operation, link);
        if (operation->id == id) {
            return operation;
        }
    }
    return NULL;
}

static bool goes_together(const struct operation *operation) {
    return kind_of_number(operation->lock_kind)->together;
}

/* Whether several may go at once, and so each has to see to it that it misses no message. */
static bool is_shared(const struct contest *contest) {
    return kind_of(contest->resource)->together;
}

/* Who may go at the same time as the one in front of it; NULL: it goes alone, or is the last who may. */
static struct operation *beside(const struct contest *contest, const struct operation *operation) {
    struct list_link *link = goes_together(operation) ? list_next(&contest->queue, &operation->link) : NULL;
    struct operation *next = link ? container_of(link, struct operation, link) : NULL;
    return next && goes_together(next) ? next : NULL;
}

/* Whether an earlier call of the same owner, with the same intent, stands in the queue or was just granted: then this
 * one re-enters, and does not ask by itself. `operation` may be about to queue. */
bool queue_will_reenter(const struct contest *contest, const struct operation *operation) {
    const struct hold *hold = resource_hold_of(operation->resource, operation->lock_kind, operation->owner);
    if (!operation->named_owner || (hold && hold->stage == HOLD_ALIVE)) {
        return operation->named_owner;
    }
    struct list_link *link = list_first(&contest->queue);
    for (; link && link != &operation->link; link = list_next(&contest->queue, link)) {
        const struct operation *other = container_of(link, struct operation, link);
        if (other->owner == operation->owner && other->lock_kind == operation->lock_kind) {
            return true;
        }
    }
    return false;
}

/* Whether whoever comes now may go at once. */
bool queue_lets_in(const struct contest *contest, const struct operation *operation) {
    bool alone = contest->alone > 0 && !PLANTED(FAULT_READERS_OVERTAKE);
    bool front = !queue_foremost(contest) || (goes_together(operation) && !alone);
    return front && !queue_will_reenter(contest, operation);
}

void queue_enter(struct engine *engine, struct operation *operation) {
    struct contest *contest = operation->resource->contest;
    list_append(&contest->queue, &operation->link);
    contest->waiters++;
    contest->alone += !goes_together(operation);
    contest->named_owners += operation->named_owner;
    engine->stats.waiters++;
    timer_disarm(&engine->timers, &contest->timer);
}

/* Nobody queues any more: unless somebody watches, the subscription lingers, and a contest without one goes. */
void queue_go_idle(struct engine *engine, struct contest *contest, int64_t now) {
    bool hushed = calls_hushed(engine, contest);
    contest->yielding = false;
    if (!list_is_empty(&contest->watchers)) {
        return;
    }
    switch (contest->subscription.state) {
    case SUBSCRIPTION_NONE:
    case SUBSCRIPTION_DENIED:
        if (!contest->handing && hushed) {
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

/* A hold of this process that a waiter can not go beside, or NULL. */
static struct hold *hold_in_the_way(const struct operation *operation) {
    struct hold *hold = kind_of(operation->resource)->shared ? NULL : operation->resource->holds;
    while (hold && (hold->stage != HOLD_ALIVE ||
                    (goes_together(operation) &&
                     (hold->lock_kind == operation->lock_kind || hold->owner == operation->owner)))) {
        hold = hold->next;
    }
    return hold;
}

/* The first at the front who has not begun; where several go at once, also who may have missed a message. */
static struct operation *next_turn(const struct contest *contest, int64_t now) {
    struct operation *operation = queue_foremost(contest);
    for (; operation; operation = beside(contest, operation)) {
        bool missed = is_shared(contest) && operation->phase == PHASE_PARKED &&
                      operation->seen != contest->sequence && contest->yield_until <= now &&
                      !PLANTED(FAULT_READERS_GO_ALONE);
        if ((operation->phase == PHASE_QUEUED || missed) && !queue_will_reenter(contest, operation)) {
            return operation;
        }
    }
    return NULL;
}

/* Asks, or, when this process itself holds the lock, parks at first: the release will hand it over. */
static void take_turn(struct engine *engine, struct operation *operation, int64_t now) {
    struct hold *hold = operation->phase == PHASE_QUEUED ? hold_in_the_way(operation) : NULL;
    if (hold || PLANTED(FAULT_NEXT_WAITER_SLEEPS)) {
        int64_t left_ms = hold && !hold_is_renewed(hold)
                              ? (hold->deadline - now) / MILLISECOND + hold->lease_ms / 100 + 2
                              : REDLATCH_FOREVER;
        operation->seen = operation->resource->contest->sequence;
        acquire_park(engine, operation, left_ms, now);
    } else {
        acquire_look(engine, operation, now);
    }
}

/* Somebody left the queue: those behind go on. */
void queue_advance(struct engine *engine, struct contest *contest, int64_t now) {
    if (list_is_empty(&contest->queue)) {
        queue_go_idle(engine, contest, now);
    } else {
        kind_of(contest->resource)->advance(engine, contest, now);
    }
}

/* Lets those at the front who have not begun look at once: a message may have been spent on the one that left. Each has
 * one turn at most. */
void queue_next(struct engine *engine, struct contest *contest, int64_t now) {
    const struct resource *resource = contest->resource;
    for (uint32_t turns = contest->waiters; turns > 0 && resource->contest == contest; turns--) {
        struct operation *operation = next_turn(contest, now);
        if (!operation) {
            return;
        }
        take_turn(engine, operation, now);
    }
}

/* Takes a waiter off the queue; those behind it do not go on yet. */
static void take_off(struct engine *engine, struct operation *operation) {
    struct contest *contest = operation->resource->contest;
    bool was_foremost = queue_foremost(contest) == operation;
    list_remove(&operation->link);
    struct operation *next = was_foremost ? queue_foremost(contest) : NULL;
    if (next) { /* what the one in front was told holds for who waited behind it */
        next->met_holder = next->met_holder || operation->met_holder;
    }
    contest->waiters--;
    contest->alone -= !goes_together(operation);
    contest->named_owners -= operation->named_owner;
    engine->stats.waiters--;
    if (operation->placed) {
        contest->departed[contest->departures++ % DEPARTED_WAITERS] = operation->id;
    }
    operation->phase = PHASE_NEW;
    operation->placed = false;
    calls_drop(engine, operation);
}

void queue_leave(struct engine *engine, struct operation *operation, int64_t now) {
    struct contest *contest = operation->resource->contest;
    take_off(engine, operation);
    queue_advance(engine, contest, now);
}

/* Takes the other calls of a hold's owner off the queue that can be begun anew. */
static void take_off_others(struct engine *engine, struct contest *contest, const struct hold *hold,
                            struct list *others) {
    struct list_link *link = contest->named_owners ? list_first(&contest->queue) : NULL;
    while (link) {
        struct operation *other = container_of(link, struct operation, link);
        link = list_next(&contest->queue, link);
        if (other->owner == hold->owner && (other->phase == PHASE_QUEUED || other->phase == PHASE_PARKED)) {
            if (other->placed) {
                undo_acquire(engine, other, other->id, 0);
                other->id = 0; /* should it come to ask again, that undo may still be under way */
            }
            take_off(engine, other);
            list_append(others, &other->link);
        }
    }
}

/* After a grant: other calls of the same owner that wait for the lock would wait for themselves; they re-enter. A
 * reader who waits for the write lock gets an error, a writer who waits for the read lock goes past the queue. All
 * leave before the first begins anew, for some come back into the queue. */
void queue_reenter_others(struct engine *engine, struct contest *contest, struct hold *hold, int64_t now) {
    struct list others;
    struct list_link *link;
    list_init(&others);
    take_off_others(engine, contest, hold, &others);
    if (list_is_empty(&others)) {
        return;
    }
    queue_advance(engine, contest, now); /* the contest may be gone then */
    while ((link = list_pop(&others)) != NULL) {
        struct operation *other = container_of(link, struct operation, link);
        if (other->lock_kind == hold->lock_kind) {
            hold_acquire(engine, hold, other, now);
        } else {
            read_write_begin(engine, other, now);
        }
    }
}

/* The waiter of this process that shall have the hold next, or NULL when it is to be released for everybody. */
struct operation *queue_receiver(struct engine *engine, struct hold *hold, int64_t now) {
    struct contest *contest = hold->resource->contest;
    struct operation *foremost = contest ? queue_foremost(contest) : NULL;
    (void)engine;
    if (kind_of(hold->resource)->shared || !foremost || foremost->phase != PHASE_PARKED ||
        foremost->wait_until <= now || contest->handing) {
        return NULL;
    }
    if (is_shared(contest) && (goes_together(foremost) || hold->lock_kind != foremost->lock_kind ||
                               read_write_is_downgrade(hold))) {
        return NULL;
    }
    if (kind_of(hold->resource)->has_places) { /* whose turn it is, the server says */
        return foremost->placed ? foremost : NULL;
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
    struct hold *granted = resource_hold_of(receiver->resource, receiver->lock_kind, receiver->owner);
    if (granted && granted->id == id) {
        granted->run = run + 1;
        granted->run_since = run_since;
    }
}

/* Those at the front who wait look no later than when other processes had their turn, and not before. */
static void wait_for_others(struct engine *engine, struct contest *contest) {
    struct operation *operation = queue_foremost(contest);
    for (; operation; operation = beside(contest, operation)) {
        if (operation->phase == PHASE_PARKED) {
            operation->look_at = contest->yield_until;
            arm_operation(engine, operation);
        }
    }
}

/* Nobody of the queue asks for a moment, in which others have their turn. */
static void yield(struct engine *engine, struct contest *contest, int64_t now) {
    if (contest->yield_until <= now) {
        contest->yield_until = now + MILLISECOND + engine_random(engine, 2000);
    }
    wait_for_others(engine, contest);
}

/* A real release of ours was answered: `told` subscribers heard of it, -1 if unknown. If others did, they go first, and
 * so does a set that stands beside: it is in nobody's queue, and has no other turn while there is always one. */
void queue_after_release(struct engine *engine, struct resource *resource, int64_t told, int64_t now) {
    struct contest *contest = resource->contest;
    if (!contest) {
        return;
    }
    contest->sequence++; /* an ask under way may have been answered before the release */
    struct operation *foremost = queue_foremost(contest);
    bool yielding = contest->yielding;
    contest->yielding = false;
    bool set_goes = (yielding || !foremost) && set_stands_beside(contest);
    if (set_goes) {
        yield(engine, contest, now);
    }
    if (set_goes || told < 0) { /* if it is not told, nobody hears of it */
        set_next_looks(engine, contest, now);
    }
    if (set_goes || !foremost || (foremost->phase != PHASE_PARKED && !is_shared(contest))) {
        return;
    }
    if (kind_of(resource)->has_places) { /* whoever is next has been called, if it listens */
        if (!foremost->call || foremost->call->state != SUBSCRIPTION_ACTIVE) {
            acquire_look(engine, foremost, now);
        }
        return;
    }
    int64_t own = contest->subscription.state == SUBSCRIPTION_ACTIVE ? 1 : 0;
    bool unheard = kind_of(resource)->polls; /* of others, who may wait all the same */
    if (yielding && (told < 0 || told > own || unheard)) {
        yield(engine, contest, now);
    } else if (!is_shared(contest) || !hold_in_the_way(foremost)) {
        queue_look(engine, contest, now);
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
    bool has_places = kind_of(command->resource)->has_places;
    bool other_answer = reply->kind == REPLY_INTEGER && reply->integer == 2;
    bool placeless = has_places && reply->kind == REPLY_INTEGER && reply->integer == 3;
    bool released = (other_answer && has_places) || placeless; /* for another, who stands at the head */
    bool reads_on = other_answer && !has_places; /* a writer, who gives back only that */
    uint32_t run = hold->run;
    int64_t run_since = hold->run_since;
    uint64_t token;
    bool drawn = read_token(reply, &token);
    bool handed = drawn || (reply->kind == REPLY_INTEGER && reply->integer == 1);
    if (reads_on || (!drawn && reply->kind != REPLY_INTEGER)) { /* refused: release for everybody instead */
        struct refusal refusal = refusal_of_reply(reply);
        if (receiver && !has_places && (refusal.may_have_run || command->repeated)) {
            undo_acquire(engine, receiver, command->successor, 0);
        }
        turn_into_release(command, hold);
        command->was_sent = command->repeated || refusal.may_have_run;
        push_command(engine, command);
    } else {
        bool resolved = command->repeated && command->first_sent_at < hold->deadline; /* as for a release */
        if (command->operation && (handed || released || resolved)) {
            finish(engine, command->operation, REDLATCH_OK);
        } else if (command->operation) {
            finish_lost(engine, command->operation, hold_reason(hold, now));
        }
        hold_end(engine, hold, now);
        command->hold = NULL;
    }
    if (receiver && handed) {
        engine->stats.hand_overs++;
        receiver->met_holder = true;
        acquire_granted(engine, receiver, command->first_sent_at, command->lease_ms, token, now);
        count_run(receiver, command->successor, run, run_since);
    } else if (receiver && has_places) {
        fair_not_handed(engine, receiver, released && !placeless, now);
    } else if (receiver) {
        receiver->id = 0;
        receiver->phase = PHASE_PARKED;
        acquire_look(engine, receiver, now);
    } else if (contest && list_is_empty(&contest->queue)) {
        queue_advance(engine, contest, now);
    }
}

/* Whoever is parked at the front looks, where several may go when others had their turn: a lock may be free without a
 * message that says so. */
void queue_look(struct engine *engine, struct contest *contest, int64_t now) {
    struct operation *foremost = queue_foremost(contest);
    if (foremost && is_shared(contest)) {
        contest->sequence++;
        if (contest->yield_until > now) {
            wait_for_others(engine, contest);
        }
        queue_advance(engine, contest, now);
    } else if (foremost && foremost->phase == PHASE_PARKED) {
        acquire_look(engine, foremost, now);
    }
}

/* A release was heard of. `1`, a writer's, is for all who can go together, `0` for the foremost (wire format 1.6): when
 * that one is in, the others follow. */
void queue_told(struct engine *engine, struct contest *contest, int64_t number, int64_t now) {
    struct operation *foremost = queue_foremost(contest);
    bool parked = foremost && foremost->phase == PHASE_PARKED;
    if (!foremost || (!parked && !is_shared(contest))) {
        return;
    }
    if (contest->yielding || contest->yield_until > now) { /* the echo of our own release, ahead of its reply; or not
                                                              before others had their turn, but then */
        yield(engine, contest, now);
    } else if (is_shared(contest) && number != 0) {
        queue_advance(engine, contest, now);
    } else if (parked) {
        acquire_look(engine, foremost, now);
    }
}
