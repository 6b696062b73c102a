/* The engine's front: operations begin and end here, pipelines carry commands, timers fire.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine.h"

#include <string.h>

#include "acknowledgement.h"
#include "acquire_steps.h"
#include "change.h"
#include "error_reply.h"
#include "hand_over.h"
#include "hold.h"
#include "hold_command.h"
#include "hold_end.h"
#include "in_doubt.h"
#include "kinds.h"
#include "known_scripts.h"
#include "machine.h"
#include "machines.h"
#include "messages.h"
#include "operation_record.h"
#include "operations.h"
#include "planted.h"
#include "pools.h"
#include "refresh.h"
#include "renewal.h"
#include "reroute.h"
#include "routes.h"
#include "semaphore_permits.h"
#include "set_release.h"
#include "single_command.h"
#include "wait_queue.h"

void server_init(struct server *server) {
    memset(server, 0, sizeof *server);
    for (int i = 0; i < PIPELINE_COUNT; i++) {
        struct pipeline *pipeline = &server->pipelines[i];
        pipeline->server = server;
        pipeline->role = (enum pipeline_role)i;
        list_init(&pipeline->unsent);
        list_init(&pipeline->sent);
        list_init(&pipeline->in_doubt);
    }
    list_init(&server->subscription_changes);
    list_init(&server->stale_channels);
}

void server_set_sharding(struct server *server, bool shards_messages) {
    bool same = server->shards_messages == shards_messages;
    server->leave_is_known = server->leave_is_known && same; /* else the script has another text */
    server->shards_messages = shards_messages;
}

void engine_init(struct engine *engine, struct server *server, const struct engine_settings *settings, const char *uuid,
                 uint64_t random) {
    memset(engine, 0, sizeof *engine);
    server_init(server);
    engine->server = server;
    engine->machines = &machines;
    engine->settings = *settings;
    memcpy(engine->uuid, uuid, 36);
    engine->random = random | 1;
    list_init(&engine->operations);
    for (int i = 0; i < OWNER_CHAINS; i++) {
        list_init(&engine->holds_of[i]);
    }
    list_init(&engine->wait_queues);
    list_init(&engine->finished);
    list_init(&engine->command_pool);
    list_init(&engine->wait_queue_pool);
    list_init(&engine->batch_pool);
    list_init(&engine->entries_pool);
    for (int i = 0; i < LOSS_QUEUES; i++) {
        engine->losses_end[i] = &engine->losses[i];
    }
}

/* ------------------------------------------------------------------------------------------------- operations -- */

static bool is_brief(const struct operation *operation, int64_t now) {
    bool waits = operation->kind == OPERATION_ACQUIRE || operation->kind == OPERATION_WATCH;
    return waits && !operation->non_blocking && operation->wait_until != NEVER &&
           operation->wait_until - now < BRIEF_WAIT;
}

/* Returns whether an operation is an acquire that does not re-enter, or a watch. */
static bool has_machine(const struct operation *operation) {
    return (operation->kind == OPERATION_ACQUIRE && (!operation->hold || operation->set)) ||
           operation->kind == OPERATION_WATCH;
}

void engine_end_broken(struct engine *engine) {
    struct list_link *link;
    while ((link = list_pop(&engine->operations)) != NULL) {
        struct operation *operation = container_of(link, struct operation, all);
        timer_disarm(&engine->timers, &operation->timer);
        list_remove(&operation->link);
        operation->command = NULL;
        operation->hold = NULL;
        operation->phase = PHASE_DONE;
        operation->status = REDLATCH_INTERNAL;
        list_append(&engine->finished, &operation->link);
    }
}

static void start_acquire(struct engine *engine, struct operation *operation, int64_t now) {
    struct hold *hold = NULL;
    if (!operation->set) {
        hold = hold_of_owner(engine, operation->resource, operation->lock_kind, operation->owner, now);
    }
    if (hold) {
        hold_acquire(engine, hold, operation, now);
    } else {
        machine_for(engine, operation)->begin(engine, operation, now);
    }
}

