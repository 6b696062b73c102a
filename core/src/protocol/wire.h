/* Commands as they go to the server: which script, which keys, which arguments.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WIRE_H
#define WIRE_H

#include "engine.h"
#include "scripts_embedded.h"

/* Takes a command's arguments, one after the other. */
struct argument_sink {
    void (*append)(struct argument_sink *sink, const struct argument_part *parts, size_t part_count);
};

/* Returns the script that a command runs. */
enum script_id command_script(const struct command *command);

/* Returns the text and the digest of that script for the server that the command goes to. */
const struct script_embedded *command_text(const struct engine *engine, const struct command *command);

/* Counts the keys, and the arguments after them. */
void command_counts(const struct command *command, uint32_t *key_count_out, uint32_t *argument_count_out);

/* Writes the keys and the arguments, in order. */
void command_write(const struct engine *engine, const struct command *command, struct argument_sink *sink);

/* Writes an owner id, "uuid:number", with its final NUL. Returns its length. */
size_t owner_text(const struct engine *engine, uint64_t id, char text[REDLATCH_OWNER_SIZE]);

/* Writes the id of a permit as on the server: the bytes of the client's uuid, whose second half is XORed with the wire
 * number of the hold. permit_number returns that number if the id is of this client, else 0. */
void permit_bytes(const struct engine *engine, uint64_t id, unsigned char bytes[PERMIT_SIZE]);
uint64_t permit_number(const struct engine *engine, const unsigned char bytes[PERMIT_SIZE]);

/* Sets the parts of a name's channel, some of which are empty (wire format 1.2, 1.6). */
void channel_parts(const struct resource *resource, struct argument_part parts[4]);

/* Writes the channel of a subscription: that of the name, or the wake-up channel of a waiter. Returns its length. */
enum { CHANNEL_SIZE_MAX = REDLATCH_NAME_SIZE_MAX + 64 + REDLATCH_OWNER_SIZE };
size_t channel_text(const struct engine *engine, const struct subscription *subscription,
                    char channel[CHANNEL_SIZE_MAX]);

/* Returns whether two kinds are renewed by the same script, and so in one batch. */
bool renewed_alike(uint8_t lock_kind, uint8_t other_kind);

#endif
