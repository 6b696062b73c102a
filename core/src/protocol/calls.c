/* Where the waiters of a fair lock are called: each has a channel of its own, and the foremost few of a process listen,
 * so that the next one does before its turn comes. Channels of those that left are unsubscribed from when their room is
 * needed, or when nobody waits any more. SPDX-License-Identifier: Apache-2.0 */
#include "planted.h"
#include "steps.h"

static void forget(struct subscription *call) {
    list_remove(&call->link);
    list_remove(&call->sent);
    call->state = SUBSCRIPTION_NONE;
    call->waiter = 0;
    call->was_active = false;
}

/* Room for a further channel; NULL until one that was left is confirmed. */
static struct subscription *find_room(struct engine *engine, struct contest *contest) {
    for (int i = 0; i < CALLS; i++) {
        if (contest->calls[i].state == SUBSCRIPTION_NONE) {
            return &contest->calls[i];
        }
    }
    calls_hushed(engine, contest);
    return NULL;
}

/* Whether one of the first `count` waiters that have a place does not listen yet. */
static bool some_do_not(const struct contest *contest, int count) {
    struct list_link *link = list_first(&contest->queue);
    for (; link && count > 0; link = list_next(&contest->queue, link), count--) {
        const struct operation *operation = container_of(link, struct operation, link);
        if (operation->placed && !operation->call) {
            return true;
        }
    }
    return false;
}

/* Has the foremost listen: all that there is room for, if one of the first `near` does not. As waiters go, the next
 * ones begin to listen several at a time, which spares the thread that listens most of its work. */
void calls_listen(struct engine *engine, struct contest *contest, int near) {
    if (!some_do_not(contest, near)) {
        return;
    }
    struct list_link *link = list_first(&contest->queue);
    for (int i = 0; link && i < CALLED_WAITERS; link = list_next(&contest->queue, link), i++) {
        struct operation *operation = container_of(link, struct operation, link);
        struct subscription *call = operation->placed && !operation->call ? find_room(engine, contest) : NULL;
        if (call) {
            call->waiter = operation->id;
            call->listener = operation;
            operation->call = call;
            subscription_want(engine, call);
        }
    }
}

/* The waiter is gone, or will have another number. */
void calls_drop(struct engine *engine, struct operation *operation) {
    struct subscription *call = operation->call;
    (void)engine;
    if (!call) {
        return;
    }
    operation->call = NULL;
    call->listener = NULL;
    bool unsent = call->state == SUBSCRIPTION_WANTED && list_is_linked(&call->link);
    if (unsent || call->state == SUBSCRIPTION_DENIED) {
        forget(call);
    }
}

/* Leaves the channels of those that are gone; whether all have been left. */
bool calls_hushed(struct engine *engine, struct contest *contest) {
    bool hushed = true;
    for (int i = 0; i < CALLS; i++) {
        struct subscription *call = &contest->calls[i];
        if (!call->listener && call->state == SUBSCRIPTION_ACTIVE) {
            subscription_leave(engine, call);
        }
        hushed = hushed && call->state == SUBSCRIPTION_NONE;
    }
    return hushed;
}

/* A channel has been left, or was lost with its connection and nobody wants it again. */
void calls_free(struct engine *engine, struct subscription *call, int64_t now) {
    struct contest *contest = call->contest;
    forget(call);
    if (list_is_empty(&contest->queue)) {
        queue_go_idle(engine, contest, now);
    } else {
        calls_listen(engine, contest, CALLED_WAITERS / 2);
    }
}

/* The channel is heard from now on, or can not be: a call may have been missed, unless this process holds the lock. */
void calls_look(struct engine *engine, struct subscription *call, int64_t now) {
    struct operation *operation = call->listener;
    if (!operation && call->state == SUBSCRIPTION_ACTIVE) {
        subscription_leave(engine, call);
    } else if (!operation) {
        calls_free(engine, call, now);
    } else if (queue_foremost(call->contest) == operation && !resource_live_hold(call->contest->resource)) {
        operation->called = true;
        if (operation->phase == PHASE_PARKED) {
            acquire_look(engine, operation, now);
        }
    }
}

/* This process has forced the release: the call of the head may have come before its channel was heard, and who held
 * the lock here does not release it any more. */
void calls_forced(struct engine *engine, struct contest *contest, int64_t now) {
    struct operation *operation = queue_foremost(contest);
    if (operation) {
        operation->called = true;
        if (operation->phase == PHASE_PARKED) {
            acquire_look(engine, operation, now);
        }
    }
}

/* A waiter is called: it stands at the head of the server's queue, whatever this process believes. */
void calls_told(struct engine *engine, struct subscription *call, int64_t now) {
    struct operation *operation = call->listener;
    if (!operation) {
        return;
    }
    operation->called = true;
    if (operation->phase == PHASE_PARKED) {
        list_remove(&operation->link);
        list_prepend(&call->contest->queue, &operation->link);
        acquire_look(engine, operation, now);
    }
}
