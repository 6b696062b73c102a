/* Commands as they go to the server: which script, which keys, which arguments.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_H
#define WIRE_H

#include "engine.h"
#include "scripts_embedded.h"

/* Takes a command's arguments one after the other. */
struct argument_sink {
    void (*append)(struct argument_sink *sink, const struct argument_part *parts, size_t part_count);
};

/* The script a command runs. */
enum script_id command_script(const struct command *command);

/* Its text and digest for the server that the command goes to. */
const struct script_embedded *command_text(const struct engine *engine, const struct command *command);

/* How many keys, and how many arguments after them. */
void command_counts(const struct command *command, uint32_t *key_count_out, uint32_t *argument_count_out);

/* Keys and arguments, in order. */
void command_write(const struct engine *engine, const struct command *command, struct argument_sink *sink);

/* An owner id, "uuid:number", with its final NUL; returns its length. */
size_t owner_text(const struct engine *engine, uint64_t id, char text[REDLATCH_OWNER_SIZE]);

/* A permit's id as it stands on the server: half of the client's uuid, and the other half crossed with the number of
 * the hold. Its number if the id is of this client, else 0. */
void permit_bytes(const struct engine *engine, uint64_t id, unsigned char bytes[PERMIT_SIZE]);
uint64_t permit_number(const struct engine *engine, const unsigned char bytes[PERMIT_SIZE]);

/* The channel of a name as it is used, in four parts, some empty (wire format 1.2, 1.6). */
void channel_parts(const struct resource *resource, struct argument_part parts[4]);

/* A subscription's channel: the name's, or that of a waiter of it; returns its length. */
enum { CHANNEL_SIZE_MAX = REDLATCH_NAME_SIZE_MAX + 64 + REDLATCH_OWNER_SIZE };
size_t channel_text(const struct engine *engine, const struct subscription *subscription,
                    char channel[CHANNEL_SIZE_MAX]);

/* Whether two kinds are renewed by the same script, and so in one batch. */
bool renewed_alike(uint8_t lock_kind, uint8_t other_kind);

#endif
