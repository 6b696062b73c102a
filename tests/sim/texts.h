/* Keys and arguments as sent: an array of texts, with their bytes in the same block of memory, each text with a NUL
 * behind it. The block is exactly as large as needed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEXTS_H
#define TEXTS_H

#include <stdint.h>

#include "records.h"
#include "redis_text.h"

struct engine;

/* Returns what a command sends: its keys, then its arguments. Ends the program if their number is not the one that the
 * command declares. */
struct redis_text *texts_of_command(const struct engine *engine, const struct command *command, uint32_t *key_count_out,
                                    uint32_t *argument_count_out);

struct redis_text *texts_copy(const struct redis_text *texts, uint32_t count);

#endif
