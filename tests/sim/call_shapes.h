/* The calls by which model_check compares the in-memory Redis with a real one: commands, and scripts written for this
 * comparison.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CALL_SHAPES_H
#define CALL_SHAPES_H

#include <stddef.h>

enum key_kind { KEY_STRING, KEY_HASH, KEY_LIST, KEY_SORTED_SET, KEY_ANY };

/* The letters of `arguments`. `*` repeats the argument before it up to twice more.
 *   k key   f field or member   v value   i increment   m position   t time to live   a point in time   s score
 *   b bound   c channel   n optional count   P field and value   Q score and member   R range of ZRANGE with options
 *   S Z L options of SET, ZADD, ZRANGEBYSCORE */
struct command_shape {
    const char *name;
    enum key_kind kind; /* of the command's key */
    const char *arguments;
    size_t weight; /* how often the command is drawn */
};

/* What the ARGV of a script contain: one command; several commands, each after its number of arguments; or anything. */
enum argv_shape { ARGV_COMMAND, ARGV_COMMANDS, ARGV_ANYTHING };

struct call_script {
    const char *name;
    const char *text;
    enum argv_shape shape;
};

enum { COMMAND_SHAPES = 43, OWN_SCRIPTS = 27, OWN_COMMAND_SCRIPTS = 7 };

/* The first OWN_COMMAND_SCRIPTS scripts run the commands in their ARGV. */
extern const struct command_shape command_shapes[COMMAND_SHAPES];
extern const struct call_script own_scripts[OWN_SCRIPTS];

#endif
