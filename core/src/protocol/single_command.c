/* Force release, query, inspection, and the release and extension of a hold by its owner's id, in any process: one
 * command each, which nothing follows.
 * SPDX-License-Identifier: Apache-2.0 */
#include "single_command.h"

#include <string.h>

#include "error_reply.h"
#include "kinds.h"
#include "messages.h"
#include "numbers.h"
#include "operations.h"
#include "pools.h"
#include "retry.h"

void single_begin(struct engine *engine, struct operation *operation, uint8_t command_kind) {
    struct command *command = take_command(engine, operation);
    if (!INVARIANT(&engine->broken, command)) { /* it is the first one of the reserve */
        return;
    }
    command->kind = command_kind;
    command->lease_ms = operation->lease_ms;
    operation_request(engine, operation, command);
}

void single_abort(struct engine *engine, struct operation *operation, int status) {
    operation_abandon(engine, operation);
    finish(engine, operation, status);
}

/* Returns the operation that gets the reply. Returns NULL if the operation gave up, ends with this error reply, or has
 * its command sent again. */
static struct operation *answered(struct engine *engine, struct command *command, const struct reply *reply,
                                  int64_t now) {
    struct operation *operation = command->operation;
    if (!operation || reply->kind != REPLY_ERROR) {
        return operation;
    }
    struct error_reply error = error_of_reply(reply);
    if (is_retried(command, error, now)) {
        error.may_have_executed = false; /* these scripts read all keys before they write */
        retry_later(engine, command, error, now);
    } else {
        finish(engine, operation, error.status);
    }
    return NULL;
}

void query_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now) {
    struct operation *operation = answered(engine, command, reply, now);
    if (!operation) {
        return;
    }
    struct lock_answer *answer = operation->answer;
    memset(answer, 0, sizeof *answer);
    if (reply->kind != REPLY_ARRAY || (reply->count != 0 && (reply->count < 3 || reply->count > 5))) {
        finish(engine, operation, REDLATCH_PROTOCOL);
        return;
    }
    if (reply->count > 4) {
        answer->waiters = (uint64_t)reply->elements[4].integer;
    }
    if (reply->count == 3 || (reply->count > 3 && reply->elements[3].integer > 0)) {
        const struct reply *owner = &reply->elements[1];
        const struct reply *count = &reply->elements[2];
        answer->locked = true;
        answer->holders = reply->count > 3 ? (uint64_t)reply->elements[3].integer : 1;
        answer->ttl_ms = server_ms(reply->elements[0].integer);
        size_t size = owner->size < sizeof answer->owner - 1 ? owner->size : sizeof answer->owner - 1;
        if (owner->kind == REPLY_STRING) {
            memcpy(answer->owner, owner->text, size);
        }
        for (size_t i = 0; i < count->size && i < 18 && count->text[i] >= '0' && count->text[i] <= '9'; i++) {
            answer->count = answer->count * 10 + (uint64_t)(count->text[i] - '0');
        }
    }
    finish(engine, operation, REDLATCH_OK);
}

void inspect_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now) {
    struct operation *operation = answered(engine, command, reply, now);
    if (!operation) {
        return;
    }
    struct question *question = operation->question;
    bool is_text = reply->kind == REPLY_STRING;
    if (!is_text && !question->take_other) {
        finish(engine, operation, REDLATCH_PROTOCOL);
        return;
    }
    question->server = command->server;
    bool taken = is_text ? question->take(question, reply->text, reply->size) : question->take_other(question, reply);
    finish(engine, operation, taken ? REDLATCH_OK : REDLATCH_NO_MEMORY);
}

void force_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now) {
    struct operation *operation = answered(engine, command, reply, now);
    if (!operation) {
        return;
    }
    operation->forced = reply->integer == 1;
    if (operation->forced && command->resource->queue && kind_of(command->resource)->queues_on_server) {
        wake_channels_forced_release(engine, command->resource->queue, now);
    }
    finish(engine, operation, reply->kind == REPLY_INTEGER ? REDLATCH_OK : REDLATCH_PROTOCOL);
}

void owner_replied(struct engine *engine, struct command *command, const struct reply *reply, int64_t now) {
    struct operation *operation = answered(engine, command, reply, now);
    if (!operation) {
        return;
    }
    bool none = reply->integer == 0;
    bool unknown = none && command->repeated && operation->kind == OPERATION_RELEASE_OWNER;
    operation->result = unknown ? RESULT_UNKNOWN : !none;
    finish(engine, operation, reply->kind == REPLY_INTEGER ? REDLATCH_OK : REDLATCH_PROTOCOL);
}
