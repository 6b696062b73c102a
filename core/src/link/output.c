/* Writing commands: lengths and bodies go straight into one buffer, without a copy or an allocation for each command.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "output.h"

#include <stdlib.h>
#include <string.h>

#include "acknowledgement.h"
#include "wipe.h"

enum { FIRST_CAPACITY = 4096, KEEP_CAPACITY = 1 << 20, LENGTH_SIZE_MAX = 24 };

bool output_reserve(struct output *output, size_t size) {
    if (output->begin == output->end) {
        output_clear(output);
    }
    if (output->capacity - output->end >= size) {
        return true;
    }
    size_t pending = output_pending(output);
    size_t capacity = output->capacity ? output->capacity : FIRST_CAPACITY;
    while (capacity - pending < size) {
        capacity *= 2;
    }
    char *bytes = malloc(capacity);
    if (!bytes) {
        return false;
    }
    if (pending) {
        memcpy(bytes, output->bytes + output->begin, pending);
    }
    output_free(output);
    output->bytes = bytes;
    output->capacity = capacity;
    output->begin = 0;
    output->end = pending;
    return true;
}

static void add(struct output *output, const char *text, size_t size) {
    memcpy(output->bytes + output->end, text, size);
    output->end += size;
}

static size_t digits_of(uint64_t number) {
    size_t digits = 1;
    while (number >= 10) {
        number /= 10;
        digits++;
    }
    return digits;
}

/* The bytes that add_length adds. */
static size_t length_size(size_t length) {
    return 1 + digits_of(length) + 2;
}

/* The bytes that add_word adds. */
static size_t word_size(size_t size) {
    return length_size(size) + size + 2;
}

/* A marker, a decimal number and the line end: "*3\r\n", "$40\r\n". */
static void add_length(struct output *output, char marker, size_t length) {
    char text[LENGTH_SIZE_MAX];
    size_t at = sizeof text;
    text[--at] = '\n';
    text[--at] = '\r';
    do {
        text[--at] = (char)('0' + length % 10);
        length /= 10;
    } while (length > 0);
    text[--at] = marker;
    add(output, text + at, sizeof text - at);
}

static void add_word(struct output *output, const char *text, size_t size) {
    add_length(output, '$', size);
    add(output, text, size);
    add(output, "\r\n", 2);
}

struct output_sink {
    struct argument_sink sink;
    struct output *output;
};

static size_t parts_size(const struct argument_part *parts, size_t part_count) {
    size_t size = 0;
    for (size_t i = 0; i < part_count; i++) {
        size += parts[i].size;
    }
    return size;
}

static void append_argument(struct argument_sink *sink, const struct argument_part *parts, size_t part_count) {
    struct output *output = ((struct output_sink *)(void *)sink)->output;
    add_length(output, '$', parts_size(parts, part_count));
    for (size_t i = 0; i < part_count; i++) {
        add(output, parts[i].text, parts[i].size);
    }
    add(output, "\r\n", 2);
}

/* Returns the question of a command that is a plain command of Redis, or NULL if the command runs a script. */
static const struct question *plain_question(const struct command *command) {
    const struct question *question = command->kind == COMMAND_INSPECT ? command->operation->question : NULL;
    return question && question->plain ? question : NULL;
}

static void add_number(struct output *output, uint64_t number) {
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    add_word(output, digits + at, sizeof digits - at);
}

static size_t number_size(uint64_t number) {
    return word_size(digits_of(number));
}

/* The bytes that add_waits adds at most. */
static size_t waits_size(const struct engine *engine) {
    const struct engine_settings *settings = &engine->settings;
    size_t timeout = number_size((uint64_t)settings->replica_timeout_ms);
    size_t size = 0;
    if (settings->min_replicas > 0) {
        size += length_size(3) + word_size(4) + number_size(settings->min_replicas) + timeout;
    }
    if (settings->durable) {
        size += length_size(4) + word_size(7) + 2 * word_size(1) + timeout;
    }
    return size;
}

