/* Keys and arguments on their way: an array of texts and, in the same block of memory, their bytes, each text with a
 * NUL behind it. A block has exactly the room it needs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEXTS_H
#define TEXTS_H

#include <stdint.h>

#include "records.h"
#include "redis_text.h"

struct engine;

/* What a command sends: its keys, then its arguments. Ends the program when there are not as many of them as the
 * command says. */
struct redis_text *texts_of_command(const struct engine *engine, const struct command *command, uint32_t *key_count_out,
                                    uint32_t *argument_count_out);

struct redis_text *texts_copy(const struct redis_text *texts, uint32_t count);

#endif
