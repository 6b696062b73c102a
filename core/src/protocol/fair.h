/* Waiters for a fair lock, which queue on the server.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FAIR_H
#define FAIR_H

#include "engine.h"

void fair_begin(struct engine *engine, struct operation *operation, int64_t now);
void fair_result(struct engine *engine, struct operation *operation, struct command *command, const struct reply *reply,
                 int64_t now);
void fair_undo(struct engine *engine, struct operation *operation, struct command *command);
void fair_end(struct engine *engine, struct operation *operation, int status, int64_t now);
void fair_notified(struct engine *engine, struct wait_queue *queue, int64_t number, int64_t now);
void fair_next(struct engine *engine, struct wait_queue *queue, int64_t now);
void fair_not_handed(struct engine *engine, struct operation *operation, bool for_another, int64_t now);
void fair_forget_number(struct engine *engine, struct operation *operation);
void fair_give_back(struct engine *engine, struct operation *operation, int64_t now);
void fair_take_position(struct engine *engine, struct operation *operation, int64_t now);
void fair_positions_lost(struct engine *engine, struct wait_queue *queue, int64_t now);
void refresh_plan(struct engine *engine, struct wait_queue *queue, int64_t at);

#endif