void engine_start(struct engine *engine, struct operation *operation, int64_t now) {
    if (engine->broken) {
        list_append(&engine->operations, &operation->all);
        engine_end_broken(engine);
        return;
    }
    if (operation->set) {
        operation->resource = operation->set->members[0].resource;
    }
    operation->timer.kind = TIMER_OPERATION;
    operation->phase = PHASE_NEW;
    operation->started_at = now;
    operation->brief = is_brief(operation, now);
    list_append(&engine->operations, &operation->all);
    reserve_for(engine, operation);
    if (engine->broken) {
        return;
    }
    switch (operation->kind) {
    case OPERATION_ACQUIRE:
        start_acquire(engine, operation, now);
        break;
    case OPERATION_RELEASE:
        if (operation->set) {
            set_release(engine, operation, now);
        } else {
            hold_release(engine, operation, now);
        }
        break;
    case OPERATION_EXTEND:
        hold_extend(engine, operation, now);
        break;
    case OPERATION_FORCE:
        single_begin(engine, operation, COMMAND_FORCE);
        break;
    case OPERATION_INSPECT:
        single_begin(engine, operation, COMMAND_INSPECT);
        break;
    case OPERATION_RELEASE_OWNER:
        single_begin(engine, operation, COMMAND_RELEASE_OWNER);
        break;
    case OPERATION_EXTEND_OWNER:
        single_begin(engine, operation, COMMAND_EXTEND_OWNER);
        break;
    case OPERATION_WATCH:
        machine_for(engine, operation)->begin(engine, operation, now);
        break;
    case OPERATION_CHANGE:
        change_begin(engine, operation, now);
        break;
    default:
        single_begin(engine, operation, COMMAND_QUERY);
        break;
    }
}

/* Returns the command that an operation waits for: its own, or the hand-over whose receiver it is. */
static const struct command *awaited_command(const struct operation *operation) {
    return operation->phase == PHASE_HANDED ? operation->resource->queue->handing : operation->command;
}

/* Returns the status that says why the caller's deadline passed. */
static int timeout_status(const struct operation *operation) {
    const struct command *command = awaited_command(operation);
    bool may_have_executed = command && command->was_sent;
    if (operation->transient_error <=
        REDLATCH_SERVER) { /* the server's error reply says why, even if another request is in flight */
        return operation->transient_error;
    }
    if (operation
            ->transient_error) { /* what was sent may have run, even if an attempt to connect has failed since then */
        return may_have_executed ? REDLATCH_NO_REPLY : operation->transient_error;
    }
    if (operation->brief) {
        return REDLATCH_TIMEOUT;
    }
    if (operation->phase == PHASE_WAITING && !operation->contended) {
        return REDLATCH_UNREACHABLE; /* it waits for a command of its owner's own hold, not for others */
    }
    if (operation->phase == PHASE_QUEUED && !operation->contended) {
        return queue_timeout_status(operation->resource->queue);
    }
    if (operation->contended || !operation->command) {
        return REDLATCH_TIMEOUT;
    }
    if (command && command->held_since && !may_have_executed) {
        return REDLATCH_NOT_REPLICATED;
    }
    return may_have_executed ? REDLATCH_NO_REPLY : REDLATCH_UNREACHABLE;
}

void engine_abort(struct engine *engine, struct operation *operation, int status, int64_t now) {
    if (operation->phase == PHASE_DONE || engine->broken) {
        return;
    }
    if (status == REDLATCH_TIMEOUT) {
        status = timeout_status(operation);
        operation->unanswered = status == REDLATCH_TIMEOUT && !operation->contended && awaited_command(operation);
    }
    if (operation->kind == OPERATION_RELEASE && operation->set) {
        set_release_abort(engine, operation, status, now);
    } else if (has_machine(operation)) {
        machine_for(engine, operation)->abort(engine, operation, status, now);
    } else if (operation->kind == OPERATION_CHANGE) {
        change_abort(engine, operation, status, now);
    } else if (operation->kind == OPERATION_FORCE || operation->kind == OPERATION_QUERY ||
               operation->kind == OPERATION_INSPECT || operation->kind == OPERATION_RELEASE_OWNER ||
               operation->kind == OPERATION_EXTEND_OWNER) {
        single_abort(engine, operation, status);
    } else {
        hold_abort(engine, operation, status, now);
    }
}

/* ----------------------------------------------------------------------------------------------------- timers -- */

static void operation_timer(struct engine *engine, struct operation *operation, int64_t now) {
    if (operation->unclaimed) {
        semaphore_unclaimed(engine, operation, REDLATCH_UNCLAIMED);
        return;
    }
    bool unusable = operation->unusable_since &&
                    now - operation->unusable_since >= engine->settings.unreachable_timeout_ms * MILLISECOND;
    if ((operation->asynchronous && now >= operation->wait_until) || unusable) {
        engine_abort(engine, operation, REDLATCH_TIMEOUT, now);
    } else if (has_machine(operation)) {
        acquire_timer(engine, operation, now);
    } else {
        arm_operation(engine, operation);
    }
}

int64_t engine_next_timer(const struct engine *engine) {
    return timer_heap_next(&engine->timers);
}

