/* Memory for the engine's records, out of its pools.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef POOLS_H
#define POOLS_H

#include "engine.h"

struct command *take_command(struct engine *engine, struct operation *operation);

/* A command goes on for nobody. An operation that goes on, too, may want another one when it has been given back, which
 * no other operation is promised. */
void let_command_go(struct engine *engine, struct command *command);
struct command *take_command_with_entries(struct engine *engine, struct operation *operation);
void give_command(struct engine *engine, struct command *command);
struct hold *take_hold(struct engine *engine, struct operation *operation);
void give_hold(struct engine *engine, struct hold *hold);
struct wait_queue *attach_wait_queue(struct engine *engine, struct operation *operation);

/* Gives an operation that has left its wait queue another name, with what is set aside; false: there is no room. */
bool use_wait_queue_of(struct engine *engine, struct operation *operation, struct resource *resource);
void detach_wait_queue(struct engine *engine, struct wait_queue *queue);
void reserve_for(struct engine *engine, struct operation *operation);
void return_reserve(struct engine *engine, struct operation *operation);
void keep_command_for(struct operation *operation, struct hold *hold);
void return_kept_command(struct engine *engine, struct hold *hold);

#endif
