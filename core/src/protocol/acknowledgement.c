/* Acknowledgements by replicas and by the disk.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   reply to the script   replies to WAIT and WAITAOF     what the machine gets
 *   grants nothing        any                             the reply
 *   grants                enough, in time                 the reply
 *   grants                too few                         NOTREPLICATED, a transient error
 *   grants                no permission, or unsupported   that error
 *   grants                another error, as of a replica  NOTREPLICATED
 *   of a renewal          any                             the reply
 *
 * The error says that the script ran, so each machine undoes what it undoes after any error of a script that ran. */
#include "acknowledgement.h"

#include <string.h>

#include "error_reply.h"
#include "planted.h"
#include "wire.h"

bool operation_needs_acknowledgement(const struct engine *engine, const struct operation *operation) {
    return engine_wants_acknowledgements(engine) &&
           (operation->kind == OPERATION_ACQUIRE || operation->kind == OPERATION_EXTEND ||
            (operation->kind == OPERATION_CHANGE &&
             (operation->change == SEMAPHORE_DRAIN || operation->change == PERMITS_EXTEND)));
}

bool command_needs_acknowledgement(const struct engine *engine, const struct command *command) {
    if (!engine_wants_acknowledgements(engine)) {
        return false;
    }
    switch ((enum command_kind)command->kind) {
    case COMMAND_ACQUIRE:
    case COMMAND_ACQUIRE_MANY:
    case COMMAND_REENTER:
    case COMMAND_EXTEND:
    case COMMAND_MOVE:
    case COMMAND_RENEW:
        return true;
    case COMMAND_CHANGE:
        return command->change == SEMAPHORE_DRAIN || command->change == PERMITS_EXTEND;
    default:
        return false;
    }
}

bool is_held_back(const struct engine *engine, const struct command *command) {
    if (!command_needs_acknowledgement(engine, command)) {
        return false;
    }
    const struct pipeline *pipeline = &command->server->pipelines[command->pipeline];
    bool waits = pipeline->awaited > 0;
    for (struct list_link *link = list_first(&pipeline->sent); link && !waits;
         link = list_next(&pipeline->sent, link)) {
        waits = container_of(link, const struct command, link)->needs_acknowledgement;
    }
    return waits;
}

void engine_hold_back(struct engine *engine, const struct pipeline *pipeline, int64_t now) {
    const struct list *unsent = &pipeline->unsent;
    struct list_link *link = engine_wants_acknowledgements(engine) ? list_first(unsent) : NULL;
    for (; link; link = list_next(unsent, link)) {
        struct command *command = container_of(link, struct command, link);
        if (command->held_since == 0 && is_held_back(engine, command)) {
            command->held_since = now;
        }
    }
}

void engine_hold_back_nothing(const struct pipeline *pipeline) {
    for (struct list_link *link = list_first(&pipeline->unsent); link; link = list_next(&pipeline->unsent, link)) {
        container_of(link, struct command, link)->held_since = 0;
    }
}

/* Returns for how long a command was held back. This is 0 for a command without an operation, such as a renewal: it has
 * the whole timeout in any case. */
static int64_t waited_ms(const struct command *command, int64_t now) {
    return command->held_since && command->operation ? (now - command->held_since) / MILLISECOND : 0;
}

bool is_late(const struct engine *engine, const struct command *command, int64_t now) {
    return !command->was_sent && waited_ms(command, now) >= engine->settings.replica_timeout_ms && command->held_since;
}

int64_t acknowledgement_timeout_ms(const struct engine *engine, const struct command *command) {
    int64_t left_ms = engine->settings.replica_timeout_ms - waited_ms(command, command->sent_at);
    return left_ms > 1 ? left_ms : 1; /* 0 would mean no timeout */
}

/* Returns whether a reply grants what was requested, or confirms a lease. */
static bool grants(const struct command *command, const struct reply *reply) {
    switch ((enum command_kind)command->kind) {
    case COMMAND_ACQUIRE:
        if (command->record_key) { /* of a semaphore: the number of permits */
            return reply->kind == REPLY_INTEGER && reply->integer > 0;
        }
        return reply->kind == REPLY_NIL || reply->kind == REPLY_STRING;
    case COMMAND_ACQUIRE_MANY:
        return reply->kind == REPLY_ARRAY && reply->count > 0 && reply->elements[0].kind == REPLY_INTEGER &&
               reply->elements[0].integer == 0;
    case COMMAND_RENEW:
        return reply->kind == REPLY_ARRAY;
    default:
        return reply->kind == REPLY_INTEGER && reply->integer != 0;
    }
}