void engine_run_timers(struct engine *engine, int64_t now) {
    struct timer *timer;
    while (!engine->broken && (timer = timer_heap_pop(&engine->timers, now)) != NULL) {
        switch (timer->kind) {
        case TIMER_HOLD:
            hold_timer(engine, container_of(timer, struct hold, timer), now);
            break;
        case TIMER_OPERATION:
            operation_timer(engine, container_of(timer, struct operation, timer), now);
            break;
        case TIMER_WAIT_QUEUE:
            wait_queue_timer(engine, container_of(timer, struct wait_queue, timer), now);
            break;
        case TIMER_REFRESH:
            refresh_waiters(engine, container_of(timer, struct wait_queue, refresh), now);
            break;
        default:
            push_command(engine, container_of(timer, struct command, timer));
            break;
        }
    }
}

/* ------------------------------------------------------------------------------------------------------ pipelines --
 */

/* Returns whether a command is written from memory of its caller. After the caller gave up, that memory may be gone. */
static bool is_of_caller(const struct command *command) {
    return command->kind == COMMAND_INSPECT || command->kind == COMMAND_RELEASE_OWNER ||
           command->kind == COMMAND_EXTEND_OWNER;
}

/* Returns whether a command was abandoned, and so must not be sent again. */
static bool is_dropped(const struct command *command) {
    return command->abandoned && (!PLANTED(FAULT_ABANDONED_IS_RESENT) || is_of_caller(command));
}

struct command *engine_first_to_send(struct engine *engine, struct pipeline *pipeline, int64_t now) {
    const struct list *unsent = &pipeline->unsent;
    struct list_link *link = engine->broken ? NULL : list_first(unsent);
    while (link) {
        struct command *command = container_of(link, struct command, link);
        link = list_next(unsent, link);
        if (command->kind == COMMAND_HAND_OVER && !receiver_of(command)) {
            hand_over_to_nobody(engine, command, now);
        }
        if (is_dropped(command)) {
            give_command(engine, command); /* it was abandoned while it waited to be sent again */
        } else if (!is_held_back(engine, command)) {
            known_scripts_prepare(engine, command);
            return command;
        }
    }
    return NULL;
}

struct command *engine_next_to_send(struct engine *engine, struct pipeline *pipeline, int64_t now) {
    struct command *command = engine_first_to_send(engine, pipeline, now);
    if (!command) {
        return NULL;
    }
    list_remove(&command->link);
    record_sent(engine, command);
    if (command->was_sent) {
        command->repeated = true;
    } else {
        command->was_sent = true;
        command->first_sent_at = now;
    }
    command->sent_at = now;
    command->needs_acknowledgement = command_needs_acknowledgement(engine, command);
    list_append(&pipeline->sent, &command->link);
    pipeline->in_flight++;
    pipeline->unconfirmed += is_unawaited_release(command);
    engine->stats.scripts++;
    return command;
}

/* If the server does not have the script, sends the command again as text and returns true. An abandoned command is not
 * sent again. */
static bool sent_as_text(struct engine *engine, struct command *command, const struct reply *reply) {
    if (reply->kind != REPLY_ERROR || command->as_text || command->abandoned ||
        !error_reply_of(reply->text, reply->size).no_script) {
        return false;
    }
    command->as_text = true;
    command->was_sent = command->repeated; /* this sending did nothing */
    engine->stats.script_loads++;
    list_prepend(&command->server->pipelines[command->pipeline].unsent, &command->link);
    return true;
}

/* Keeps the text of an error reply for the caller if the status alone does not say what has to be repaired, such as
 * which permission the user lacks. */
static void note_error_text(struct operation *operation, const struct reply *reply) {
    if (reply->kind != REPLY_ERROR || !operation || !operation->answer) {
        return;
    }
    int status = error_reply_of(reply->text, reply->size).status;
    if (status != REDLATCH_NO_PERMISSION && status != REDLATCH_SERVER && status != REDLATCH_UNSUPPORTED &&
        status != REDLATCH_NOT_WRITABLE) {
        return;
    }
    char *text = operation->answer->error_text;
    size_t size = reply->size < ERROR_TEXT_SIZE ? reply->size : ERROR_TEXT_SIZE - 1;
    for (size_t i = 0; i < size; i++) {
        text[i] = reply->text[i] >= ' ' && reply->text[i] <= '~' ? reply->text[i] : '.';
    }
    text[size] = '\0';
}

/* The most bytes of a reply. REPLY_SIZE_MAX is enough for numbers, a hundred tokens or an error. REPORTS_SIZE_MAX is
 * for a page of reports, whose names inspect.lua bounds, and for CLIENT LIST. */
