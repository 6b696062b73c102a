/* Operations and commands in general.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OPERATIONS_H
#define OPERATIONS_H

#include "engine.h"

void finish(struct engine *engine, struct operation *operation, int status);
void finish_lost(struct engine *engine, struct operation *operation, int reason);
void arm_operation(struct engine *engine, struct operation *operation);
/* Returns the server that a command goes to. */
struct server *destination(const struct engine *engine, const struct command *command);

void push_command(struct engine *engine, struct command *command);

/* Returns whether a command is an unconfirmed release whose reply nobody waits for. If it became a hand-over, the
 * receiver waits for the reply. */
bool is_unawaited_release(const struct command *command);

/* Takes the oldest command off those that were sent, of which there is one at least. */
struct command *take_oldest_sent(struct pipeline *pipeline);
void repeat_command(struct engine *engine, struct command *command, int64_t at);
bool drop_unsent(struct engine *engine, struct command *command);
int64_t acquire_lease(const struct engine *engine, const struct operation *operation, int64_t now);
void undo_acquire(struct engine *engine, struct operation *operation, uint64_t id, int64_t repeat_until);
void undo_attempt(struct engine *engine, struct operation *operation);
void operation_request(struct engine *engine, struct operation *operation, struct command *command);
struct command *operation_abandon(struct engine *engine, struct operation *operation);
/* If the operation is parked or paused, it requests again as soon as timers run. */
void operation_recheck_soon(struct engine *engine, struct operation *operation, int64_t now);

void operation_contended(struct engine *engine, struct operation *operation);

/* Returns whether a command is one of Redis that the host sends as it is. */
bool is_plain_question(const struct command *command);

/* Notes since when the server is unusable for an operation. The unreachable timeout counts from then, and also ends an
 * operation without a deadline. */
void operation_unusable(struct engine *engine, struct operation *operation, int status, int64_t since);

/* A reply shows that the server is usable for an operation. */
void operation_usable(struct operation *operation);

void operation_pause(struct engine *engine, struct operation *operation, int status, int64_t now);
struct operation *operation_answered(const struct command *command, const struct reply *reply);

#endif
