/* Commands as scripts with keys and arguments; names of channels and owners.
 * SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <string.h>

static const char channel_prefix[] = "redisson_lock__channel:";

enum script_id command_script(const struct command *command) {
    switch (command->kind) {
    case COMMAND_ACQUIRE:
        return SCRIPT_ACQUIRE;
    case COMMAND_REENTER:
        return SCRIPT_REENTER;
    case COMMAND_RELEASE:
        return SCRIPT_RELEASE;
    case COMMAND_EXTEND:
        return SCRIPT_EXTEND;
    case COMMAND_HAND_OVER:
    case COMMAND_MOVE:
        return SCRIPT_HAND_OVER;
    case COMMAND_FORCE:
        return SCRIPT_FORCE_RELEASE;
    case COMMAND_RENEW:
        return SCRIPT_RENEW;
    case COMMAND_INSPECT:
        return SCRIPT_INSPECT;
    case COMMAND_WATCH:
        return SCRIPT_WATCH;
    default:
        return SCRIPT_QUERY;
    }
}

void command_counts(const struct command *command, uint32_t *key_count_out, uint32_t *argument_count_out) {
    static const uint8_t arguments[] = {
        [COMMAND_ACQUIRE] = 2, [COMMAND_REENTER] = 3, [COMMAND_RELEASE] = 3, [COMMAND_EXTEND] = 2,
        [COMMAND_HAND_OVER] = 4, [COMMAND_MOVE] = 4, [COMMAND_FORCE] = 1, [COMMAND_QUERY] = 0, [COMMAND_WATCH] = 0,
    };
    if (command->kind == COMMAND_INSPECT) {
        *key_count_out = command->operation->question->key_count;
        *argument_count_out = command->operation->question->argument_count;
        return;
    }
    bool renewal = command->kind == COMMAND_RENEW;
    *key_count_out = renewal ? command->batch_count : 1;
    *argument_count_out = renewal ? 2 * command->batch_count : arguments[command->kind];
}

/* Decimal digits of a number; returns their count. */
static size_t decimal(uint64_t number, char text[20]) {
    char reversed[20];
    size_t size = 0;
    do {
        reversed[size++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    for (size_t i = 0; i < size; i++) {
        text[i] = reversed[size - 1 - i];
    }
    return size;
}

size_t owner_text(const struct engine *engine, uint64_t id, char text[REDLATCH_OWNER_SIZE]) {
    memcpy(text, engine->uuid, 36);
    text[36] = ':';
    size_t size = 37 + decimal(id, text + 37);
    text[size] = '\0';
    return size;
}

void channel_parts(const char *name, size_t size, struct argument_part parts[3]) {
    bool tagged = memchr(name, '{', size) != NULL;
    parts[0].text = tagged ? "redisson_lock__channel:" : "redisson_lock__channel:{";
    parts[0].size = sizeof channel_prefix - 1 + (tagged ? 0 : 1);
    parts[1].text = name;
    parts[1].size = size;
    parts[2].text = "}";
    parts[2].size = tagged ? 0 : 1;
}

size_t channel_names(const char *channel, size_t size, struct argument_part names[2]) {
    size_t prefix = sizeof channel_prefix - 1;
    if (size <= prefix || memcmp(channel, channel_prefix, prefix) != 0) {
        return 0;
    }
    const char *name = channel + prefix;
    size -= prefix;
    size_t count = 0;
    if (size > 2 && name[0] == '{' && name[size - 1] == '}' && !memchr(name + 1, '{', size - 2)) {
        names[count++] = (struct argument_part){name + 1, size - 2};
    }
    if (memchr(name, '{', size)) {
        names[count++] = (struct argument_part){name, size};
    }
    return count;
}

static void put(struct argument_sink *sink, const char *text, size_t size) {
    struct argument_part part = {text, size};
    sink->append(sink, &part, 1);
}

static void put_number(struct argument_sink *sink, uint64_t number) {
    char text[20];
    size_t size = decimal(number, text);
    put(sink, text, size);
}

static void put_owner(const struct engine *engine, struct argument_sink *sink, uint64_t id) {
    char text[REDLATCH_OWNER_SIZE];
    size_t size = owner_text(engine, id, text);
    put(sink, text, size);
}

static void put_channel(struct argument_sink *sink, const struct resource *resource) {
    struct argument_part parts[3];
    channel_parts(resource->name, resource->name_size, parts);
    sink->append(sink, parts, 3);
}

static void write_renewal(const struct engine *engine, const struct command *command, struct argument_sink *sink) {
    for (uint32_t i = 0; i < command->batch_count; i++) {
        put(sink, command->batch[i].name->name, command->batch[i].name->name_size);
    }
    for (uint32_t i = 0; i < command->batch_count; i++) {
        put_owner(engine, sink, command->batch[i].id);
        put_number(sink, command->batch[i].lease_ms);
    }
}

static void write_question(const struct question *question, struct argument_sink *sink) {
    for (uint32_t i = 0; i < question->key_count + question->argument_count; i++) {
        sink->append(sink, &question->words[i], 1);
    }
}

void command_write(const struct engine *engine, const struct command *command, struct argument_sink *sink) {
    if (command->kind == COMMAND_RENEW) {
        write_renewal(engine, command, sink);
        return;
    }
    if (command->kind == COMMAND_INSPECT) {
        write_question(command->operation->question, sink);
        return;
    }
    put(sink, command->resource->name, command->resource->name_size);
    if (command->kind == COMMAND_QUERY || command->kind == COMMAND_WATCH) {
        return;
    }
    if (command->kind != COMMAND_FORCE) {
        put_owner(engine, sink, command->id);
    }
    switch (command->kind) {
    case COMMAND_REENTER:
        put_number(sink, command->count);
        put_number(sink, (uint64_t)command->lease_ms);
        break;
    case COMMAND_RELEASE:
        put_number(sink, command->count);
        put_channel(sink, command->resource);
        break;
    case COMMAND_HAND_OVER:
    case COMMAND_MOVE:
        put_owner(engine, sink, command->successor);
        put_number(sink, command->count);
        put_number(sink, (uint64_t)command->lease_ms);
        break;
    case COMMAND_FORCE:
        put_channel(sink, command->resource);
        break;
    default:
        put_number(sink, (uint64_t)command->lease_ms);
        break;
    }
}