/* Adds WAIT and WAITAOF, by which replicas and the server's own disk acknowledge the command before. */
static void add_waits(struct output *output, const struct engine *engine, const struct command *command) {
    uint64_t timeout_ms = (uint64_t)acknowledgement_timeout_ms(engine, command);
    const struct engine_settings *settings = &engine->settings;
    if (settings->min_replicas > 0) {
        add_length(output, '*', 3);
        add_word(output, "WAIT", 4);
        add_number(output, settings->min_replicas);
        add_number(output, timeout_ms);
    }
    if (settings->durable) {
        add_length(output, '*', 4);
        add_word(output, "WAITAOF", 7);
        add_word(output, "1", 1);
        add_word(output, "0", 1);
        add_number(output, timeout_ms);
    }
}

/* Adds up the bytes of arguments. */
struct measuring_sink {
    struct argument_sink sink;
    size_t size;
};

static void measure_argument(struct argument_sink *sink, const struct argument_part *parts, size_t part_count) {
    ((struct measuring_sink *)(void *)sink)->size += word_size(parts_size(parts, part_count));
}

/* The bytes of ASKING, which precedes a command to a node that imports the slot. */
static size_t import_prefix_size(const struct command *command) {
    return command->importing ? length_size(1) + word_size(6) : 0;
}

static void add_import_prefix(struct output *output, const struct command *command) {
    if (command->importing) {
        add_length(output, '*', 1);
        add_word(output, "ASKING", 6);
    }
}

size_t output_command_size(const struct engine *engine, const struct command *command) {
    const struct question *question = plain_question(command);
    if (question) {
        size_t size = import_prefix_size(command) + length_size(question->argument_count);
        for (uint32_t i = 0; i < question->argument_count; i++) {
            size += word_size(question->arguments[i].size);
        }
        return size;
    }
    const struct script_embedded *script = command_text(engine, command);
    uint32_t keys;
    uint32_t arguments;
    command_counts(command, &keys, &arguments);
    struct measuring_sink measure = {.sink = {measure_argument}};
    command_write(engine, command, &measure.sink);
    size_t name = command->as_text ? word_size(4) + word_size(script->size) : word_size(7) + word_size(40);
    size_t waits = command_needs_acknowledgement(engine, command) ? waits_size(engine) : 0;
    return import_prefix_size(command) + length_size(3 + (size_t)keys + arguments) + name + number_size(keys) +
           measure.size + waits;
}

void output_command(struct output *output, const struct engine *engine, const struct command *command) {
    add_import_prefix(output, command);
    const struct question *question = plain_question(command);
    if (question) {
        add_length(output, '*', question->argument_count);
        for (uint32_t i = 0; i < question->argument_count; i++) {
            add_word(output, question->arguments[i].text, question->arguments[i].size);
        }
        return;
    }
    const struct script_embedded *script = command_text(engine, command);
    uint32_t keys;
    uint32_t arguments;
    command_counts(command, &keys, &arguments);
    add_length(output, '*', 3 + (size_t)keys + arguments);
    if (command->as_text) {
        add_word(output, "EVAL", 4);
        add_word(output, script->text, script->size);
    } else {
        add_word(output, "EVALSHA", 7);
        add_word(output, script->sha1, 40);
    }
    add_number(output, keys);
    struct output_sink sink = {{append_argument}, output};
    command_write(engine, command, &sink.sink);
    if (command_needs_acknowledgement(engine, command)) {
        add_waits(output, engine, command);
    }
}

bool output_bytes(struct output *output, const char *bytes, size_t size) {
    if (!output_reserve(output, size)) {
        return false;
    }
    add(output, bytes, size);
    return true;
}

bool output_arguments(struct output *output, size_t count, const char *const arguments[], const size_t sizes[]) {
    size_t size = length_size(count);
    for (size_t i = 0; i < count; i++) {
        size += word_size(sizes[i]);
    }
    if (!output_reserve(output, size)) {
        return false;
    }
    add_length(output, '*', count);
    for (size_t i = 0; i < count; i++) {
        add_word(output, arguments[i], sizes[i]);
    }
    return true;
}

void output_clear(struct output *output) {
    output->begin = 0;
    output->end = 0;
    if (output->capacity > KEEP_CAPACITY) {
        output_free(output);
    }
}

void output_wipe(struct output *output) {
    if (output->bytes) {
        wipe(output->bytes, output->begin);
        wipe(output->bytes + output->end, output->capacity - output->end);
    }
}

/* Wipes all of the memory, whatever was in it. */
void output_free(struct output *output) {
    if (output->bytes) {
        wipe(output->bytes, output->capacity);
    }
    free(output->bytes);
    memset(output, 0, sizeof *output);
}
