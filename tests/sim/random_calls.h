/* Seeded random commands and scripts for comparing the in-memory Redis with a real one.
 * SPDX-License-Identifier: Apache-2.0
 *
 * There are few keys, fields and values, so that several calls use the same ones. TTLs are often a few milliseconds,
 * and most calls after such a TTL use its key, so that many calls run in the millisecond of expiry. Some arguments are
 * ones that Redis refuses. */
#ifndef RANDOM_CALLS_H
#define RANDOM_CALLS_H

#include "call_shapes.h"
#include "redis_text.h"

enum {
    CALL_ARGUMENTS_MAX = 64,
    CALL_TEXT_MAX = 80,
    CALL_SCRIPT_KEYS = 3,
    CALL_SCRIPTS_MAX = 96,
    CALL_COMMANDS_MAX = 3 /* in one call */
};

struct random_call {
    int script;   /* -1: a command. Else the first CALL_SCRIPT_KEYS arguments are KEYS, the others ARGV. */
    size_t count; /* of arguments */
    struct redis_text arguments[CALL_ARGUMENTS_MAX];
    int commands[CALL_COMMANDS_MAX]; /* indices in command_shapes, for counting */
    size_t command_count;
    char texts[CALL_ARGUMENTS_MAX][CALL_TEXT_MAX];
};

struct random_calls {
    uint64_t state;
    int64_t now_ms;
    struct call_script scripts[CALL_SCRIPTS_MAX]; /* own_scripts, then the added ones */
    int script_count;
    size_t focus; /* the key that most calls use while focus_left lasts */
    int focus_left;
};

void random_calls_init(struct random_calls *calls, uint64_t seed);

/* Adds a script of the project. `name` and `text` must outlive `calls`. Returns false if there are too many scripts. */
bool random_calls_add_script(struct random_calls *calls, const char *name, const char *text);

/* Makes the next call. `now_ms` is the server's time, for expiry at points in time. */
void random_calls_next(struct random_calls *calls, int64_t now_ms, struct random_call *call_out);

/* Returns all keys that calls use. */
const struct redis_text *random_calls_keys(size_t *count_out);

#endif
