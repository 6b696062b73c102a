/* What becomes of a command after an error reply.
 * SPDX-License-Identifier: Apache-2.0 */
#include "retry.h"

#include "operation_record.h"
#include "operations.h"

static const uint8_t retries[COMMAND_KINDS] = {
#define COMMAND(constant, script, keys, arguments, replied, in_doubt, retry) [COMMAND_##constant] = RETRY_##retry,
#include "commands.def"
};

/* How long the release of a position is repeated. A position that is not left may keep other waiters waiting for this
 * long; a lease ends by itself before. */
static const int64_t LEAVE_FOR = 300 * SECOND;

/* Returns whether an error is transient and the lease of the command, counted from the first error reply, has not ended
 * yet. */
static bool lease_lasts(struct command *command, struct error_reply error, int64_t now) {
    if (command->give_up_at == 0) {
        command->give_up_at = now + (command->leaves ? LEAVE_FOR : command->lease_ms * MILLISECOND);
        if (command->hold && command->hold->deadline > command->give_up_at) {
            command->give_up_at = command->hold->deadline;
        }
    }
    return error.transient && now < command->give_up_at;
}

static bool is_in_nobodys_way(const struct command *command) {
    return command->hold && list_is_empty(&command->hold->waiting);
}

bool is_retried(struct command *command, struct error_reply error, int64_t now) {
    if (command->abandoned) {
        return false;
    }
    bool goes_on = retries[command->kind] == RETRY_OPERATION || retries[command->kind] == RETRY_WHILE_HELD;
    if (error.status == REDLATCH_NOT_REPLICATED && !goes_on) {
        return false; /* it has waited for replicas already */
    }
    bool once_more = error.may_have_executed && !command->repeated;
    bool wanted = once_more || (error.transient && command->operation);
    switch ((enum retry)retries[command->kind]) {
    case RETRY_WHILE_SEPARATED:
        return error.keys_separated && command->operation;
    case RETRY_OPERATION:
        return error.transient && !command->operation->non_blocking;
    case RETRY_WHILE_RECORDED:
        return error.transient && !record_is_over(command, now); /* transient means that it did not run */
    case RETRY_UNTIL_IN_THE_WAY:
        return wanted || (error.transient && is_in_nobodys_way(command));
    case RETRY_WHILE_HELD:
        return wanted || (error.transient && command->hold);
    case RETRY_UNTIL_RELEASED:
        return wanted ||
               (command->count > 0 ? error.transient && is_in_nobodys_way(command) : lease_lasts(command, error, now));
    case RETRY_UNTIL_LEASE_ENDS:
        return lease_lasts(command, error, now) || once_more;
    case RETRY_NEVER:
        break;
    }
    return false;
}

void retry_later(struct engine *engine, struct command *command, struct error_reply error, int64_t now) {
    command->pause_ms = command->pause_ms < 50 ? command->pause_ms * 2 + 10 : 100;
    if (command->operation) {
        operation_unusable(engine, command->operation, error.status, now);
    }
    command->was_sent = command->repeated || error.may_have_executed;
    command->refused = true;
    engine->refused_commands++;
    repeat_command(engine, command, now + command->pause_ms * MILLISECOND);
}