enum { REPLY_SIZE_MAX = 1 << 16, REPORTS_SIZE_MAX = 1 << 24 };

/* Returns the inspection whose reply is next, or NULL if the next reply is to another command. */
static const struct command *next_question(const struct pipeline *pipeline) {
    const struct list_link *oldest = list_first(&pipeline->sent);
    const struct command *command = oldest ? container_of(oldest, const struct command, link) : NULL;
    return command && command->kind == COMMAND_INSPECT ? command : NULL;
}

size_t engine_reply_size_max(const struct pipeline *pipeline) {
    return next_question(pipeline) ? REPORTS_SIZE_MAX : REPLY_SIZE_MAX;
}

bool engine_reply_is_optional(const struct pipeline *pipeline) {
    const struct command *command = next_question(pipeline);
    return command && (!command->operation || is_plain_question(command));
}

void engine_reply_unreadable(struct engine *engine, struct pipeline *pipeline, int64_t now) {
    const struct command *command = next_question(pipeline);
    if (command && is_plain_question(command)) {
        engine_abort(engine, command->operation, REDLATCH_PROTOCOL, now);
    }
}

/* Hands a reply to the machine of its command. The machine may keep the command, to send it again at once or later. */
static void hand_reply(struct engine *engine, struct command *command, const struct reply *reply, int64_t now) {
    command->redirections = 0;
    engine->machines->of_command[command->kind].replied(engine, command, reply, now);
    if (!list_is_linked(&command->link) && !timer_is_armed(&command->timer)) {
        give_command(engine, command);
    }
}

/* Ends a command that was not sent, with NOTREPLICATED in place of a reply. */
static void refuse(struct engine *engine, struct command *command, int64_t now) {
    static const struct reply late = {.kind = REPLY_ERROR, .text = NOT_REPLICATED, .size = sizeof NOT_REPLICATED - 1};
    list_remove(&command->link);
    command->held_since = 0;
    command->operation->acknowledged = 0;
    hand_reply(engine, command, &late, now);
}

void engine_refuse_late(struct engine *engine, struct server *server, int64_t now) {
    for (int i = 0; i < PIPELINE_COUNT && engine_wants_acknowledgements(engine); i++) {
        struct command *command;
        struct pipeline *pipeline = &server->pipelines[i];
        while ((command = engine_first_to_send(engine, pipeline, now)) && is_late(engine, command, now)) {
            refuse(engine, command, now);
        }
    }
}

/* Returns CLUSTERDOWN, a transient error, in place of a redirection that the driver does not follow: the nodes do not
 * agree yet where the name is, or a node does not say where. Returns any other reply as it is, and any to a plain
 * question, whose node the host has chosen. */
static const struct reply *followed_reply(const struct engine *engine, const struct command *command,
                                          const struct reply *reply) {
    static const char text[] = "CLUSTERDOWN the nodes do not agree who serves the slot";
    static const struct reply not_followed = {.kind = REPLY_ERROR, .text = text, .size = sizeof text - 1};
    bool redirects = engine->routes && reply->kind == REPLY_ERROR && is_redirection(reply->text, reply->size);
    redirects = redirects && !is_plain_question(command);
    return redirects && !PLANTED(FAULT_REDIRECTION_RETURNED) ? &not_followed : reply;
}

void engine_replied(struct engine *engine, struct pipeline *pipeline, const struct reply *reply, int64_t now) {
    struct list_link *link = list_first(&pipeline->sent);
    if (engine->broken || !INVARIANT(&engine->broken, link)) {
        return;
    }
    struct command *command = take_oldest_sent(pipeline);
    engine->stats.round_trips++;
    if (command->kind == COMMAND_RELEASE && kind_of(command->resource)->queues_on_server) {
        command->server->leave_is_known = reply->kind == REPLY_INTEGER;
    }
    known_scripts_replied(engine, command, reply);
    if (sent_as_text(engine, command, reply)) {
        return;
    }
    reply = followed_reply(engine, command, reply);
    struct reply error;
    reply = acknowledged_reply(engine, command, reply, &error);
    note_error_text(command->operation, reply);
    record_answered(command, reply);
    hand_reply(engine, command, reply, now);
}