static const struct command *oldest_sent(const struct pipeline *pipeline) {
    const struct list_link *oldest = list_first(&pipeline->sent);
    return oldest ? container_of(oldest, const struct command, link) : NULL;
}

uint32_t engine_acknowledgements_follow(const struct engine *engine, const struct pipeline *pipeline) {
    const struct command *command = oldest_sent(pipeline);
    if (!command || !command->needs_acknowledgement) {
        return 0;
    }
    return (uint32_t)(engine->settings.min_replicas > 0) + engine->settings.durable;
}

bool engine_keeps_reply(const struct pipeline *pipeline, const struct reply *reply) {
    const struct command *command = oldest_sent(pipeline);
    return command && command->needs_acknowledgement && grants(command, reply);
}

/* Notes an error reply. Its text goes into messages, so characters that are not printable ASCII become dots. */
static void take_error(struct acknowledgement *acknowledgement, const struct reply *reply) {
    size_t size = reply->size < ERROR_TEXT_SIZE ? reply->size : ERROR_TEXT_SIZE - 1;
    for (size_t i = 0; i < size; i++) {
        acknowledgement->error_text[i] = reply->text[i] >= ' ' && reply->text[i] <= '~' ? reply->text[i] : '.';
    }
    acknowledgement->error_text[size] = '\0';
    acknowledgement->status = error_of_reply(reply).status;
}

void acknowledgement_begin(struct acknowledgement *acknowledgement) {
    if (!PLANTED(FAULT_EARLIER_ACKNOWLEDGEMENT)) {
        *acknowledgement = (struct acknowledgement){.status = REDLATCH_OK};
    }
}

void acknowledgement_take(struct acknowledgement *acknowledgement, const struct engine *engine,
                          const struct reply *reply) {
    bool of_replicas = acknowledgement->count++ == 0 && engine->settings.min_replicas > 0;
    if (reply->kind == REPLY_ERROR) {
        take_error(acknowledgement, reply);
    } else if (of_replicas) {
        acknowledgement->replicas = reply->kind == REPLY_INTEGER ? reply->integer : 0;
    } else { /* [1 if the write is on this server's disk, how many replicas have it on theirs] */
        acknowledgement->on_disk = reply->kind == REPLY_ARRAY && reply->count == 2 &&
                                   reply->elements[0].kind == REPLY_INTEGER && reply->elements[0].integer > 0;
    }
}

bool reply_is_acknowledged(const struct engine *engine, const struct reply *reply) {
    const struct acknowledgement *acknowledgement = reply->acknowledgement;
    return acknowledgement && acknowledgement->status == REDLATCH_OK &&
           acknowledgement->replicas + PLANTED(FAULT_ONE_REPLICA_TOO_FEW) >= engine->settings.min_replicas &&
           (acknowledgement->on_disk || !engine->settings.durable);
}

const struct reply *acknowledged_reply(const struct engine *engine, const struct command *command,
                                       const struct reply *reply, struct reply *error) {
    static const char too_few[] = NOT_REPLICATED;
    static const struct acknowledgement none;
    if (!command->needs_acknowledgement || command->kind == COMMAND_RENEW || !grants(command, reply) ||
        reply_is_acknowledged(engine, reply) || PLANTED(FAULT_UNACKNOWLEDGED_GRANT_IS_KEPT)) {
        return reply;
    }
    const struct acknowledgement *acknowledgement = reply->acknowledgement ? reply->acknowledgement : &none;
    if (command->operation) {
        command->operation->acknowledged = acknowledgement->replicas;
    }
    *error = (struct reply){
        .kind = REPLY_ERROR, .text = too_few, .size = sizeof too_few - 1, .acknowledgement = acknowledgement};
    if (acknowledgement->status == REDLATCH_NO_PERMISSION || acknowledgement->status == REDLATCH_UNSUPPORTED) {
        error->text = acknowledgement->error_text;
        error->size = strlen(acknowledgement->error_text);
    }
    return error;
}
