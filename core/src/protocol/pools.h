/* Memory for the engine's records, out of its pools.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef POOLS_H
#define POOLS_H

#include "engine.h"

struct command *take_command(struct engine *engine, struct operation *operation);

/* The command goes on, but its operation does not wait for it any more. If the operation goes on, too, it may need
 * another command: this one is counted for it, so that no other operation reserves it when it returns to the pool. */
void let_command_go(struct engine *engine, struct command *command);
struct command *take_command_with_entries(struct engine *engine, struct operation *operation);
void give_command(struct engine *engine, struct command *command);
struct hold *take_hold(struct engine *engine, struct operation *operation);
void give_hold(struct engine *engine, struct hold *hold);
struct wait_queue *attach_wait_queue(struct engine *engine, struct operation *operation);

/* Moves an operation that has left its wait queue to another name, with what is reserved. Returns false if there is no
 * wait queue for that name: the operation keeps its own name then. */
bool use_wait_queue_of(struct engine *engine, struct operation *operation, struct resource *resource);
void detach_wait_queue(struct engine *engine, struct wait_queue *queue);
void reserve_for(struct engine *engine, struct operation *operation);
void return_reserve(struct engine *engine, struct operation *operation);
void keep_command_for(struct operation *operation, struct hold *hold);
void return_kept_command(struct engine *engine, struct hold *hold);

#endif
