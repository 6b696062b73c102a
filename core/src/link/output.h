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

/* Makes room for `size` more bytes; false without memory, and then nothing has changed. */
bool output_reserve(struct output *output, size_t size);

/* The bytes that output_command adds for a command. */
size_t output_command_size(const struct engine *engine, const struct command *command);

/* Adds a command as EVALSHA, or as EVAL with its text when the server lacks the script, ASKING before one that a node
 * is to carry out that imports its slot, and WAIT and WAITAOF behind one that needs acknowledgements. Room must have
 * been reserved. */
void output_command(struct output *output, const struct engine *engine, const struct command *command);

/* Adds bytes as they are; false without memory. */
bool output_bytes(struct output *output, const char *bytes, size_t size);

/* Adds any command of `count` words; false without memory. */
bool output_arguments(struct output *output, size_t count, const char *const arguments[], const size_t sizes[]);

static inline size_t output_pending(const struct output *output) {
    return output->end - output->begin;
}

/* Forgets what is pending. output_free also gives the memory back. */
void output_clear(struct output *output);

/* Wipes all but what is pending: it had a secret. */
void output_wipe(struct output *output);
void output_free(struct output *output);

#endif
