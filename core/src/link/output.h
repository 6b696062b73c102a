/* Bytes on their way to a socket, and commands written into them in the Redis protocol.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include "wire.h"

struct output {
    char *bytes;
    size_t begin; /* written to the socket up to here */
    size_t end;
    size_t capacity;
};

/* Makes room for `size` more bytes. If there was no memory, returns false and changes nothing. */
bool output_reserve(struct output *output, size_t size);

/* Returns how many bytes output_command adds for a command. */
size_t output_command_size(const struct engine *engine, const struct command *command);

/* Adds a command as EVALSHA, or as EVAL with its text if the server may lack the script. Precedes it by ASKING if the
 * node imports the slot. Adds WAIT and WAITAOF behind it if it needs acknowledgements. Room must have been reserved. */
void output_command(struct output *output, const struct engine *engine, const struct command *command);

/* Adds bytes as they are. Returns false if there was no memory. */
bool output_bytes(struct output *output, const char *bytes, size_t size);

/* Adds any command of `count` arguments. Returns false if there was no memory. */
bool output_arguments(struct output *output, size_t count, const char *const arguments[], const size_t sizes[]);

static inline size_t output_pending(const struct output *output) {
    return output->end - output->begin;
}

/* Forgets the pending bytes. output_free also frees the memory. */
void output_clear(struct output *output);

/* Wipes all bytes except for the pending ones, after a secret was among them. */
void output_wipe(struct output *output);
void output_free(struct output *output);

#endif
