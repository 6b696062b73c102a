/* Names and their commands follow their slots.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   a command of a name that moved    what becomes of it
 *   not sent, or to be sent again     goes to the new server, in order
 *   sent, no reply yet                redirected by the old server; in doubt when its connection ends
 *   redirected by MOVED               goes to the new server; an abandoned command is dropped
 *   redirected by ASK                 goes to the importer; goes back if that cannot be reached at once
 *   in doubt                          is resolved as after a restart: the new server may have less data than the old
 *                                     one, and no copy on its way to the old one can reach it */
#include "reroute.h"

#include "in_doubt.h"
#include "messages.h"
#include "operations.h"
#include "planted.h"
#include "pools.h"
#include "renewal.h"
#include "routes.h"
#include "wait_queue.h"

/* Two nodes that redirect to each other, or one to itself, are not followed for ever. */
enum { REDIRECTIONS_MAX = 8 };

/* If a name moves again so soon, the nodes do not agree about it: an operation that pauses because of that goes on
 * pausing. */
static const int64_t AGREED_AFTER = 100 * MILLISECOND;

/* Waiters of a name that moves recheck: they may miss a message, or wait for a hold that is lost. */
static void recheck_waiters(struct engine *engine, int64_t now) {
    for (struct list_link *link = list_first(&engine->operations); link; link = list_next(&engine->operations, link)) {
        struct operation *operation = container_of(link, struct operation, all);
        const struct resource *resource = operation->resource;
        bool moves = resource && engine->routes[resource->slot] != resource->server;
        moves = moves && !(operation->phase == PHASE_PAUSED && now < resource->moved_at + AGREED_AFTER);
        if (moves && !PLANTED(FAULT_WAITERS_STAY)) {
            operation_recheck_soon(engine, operation, now);
        }
    }
}

void engine_routes_changed(struct engine *engine, int64_t now) {
    if (engine->broken) {
        return;
    }
    recheck_waiters(engine, now);
    for (uint32_t i = 0; i < engine->resources.bucket_count; i++) {
        struct resource *next;
        for (struct resource *resource = engine->resources.buckets[i]; resource; resource = next) {
            next = resource->next;
            struct server *server = engine->routes[resource->slot];
            if (resource->server == server || PLANTED(FAULT_NAMES_STAY)) {
                continue;
            }
            const struct server *left = resource->server;
            resource->server = server;
            resource->moved_at = PLANTED(FAULT_MOVE_NOT_NOTED) ? 0 : now;
            resource_keep(resource); /* its wait queue may be detached with its last subscription */
            renewal_verify(engine, resource, now);
            if (resource->queue && !PLANTED(FAULT_CHANNELS_STAY)) {
                queue_channels_lost(engine, resource->queue, left, now);
            }
            next = resource->next;
            resource_drop(engine, resource);
        }
    }
}

static bool is_undo(const struct command *command) {
    return command->kind == COMMAND_RELEASE && command->count == 0 && !command->hold && !command->operation;
}

/* Takes those commands off a list whose names are on another server, except those that go to an importer. */
static void take_moved(const struct engine *engine, struct list *list, const struct server *server,
                       struct list *moved) {
    for (struct list_link *link = list_first(list), *next; link; link = next) {
        next = list_next(list, link);
        const struct command *command = container_of(link, const struct command, link);
        bool stays = PLANTED(FAULT_UNDOS_STAY) && is_undo(command);
        if (!command->importing && destination(engine, command) != server && !stays) {
            list_remove(link);
            list_append(moved, link);
        }
    }
}

/* Does with a command in doubt what a planted fault does, instead of resolving it. Returns false without such a
 * fault. */
static bool resolve_wrongly(struct engine *engine, struct command *command) {
    if (PLANTED(FAULT_DOUBT_COUNTS_AS_CARRIED_OUT)) {
        give_command(engine, command);
    } else if (PLANTED(FAULT_DOUBT_COUNTS_AS_REFUSED)) {
        command->was_sent = false;
        command->repeated = false;
        push_command(engine, command);
    }
    return PLANTED(FAULT_DOUBT_COUNTS_AS_CARRIED_OUT) || PLANTED(FAULT_DOUBT_COUNTS_AS_REFUSED);
}

