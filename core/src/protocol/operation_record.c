/* The records of operations whose outcome cannot be stated: in which key of the server each is, and for how long.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A record is needed as long as its command may arrive once more. As soon as the command was answered and no copy of it
 * can be under way, the next operation records its outcome in the same key. So a client leaves one key for each
 * command that it had under way at a time, not one for each operation, and no command is spent on deleting.
 *
 *   the command                                 its key
 *   was not sent                                is used again
 *   was answered                                is used again; not if the command was sent before on a connection that
 *                                               could not be killed: that copy may arrive late
 *   was abandoned, and is undone                is that of the undo
 *   is an undo, and was answered                is used again; not if connections cannot be killed
 *   was forgotten without a reply               is left to its TTL: what the command may still do is not known */
#include "operation_record.h"

#include "planted.h"

/* A record outlives every sending of its command: the caller gives up on the server before. */
static const int64_t BEYOND_DEADLINE_MS = 30000;
static const int64_t KILL_DENIED_MS = INT64_C(3600) * 1000;

/* How long the last sending may be on its way. */
static const int64_t ON_ITS_WAY = 15 * SECOND;

int64_t record_life_ms(const struct engine *engine, const struct command *command) {
    return command->server->kill_denied ? KILL_DENIED_MS : engine->settings.unreachable_timeout_ms + BEYOND_DEADLINE_MS;
}

void record_sent(const struct engine *engine, struct command *command) {
    int64_t life_ms = record_life_ms(engine, command);
    if (!command->was_sent ||
        life_ms < command->shortest_life_ms) { /* a slot may move to a node that knows no denial */
        command->shortest_life_ms = life_ms;
    }
}

/* Any sending may have run. That KILL is denied may be known since the first one only: a repeat states a longer life,
 * but does not prolong that of a record. */
bool record_is_over(const struct command *command, int64_t now) {
    return now - command->first_sent_at > command->shortest_life_ms * MILLISECOND - ON_ITS_WAY;
}

/* Takes the key that was freed last, so that few keys are in use. */
void record_take_key(struct engine *engine, struct command *command) {
    struct record_keys *keys = &engine->record_keys;
    command->record_key = keys->count > 0 ? keys->numbers[--keys->count] : ++engine->last_id;
}

void record_answered(struct command *command, const struct reply *reply) {
    bool sent_before = command->repeated || command->kind == COMMAND_UNDO; /* an undo follows a command that was sent */
    bool copy_may_come = command->server->kill_denied && sent_before && !PLANTED(FAULT_RECORD_OF_LATE_COPY_REUSED);
    command->answered = reply->kind != REPLY_ERROR && !copy_may_come;
}

void record_give_key(struct engine *engine, struct command *command) {
    struct record_keys *keys = &engine->record_keys;
    bool was_never_there = !command->was_sent && command->kind != COMMAND_UNDO;
    bool over = command->answered || was_never_there || PLANTED(FAULT_RECORD_WITHOUT_ANSWER_REUSED);
    if (command->record_key && over && keys->count < RECORD_KEYS) {
        keys->numbers[keys->count++] = command->record_key;
    }
    command->record_key = 0;
}
