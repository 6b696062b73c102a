/* Seeded random commands and scripts for comparing the in-memory Redis with a real one.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A small set of keys, fields and values, so that calls meet each other; leases of a few milliseconds, and for a while
 * after one was given mostly calls on its key, so that the millisecond of expiry is met often; now and then arguments
 * that are refused. */
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
    int script;   /* -1: a command; else KEYS are the first CALL_SCRIPT_KEYS arguments, ARGV the others */
    size_t count; /* of arguments */
    struct redis_text arguments[CALL_ARGUMENTS_MAX];
    int commands[CALL_COMMANDS_MAX]; /* the command_shapes it holds, for counting */
    size_t command_count;
    char texts[CALL_ARGUMENTS_MAX][CALL_TEXT_MAX];
};

struct random_calls {
    uint64_t state;
    int64_t now_ms;
    struct call_script scripts[CALL_SCRIPTS_MAX]; /* own_scripts, then those added */
    int script_count;
    size_t focus; /* the key that most calls are about, while focus_left lasts */
    int focus_left;
};

void random_calls_init(struct random_calls *calls, uint64_t seed);

/* Adds a script of the project; name and text must outlive `calls`. False when there are too many. */
bool random_calls_add_script(struct random_calls *calls, const char *name, const char *text);

/* The next call; `now_ms` is the server's time, for expiry at points in time. */
void random_calls_next(struct random_calls *calls, int64_t now_ms, struct random_call *call_out);

/* All keys that calls use. */
const struct redis_text *random_calls_keys(size_t *count_out);

#endif
