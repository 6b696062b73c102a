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

/* A reply of OTHER_KIND less a kind: the name is held, and its messages are on the channel of that kind. */
static const int64_t OTHER_KIND = -10;

void watch_send(struct engine *engine, struct operation *operation, int64_t now) {
    (void)now;
    struct command *command = take_command(engine, operation);
    if (!INVARIANT(&engine->broken, command)) { /* of its two commands, one at most is not back yet */
        return;
    }
    command->kind = COMMAND_WATCH;
    operation->seen = operation->resource->queue->sequence;
    operation_request(engine, operation, command);
}

void watch_end(struct engine *engine, struct operation *operation, int status, int64_t now) {
    watch_leave(engine, operation, now);
    finish(engine, operation, status);
    if (operation->roles[0]) {
        operation->resource = operation->roles[0]; /* the one that the caller has */
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

/* Moves a watch to the role that a kind has. If there is no such role, or no wait queue for it, the watch stays and
 * rechecks by its timer. */
static void change_role(struct engine *engine, struct operation *operation, int64_t kind, int64_t now) {
    struct resource *role = operation->resource;
    for (int i = 0; i < WATCH_ROLES && operation->roles[i]; i++) {
        role = operation->roles[i]->kind == kind ? operation->roles[i] : role;
    }
    bool notified = operation->seen != operation->resource->queue->sequence;
    watch_leave(engine, operation, now);
    bool moves = role != operation->resource && use_wait_queue_of(engine, operation, role);
    attach_wait_queue(engine, operation);
    watch_join(engine, operation);
    acquire_park(engine, operation, -1, now);
    if (moves || notified) {
        operation->recheck_at = now;
        arm_operation(engine, operation);
    }
}

/* Reads the ms until the name may be free, or FREE. Some kinds are watched by the script of acquires of several names,
 * which replies 0, or 1 and the ms. Returns false if the reply is neither. */
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

/* Lists the watches and sets that are parked. If the name was freed, lists one set only, since each set would take the
 * name. */
static void list_turns(const struct wait_queue *queue, bool freed, struct list *turns) {
    bool one_rechecks = false;
    list_init(turns);
    for (struct list_link *link = list_first(&queue->watchers); link; link = list_next(&queue->watchers, link)) {
        struct operation *operation = container_of(link, struct operation, link);
        bool goes = operation->phase == PHASE_PARKED && !(operation->set && freed && one_rechecks);
        bool requesting = operation->phase == PHASE_REQUESTING;
        one_rechecks = one_rechecks || (operation->set && (goes || requesting));
        if (goes) {
            list_remove(&operation->turn);
            list_append(turns, &operation->turn);
        }
    }
}

/* They are listed first, so that each rechecks once. The recheck of one may end the turn of others: those that have
 * left, or have rechecked meanwhile, do not recheck again. */
static void recheck(struct engine *engine, struct wait_queue *queue, bool freed, int64_t now) {
    struct list turns;
    struct list_link *link;
    list_turns(queue, freed, &turns);
    while ((link = list_pop(&turns)) != NULL) {
        struct operation *operation = container_of(link, struct operation, turn);
        if (operation->phase == PHASE_PARKED) {
            machine_for(engine, operation)->send(engine, operation, now);
        }
    }
}

void watch_recheck_all(struct engine *engine, struct wait_queue *queue, int64_t now) {
    recheck(engine, queue, false, now);
}

void watch_notified(struct engine *engine, struct wait_queue *queue, int64_t now) {
    recheck(engine, queue, true, now);
}
