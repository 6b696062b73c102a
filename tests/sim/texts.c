/* Blocks of texts are written in two passes: the first measures, the second fills.
 * SPDX-License-Identifier: Apache-2.0 */
#include "texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"

struct texts_sink {
    struct argument_sink sink;
    struct redis_text *texts;
    uint32_t count;
    size_t size;
    char *at; /* NULL: measure only */
};

static void append(struct argument_sink *sink, const struct argument_part *parts, size_t part_count) {
    struct texts_sink *self = container_of(sink, struct texts_sink, sink);
    size_t size = 0;
    for (size_t i = 0; i < part_count; i++) {
        if (self->at) {
            memcpy(self->at + size, parts[i].text, parts[i].size);
        }
        size += parts[i].size;
    }
    if (self->at) {
        self->texts[self->count] = (struct redis_text){self->at, size};
        self->at[size] = '\0';
        self->at += size + 1;
    }
    self->count++;
    self->size += size + 1;
}

/* Allocates a block of the measured size. */
static struct texts_sink make_room(const struct texts_sink *measured) {
    struct redis_text *texts = allocate(1, measured->count * sizeof *texts + measured->size);
    return (struct texts_sink){{append}, texts, 0, 0, (char *)(texts + measured->count)};
}

struct redis_text *texts_of_command(const struct engine *engine, const struct command *command, uint32_t *key_count_out,
                                    uint32_t *argument_count_out) {
    struct texts_sink measured = {{append}, NULL, 0, 0, NULL};
    command_counts(command, key_count_out, argument_count_out);
    command_write(engine, command, &measured.sink);
    if (measured.count != *key_count_out + *argument_count_out) {
        fprintf(stderr, "a command of the kind %d has %u words, expected %u keys and %u arguments\n", command->kind,
                measured.count, *key_count_out, *argument_count_out);
        abort();
    }
    struct texts_sink texts = make_room(&measured);
    command_write(engine, command, &texts.sink);
    return texts.texts;
}

static void append_all(struct texts_sink *sink, const struct redis_text *texts, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        struct argument_part part = {texts[i].bytes, texts[i].size};
        append(&sink->sink, &part, 1);
    }
}

struct redis_text *texts_copy(const struct redis_text *texts, uint32_t count) {
    struct texts_sink measured = {{append}, NULL, 0, 0, NULL};
    append_all(&measured, texts, count);
    struct texts_sink copy = make_room(&measured);
    append_all(&copy, texts, count);
    return copy.texts;
}
