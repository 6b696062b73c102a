/* The watch machine: it waits until a name is free, without acquiring it. Watches are beside the wait queue of their
 * name and share its subscription. Each requests by itself, since no watch gets anything that another would miss.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   phase       event                         next
 *   REQUESTING  free                          DONE (OK)
 *               remaining ms                  PARKED; REQUESTING again if a message came since; DONE (TIMEOUT) if
 *                                             non-blocking
 *               held, as another kind         PARKED on the channel of that kind, then REQUESTING; DONE (TIMEOUT) if
 *                                             non-blocking
 *               transient error               PAUSED; DONE if non-blocking
 *               other error                   DONE
 *   PARKED      message, subscription, timer  REQUESTING
 *   PAUSED      timer                         REQUESTING
  */
#include "watch.h"

#include "machine.h"
#include "numbers.h"
#include "operations.h"
#include "park.h"
#include "pools.h"
#include "wait_queue.h"

static const int64_t FREE = -2;

/* So much less a kind: the name is held, and told of on that kind's channel. */
static const int64_t OTHER_KIND = -10;

void watch_send(struct engine *engine, struct operation *operation, int64_t now) {
    (void)now;
    struct command *command = take_command(engine, operation);
    command->kind = COMMAND_WATCH;
    operation->seen = operation->resource->queue->sequence;
    operation_request(engine, operation, command);
}

void watch_end(struct engine *engine, struct operation *operation, int status, int64_t now) {
    watch_leave(engine, operation, now);
    finish(engine, operation, status);
    if (operation->roles[0]) {
        operation->resource = operation->roles[0]; /* which the caller has, too */
    }
    for (int i = 0; i < WATCH_ROLES && operation->roles[i]; i++) {
        resource_drop(engine, operation->roles[i]);
        operation->roles[i] = NULL;
    }
}

void watch_begin(struct engine *engine, struct operation *operation, int64_t now) {
    attach_wait_queue(engine, operation);
    watch_join(engine, operation);
    watch_send(engine, operation, now);
}

/* Goes to where a name of that kind is told of; stays where there is no such place, or no memory for one, and looks
 * now and then. */
static void change_role(struct engine *engine, struct operation *operation, int64_t kind, int64_t now) {
    struct resource *role = operation->resource;
    for (int i = 0; i < WATCH_ROLES && operation->roles[i]; i++) {
        role = operation->roles[i]->kind == kind ? operation->roles[i] : role;
    }
    watch_leave(engine, operation, now);
    bool moves = role != operation->resource && use_wait_queue_of(engine, operation, role);
    attach_wait_queue(engine, operation);
    watch_join(engine, operation);
    acquire_park(engine, operation, -1, now);
    if (moves) {
        operation->recheck_at = now;
        arm_operation(engine, operation);
    }
}

/* What is left until the name may be free; one that is watched as a kind of its own answers as an acquire of several
 * does: 0, or 1 and the ms. */
static bool read_answer(const struct reply *reply, int64_t *left_ms_out) {
    const struct reply *elements = reply->elements;
    if (reply->kind != REPLY_ARRAY) {
        *left_ms_out = server_ms(reply->integer);
        return reply->kind == REPLY_INTEGER;
    }
    bool free = reply->count == 1;
    *left_ms_out = reply->count == 2 ? server_ms(elements[1].integer) : FREE;
    return (free || reply->count == 2) && elements[0].kind == REPLY_INTEGER && elements[0].integer == !free;
}

void watch_result(struct engine *engine, struct operation *operation, struct command *command,
                  const struct reply *reply, int64_t now) {
    (void)command;
    int64_t left_ms;
    if (!read_answer(reply, &left_ms)) {
        watch_end(engine, operation, REDLATCH_PROTOCOL, now);
    } else if (left_ms == FREE) {
        watch_end(engine, operation, REDLATCH_OK, now);
    } else if (operation->non_blocking) {
        watch_end(engine, operation, REDLATCH_TIMEOUT, now);
    } else if (left_ms < OTHER_KIND) {
        operation->contended = true;
        change_role(engine, operation, OTHER_KIND - left_ms, now);
    } else {
        operation->contended = true;
        acquire_park(engine, operation, left_ms, now);
        if (operation->seen != operation->resource->queue->sequence) {
            operation->recheck_at = now;
            arm_operation(engine, operation);
        }
    }
}

/* Whoever is parked looks at once; of those that would take the name with others, one is enough if it was freed. One of
 * these that does not ask has left, and others may have left with it, so that the list is begun anew then: who has
 * looked is not parked. */
static void recheck(struct engine *engine, struct wait_queue *queue, bool freed, int64_t now) {
    bool one_rechecks = false;
    struct list_link *link = list_first(&queue->watchers);
    while (link) {
        struct operation *operation = container_of(link, struct operation, link);
        bool goes = operation->phase == PHASE_PARKED && !(operation->set && freed && one_rechecks);
        bool requesting = operation->phase == PHASE_REQUESTING;
        one_rechecks = one_rechecks || (operation->set && (goes || requesting));
        if (goes) {
            machine_for(engine, operation)->send(engine, operation, now);
        }
        bool stands = !goes || (operation->phase == PHASE_REQUESTING && list_is_linked(link));
        link = stands ? list_next(&queue->watchers, link) : list_first(&queue->watchers);
    }
}

void watch_recheck_all(struct engine *engine, struct wait_queue *queue, int64_t now) {
    recheck(engine, queue, false, now);
}

void watch_notified(struct engine *engine, struct wait_queue *queue, int64_t now) {
    recheck(engine, queue, true, now);
}
