/* Commands as scripts with keys and arguments, all in one table; names of channels and owners.
 * SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <assert.h>
#include <string.h>

#include "kinds.h"
#include "steps.h"

/* How a command is written: its script, then a letter for each key and each argument.
 *   N name   T counter of tokens   C channel   o owner   s the next owner   n levels   l lease in ms
 *   f whether tokens begin at the server's time   M F the form of a line in a script about several names */
struct form {
    enum script_id script;
    const char *keys;
    const char *arguments;
};

/* Of every kind, unless it has a row of its own below. */
static const struct form usual[COMMAND_KINDS] = {
    [COMMAND_ACQUIRE] = {SCRIPT_ACQUIRE, "N", "ol"},
    [COMMAND_REENTER] = {SCRIPT_REENTER, "N", "onl"},
    [COMMAND_RELEASE] = {SCRIPT_RELEASE, "N", "onC"},
    [COMMAND_EXTEND] = {SCRIPT_EXTEND, "N", "ol"},
    [COMMAND_HAND_OVER] = {SCRIPT_HAND_OVER, "N", "osnl"},
    [COMMAND_MOVE] = {SCRIPT_HAND_OVER, "N", "osnl"},
    [COMMAND_FORCE] = {SCRIPT_FORCE_RELEASE, "N", "C"},
    [COMMAND_QUERY] = {SCRIPT_QUERY, "N", ""},
    [COMMAND_WATCH] = {SCRIPT_WATCH, "N", ""},
    [COMMAND_ACQUIRE_MANY] = {SCRIPT_ACQUIRE_MANY, "N", "Mon"}, /* a line; before the first the lease */
    [COMMAND_RELEASE_MANY] = {SCRIPT_RELEASE_MANY, "N", "MonC"},
    [COMMAND_RENEW] = {SCRIPT_RENEW, "N", "ol"},
};

static const struct {
    uint8_t lock_kind;
    uint8_t command_kind;
    struct form form;
} special[] = {
    {REDLATCH_FENCED, COMMAND_ACQUIRE, {SCRIPT_ACQUIRE_FENCED, "NT", "olf"}},
    {REDLATCH_FENCED, COMMAND_ACQUIRE_MANY, {SCRIPT_ACQUIRE_MANY, "NT", "Fonf"}},
    {REDLATCH_FENCED, COMMAND_HAND_OVER, {SCRIPT_HAND_OVER_FENCED, "NT", "osnlf"}},
};

static const struct form *form_of(uint8_t lock_kind, uint8_t command_kind) {
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        if (special[i].lock_kind == lock_kind && special[i].command_kind == command_kind) {
            return &special[i].form;
        }
    }
    return &usual[command_kind];
}

enum script_id command_script(const struct command *command) {
    return command->kind == COMMAND_INSPECT ? SCRIPT_INSPECT : form_of(command->lock_kind, command->kind)->script;
}

bool renewed_alike(uint8_t lock_kind, uint8_t other_kind) {
    return form_of(lock_kind, COMMAND_RENEW)->script == form_of(other_kind, COMMAND_RENEW)->script;
}