void engine_pipeline_lost(struct engine *engine, struct pipeline *pipeline, int64_t now) {
    if (engine->broken) {
        return;
    }
    struct list_link *link;
    while ((link = list_pop(&pipeline->sent)) != NULL) {
        struct command *command = container_of(link, struct command, link);
        list_append(&pipeline->in_doubt, link);
        command->held_since = 0;
        command->importing = false; /* the reply to its ASKING will not come */
        if (command->operation) {
            operation_unusable(engine, command->operation, REDLATCH_NO_REPLY, command->sent_at);
        }
        struct operation *receiver = receiver_of(command);
        if (receiver) {
            operation_unusable(engine, receiver, REDLATCH_NO_REPLY, command->sent_at);
        }
    }
    pipeline->in_flight = 0;
    pipeline->unconfirmed = 0;
    pipeline->awaited = 0;
    engine_hold_back_nothing(pipeline);
    known_scripts_forget(pipeline->server);
    renewal_verify_soon(engine, pipeline->server, now);
}

void engine_pipeline_ready(struct engine *engine, struct pipeline *pipeline, enum resolution how, int64_t now) {
    if (engine->broken) {
        return;
    }
    struct list later;
    list_init(&later);
    struct list_link *link;
    pipeline->server->kill_denied = pipeline->server->kill_denied || how == RESOLUTION_DENIED;
    if (!PLANTED(FAULT_OLD_ASK_IS_FOLLOWED)) {
        engine_importer_failed(engine, pipeline);
    }
    while ((link = list_pop(&pipeline->unsent)) != NULL) {
        struct command *command = container_of(link, struct command, link);
        in_doubt_resolve_unsent(engine, command, how, now);
        list_append(in_doubt_before_sent(command) ? &pipeline->in_doubt : &later, link);
    }
    while ((link = list_pop(&pipeline->in_doubt)) != NULL) {
        in_doubt_resolve(engine, container_of(link, struct command, link), how, now);
    }
    while ((link = list_pop(&later)) != NULL) {
        list_append(&pipeline->unsent, link);
    }
    if (how == RESOLVED_BY_RESTART) {
        renewal_verify_all(engine, pipeline->server, now);
    }
}

static bool waits_for_server(const struct operation *operation, const struct command *command) {
    bool waits = operation->kind == OPERATION_ACQUIRE || operation->kind == OPERATION_WATCH;
    return operation->kind == OPERATION_RELEASE || change_goes_on(operation) || (waits && !operation->non_blocking) ||
           command->was_sent;
}

/* Forgets inspections in doubt that nobody waits for. No route leads them to another server, so they would keep the
 * connections of a node that has left the cluster alive. */
static void drop_abandoned_inspections(struct engine *engine, struct pipeline *pipeline) {
    for (struct list_link *link = list_first(&pipeline->in_doubt), *next; link; link = next) {
        next = list_next(&pipeline->in_doubt, link);
        struct command *command = container_of(link, struct command, link);
        if (command->kind == COMMAND_INSPECT && command->abandoned) {
            list_remove(link);
            give_command(engine, command);
        }
    }
}

void engine_pipeline_failed(struct engine *engine, struct pipeline *pipeline, int status, bool passes, int64_t now) {
    if (engine->broken) {
        return;
    }
    struct list under_way;
    struct list_link *link;
    list_take_all(&engine->operations, &under_way);
    while ((link = list_pop(&under_way)) != NULL) { /* if one ends, others may end with it and leave this list */
        struct operation *operation = container_of(link, struct operation, all);
        list_append(&engine->operations, link);
        const struct command *command = awaited_command(operation);
        if (engine->broken || !command || command->server != pipeline->server || command->pipeline != pipeline->role) {
            continue;
        }
        operation_unusable(engine, operation, status, now);
        if (!passes || !waits_for_server(operation, command)) {
            engine_abort(engine, operation, status, now);
        }
    }
    drop_abandoned_inspections(engine, pipeline);
}

void engine_refused_by_replica(struct engine *engine, struct pipeline *pipeline) {
    struct list_link *link = list_first(&pipeline->sent);
    if (engine->broken || !INVARIANT(&engine->broken, link)) {
        return;
    }
    struct command *command = container_of(link, struct command, link);
    if (command->abandoned) {
        return; /* it will be in doubt, as will the commands behind it */
    }
    take_oldest_sent(pipeline);
    command->was_sent = command->repeated;
    list_prepend(&pipeline->unsent, link);
}

void engine_server_changed(struct engine *engine, struct server *server, int64_t now) {
    if (engine->broken) {
        return;
    }
    server->since = now;
    renewal_verify_all(engine, server, now);
    for (struct list_link *link = list_first(&engine->operations); link; link = list_next(&engine->operations, link)) {
        struct operation *operation = container_of(link, struct operation, all);
        if (has_machine(operation) && server_of(engine, operation->resource) == server &&
            !PLANTED(FAULT_WAITERS_NOT_MOVED)) {
            operation_recheck_soon(engine, operation, now);
        }
    }
}