static void reroute(struct engine *engine, struct pipeline *pipeline, int64_t now) {
    struct list in_doubt;
    struct list unsent;
    struct list_link *link;
    list_init(&in_doubt);
    list_init(&unsent);
    if (!PLANTED(FAULT_DOUBT_STAYS)) {
        take_moved(engine, &pipeline->in_doubt, pipeline->server, &in_doubt);
    }
    if (!PLANTED(FAULT_UNSENT_STAYS)) {
        take_moved(engine, &pipeline->unsent, pipeline->server, &unsent);
    }
    while ((link = list_pop(&in_doubt)) != NULL) {
        struct command *command = container_of(link, struct command, link);
        if (!resolve_wrongly(engine, command)) {
            in_doubt_resolve(engine, command, RESOLVED_BY_RESTART, now);
        }
    }
    while ((link = list_pop(&unsent)) != NULL) {
        struct command *command = container_of(link, struct command, link);
        if (in_doubt_before_sent(command)) {
            in_doubt_resolve(engine, command, RESOLVED_BY_RESTART, now);
        } else {
            command->held_since = 0; /* the new node has held nothing back */
            push_command(engine, command);
        }
    }
}

void engine_reroute(struct engine *engine, struct server *server, int64_t now) {
    for (int i = 0; i < PIPELINE_COUNT && !engine->broken; i++) {
        reroute(engine, &server->pipelines[i], now);
    }
}

void engine_importer_failed(struct engine *engine, struct pipeline *importer) {
    for (struct list_link *link = list_first(&importer->unsent), *next; link && !engine->broken; link = next) {
        next = list_next(&importer->unsent, link);
        struct command *command = container_of(link, struct command, link);
        if (command->importing && destination(engine, command) != importer->server) {
            list_remove(link);
            push_command(engine, command);
        }
        command->importing = false; /* of one that stays: the importer serves the slot now, which may change */
    }
}

/* Takes the oldest unanswered command off its pipeline. The command was not run. Returns NULL if it is not sent
 * again. */
static struct command *take_redirected(struct engine *engine, struct pipeline *pipeline, int64_t now) {
    struct command *command = take_oldest_sent(pipeline);
    engine->stats.round_trips++;
    command->redirections++;
    command->was_sent = command->repeated || PLANTED(FAULT_REDIRECTED_COUNTS_AS_SENT);
    if (command->abandoned) {
        in_doubt_resolve(engine, command, RESOLVED_BY_KILL, now);
        return NULL;
    }
    return PLANTED(FAULT_REDIRECTED_IS_DROPPED) ? NULL : command;
}

static bool may_redirect(struct engine *engine, const struct pipeline *pipeline) {
    const struct list_link *link = list_first(&pipeline->sent);
    if (engine->broken || !INVARIANT(&engine->broken, link)) {
        return false;
    }
    const struct command *command = container_of(link, const struct command, link);
    return !is_plain_question(command) &&
           (command->redirections < REDIRECTIONS_MAX || PLANTED(FAULT_REDIRECTED_WITHOUT_END));
}

bool engine_redirected(struct engine *engine, struct pipeline *pipeline, int64_t now) {
    if (!may_redirect(engine, pipeline)) {
        return false;
    }
    struct command *command = take_redirected(engine, pipeline, now);
    if (command && PLANTED(FAULT_REDIRECTED_TO_SAME)) {
        list_append(&pipeline->unsent, &command->link);
    } else if (command) {
        push_command(engine, command);
    }
    return true;
}

bool engine_redirected_to_importer(struct engine *engine, struct pipeline *pipeline, struct server *server,
                                   int64_t now) {
    if (!may_redirect(engine, pipeline)) {
        return false;
    }
    struct command *command = take_redirected(engine, pipeline, now);
    if (command) {
        command->server = server;
        command->importing = !PLANTED(FAULT_IMPORT_UNANNOUNCED);
        if (PLANTED(FAULT_ASK_IS_MOVED) && command->resource) {
            command->resource->server = server;
        }
        list_append(&server->pipelines[command->pipeline].unsent, &command->link);
    }
    return true;
}

bool engine_import_replied(struct pipeline *pipeline) {
    struct list_link *link = list_first(&pipeline->sent);
    struct command *command = link ? container_of(link, struct command, link) : NULL;
    bool taken = command && command->importing;
    if (taken) {
        command->importing = false;
    }
    return taken;
}