void command_counts(const struct command *command, uint32_t *key_count_out, uint32_t *argument_count_out) {
    if (command->kind == COMMAND_INSPECT) {
        *key_count_out = command->operation->question->key_count;
        *argument_count_out = command->operation->question->argument_count;
        return;
    }
    *key_count_out = 0;
    *argument_count_out = command->kind == COMMAND_ACQUIRE_MANY;
    for (uint32_t i = 0; i < command->line_count; i++) {
        const struct form *form = form_of(command->lines->line[i].lock_kind, command->kind);
        *key_count_out += (uint32_t)strlen(form->keys);
        *argument_count_out += (uint32_t)strlen(form->arguments);
    }
    if (!command->lines) {
        const struct form *form = form_of(command->lock_kind, command->kind);
        uint32_t lines = command->kind == COMMAND_RENEW ? command->batch_count : 1;
        *key_count_out = lines * (uint32_t)strlen(form->keys);
        *argument_count_out = lines * (uint32_t)strlen(form->arguments);
    }
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

/* A prefix and a name that shares its slot with the plain name (wire format 1.2). */
static void derived_parts(const char *prefix, const struct resource *resource, struct argument_part parts[4]) {
    bool tagged = memchr(resource->name, '{', resource->name_size) != NULL;
    parts[0] = (struct argument_part){prefix, strlen(prefix)};
    parts[1] = (struct argument_part){"{", tagged ? 0 : 1};
    parts[2] = (struct argument_part){resource->name, resource->name_size};
    parts[3] = (struct argument_part){"}", tagged ? 0 : 1};
}

void channel_parts(const struct resource *resource, struct argument_part parts[4]) {
    derived_parts(kind_of(resource)->channel_prefix, resource, parts);
}

bool channel_is_of(const struct resource *resource, const char *channel, size_t size) {
    struct argument_part parts[4];
    channel_parts(resource, parts);
    for (int i = 0; i < 4; i++) {
        if (size < parts[i].size || memcmp(channel, parts[i].text, parts[i].size) != 0) {
            return false;
        }
        channel += parts[i].size;
        size -= parts[i].size;
    }
    return size == 0;
}

/* The names follow the first colon: a prefix has one, at its end. */
size_t channel_names(const char *channel, size_t size, struct argument_part names[CHANNEL_NAMES_MAX]) {
    const char *colon = memchr(channel, ':', size);
    if (!colon) {
        return 0;
    }
    const char *name = colon + 1;
    size -= (size_t)(name - channel);
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

static void put_derived(struct argument_sink *sink, const char *prefix, const struct resource *resource) {
    struct argument_part parts[4];
    derived_parts(prefix, resource, parts);
    sink->append(sink, parts, 4);
}

static void write_letter(const struct engine *engine, const struct command *command, char letter,
                         struct argument_sink *sink) {
    switch (letter) {
    case 'N':
        put(sink, command->resource->name, command->resource->name_size);
        break;
    case 'T':
        put_derived(sink, "redisson_lock_token:", command->resource);
        break;
    case 'C':
        put_derived(sink, kind_of(command->resource)->channel_prefix, command->resource);
        break;
    case 'o':
        put_owner(engine, sink, command->id);
        break;
    case 's':
        put_owner(engine, sink, command->successor);
        break;
    case 'n':
        put_number(sink, command->count);
        break;
    case 'l':
        put_number(sink, (uint64_t)command->lease_ms);
        break;
    case 'f':
        put_number(sink, command->token_from_time);
        break;
    case 'M':
        put(sink, "m", 1);
        break;
    case 'F':
        put(sink, "f", 1);
        break;
    default:
        assert(!"a letter that the table of forms explains");
    }
}

static void write_letters(const struct engine *engine, const struct command *command, const char *letters,
                          struct argument_sink *sink) {
    for (; *letters; letters++) {
        write_letter(engine, command, *letters, sink);
    }
}

/* The lines of a renewal, each written as a command of its own would be. */
static void write_lines(const struct engine *engine, const struct command *command, bool keys,
                        struct argument_sink *sink) {
    for (uint32_t i = 0; i < command->batch_count; i++) {
        const struct renewal *line = &command->batch[i];
        struct command alone = {.resource = line->name, .id = line->id, .lease_ms = line->lease_ms};
        const struct form *form = form_of(line->lock_kind, COMMAND_RENEW);
        write_letters(engine, &alone, keys ? form->keys : form->arguments, sink);
    }
}

/* The same of an acquire or a release of several names. */
static void write_set(const struct engine *engine, const struct command *command, bool keys,
                      struct argument_sink *sink) {
    for (uint32_t i = 0; i < command->line_count; i++) {
        const struct line *line = &command->lines->line[i];
        struct command alone = {
            .resource = line->name, .id = line->id, .count = line->count, .token_from_time = line->token_from_time};
        const struct form *form = form_of(line->lock_kind, command->kind);
        write_letters(engine, &alone, keys ? form->keys : form->arguments, sink);
    }
}

static void write_question(const struct question *question, struct argument_sink *sink) {
    for (uint32_t i = 0; i < question->key_count + question->argument_count; i++) {
        sink->append(sink, &question->words[i], 1);
    }
}

void command_write(const struct engine *engine, const struct command *command, struct argument_sink *sink) {
    if (command->kind == COMMAND_INSPECT) {
        write_question(command->operation->question, sink);
        return;
    }
    if (command->kind == COMMAND_RENEW) {
        write_lines(engine, command, true, sink);
        write_lines(engine, command, false, sink);
        return;
    }
    if (command->lines) {
        write_set(engine, command, true, sink);
        if (command->kind == COMMAND_ACQUIRE_MANY) {
            write_letter(engine, command, 'l', sink);
        }
        write_set(engine, command, false, sink);
        return;
    }
    const struct form *form = form_of(command->lock_kind, command->kind);
    write_letters(engine, command, form->keys, sink);
    write_letters(engine, command, form->arguments, sink);
}
