/* The commands of the in-memory Redis: the table, and what their bodies share.
 * SPDX-License-Identifier: Apache-2.0 */
#include "redis_commands.h"

#include <stdlib.h>

/* Sorted by name. */
static const struct redis_command commands[] = {
    {"decr", WRITES, 2, run_decr},
    {"decrby", WRITES, 3, run_decrby},
    {"del", WRITES_IF_IT_SAYS_SO, -2, run_del},
    {"exists", READS, -2, run_exists},
    {"get", READS, 2, run_get},
    {"getdel", WRITES_IF_IT_SAYS_SO, 2, run_getdel},
    {"hdel", WRITES_IF_IT_SAYS_SO, -3, run_hdel},
    {"hexists", READS, 3, run_hexists},
    {"hget", READS, 3, run_hget},
    {"hgetall", READS, 2, run_hgetall},
    {"hincrby", WRITES, 4, run_hincrby},
    {"hkeys", READS, 2, run_hkeys},
    {"hlen", READS, 2, run_hlen},
    {"hmget", READS, -3, run_hmget},
    {"hrandfield", READS, -2, run_hrandfield},
    {"hscan", READS, -3, run_hscan},
    {"hset", WRITES, -4, run_hset},
    {"hsetnx", WRITES_IF_IT_SAYS_SO, 4, run_hsetnx},
    {"hstrlen", READS, 3, run_hstrlen},
    {"incr", WRITES, 2, run_incr},
    {"incrby", WRITES, 3, run_incrby},
    {"lindex", READS, 3, run_lindex},
    {"llen", READS, 2, run_llen},
    {"lpop", WRITES_IF_IT_SAYS_SO, -2, run_lpop},
    {"lpush", WRITES, -3, run_lpush},
    {"lrange", READS, 4, run_lrange},
    {"lrem", WRITES_IF_IT_SAYS_SO, 4, run_lrem},
    {"memory", READS, -2, run_memory},
    {"persist", WRITES_IF_IT_SAYS_SO, 2, run_persist},
    {"pexpire", WRITES_IF_IT_SAYS_SO, 3, run_pexpire},
    {"pexpireat", WRITES_IF_IT_SAYS_SO, 3, run_pexpireat},
    {"pttl", READS, 2, run_pttl},
    {"publish", READS, 3, run_publish},
    {"rpop", WRITES_IF_IT_SAYS_SO, -2, run_rpop},
    {"rpush", WRITES, -3, run_rpush},
    {"scan", READS, -2, run_scan},
    {"set", WRITES_IF_IT_SAYS_SO, -3, run_set},
    {"spublish", READS, 3, run_spublish},
    {"strlen", READS, 2, run_strlen},
    {"time", READS, 1, run_time},
    {"type", READS, 2, run_type},
    {"zadd", WRITES, -4, run_zadd},
    {"zcard", READS, 2, run_zcard},
    {"zcount", READS, 4, run_zcount},
    {"zincrby", WRITES, 4, run_zincrby},
    {"zrange", READS, -4, run_zrange},
    {"zrangebyscore", READS, -4, run_zrangebyscore},
    {"zrem", WRITES_IF_IT_SAYS_SO, -3, run_zrem},
    {"zscore", READS, 3, run_zscore},
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0], NAME_SIZE_MAX = 16 };

static int compare_name(const void *name, const void *command) {
    return strcmp(name, ((const struct redis_command *)command)->name);
}

const struct redis_command *redis_command_find(struct redis_text name) {
    char lower[NAME_SIZE_MAX + 1];
    if (name.size > NAME_SIZE_MAX) {
        return NULL;
    }
    for (size_t i = 0; i < name.size; i++) {
        char byte = name.bytes[i];
        lower[i] = byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
    }
    lower[name.size] = '\0';
    const struct redis_command *command = bsearch(lower, commands, COMMAND_COUNT, sizeof commands[0], compare_name);
    return command && strlen(command->name) == name.size ? command : NULL;
}

bool redis_command_takes(const struct redis_command *command, size_t count) {
    return command->arity < 0 ? count >= (size_t)-command->arity : count == (size_t)command->arity;
}

/* Returns whether a command changed something, as Redis counts changes. */
static bool has_written(const struct redis_command *command, const struct redis_reply *reply) {
    bool nothing = reply->kind == REDIS_NIL || (reply->kind == REDIS_INTEGER && reply->integer == 0);
    bool refused = reply->kind == REDIS_ERROR || command->effect == READS;
    return !refused && (command->effect == WRITES || !nothing);
}

/* Returns how many of the arguments after the name are keys. */
static size_t count_keys(const struct redis_command *command, size_t count) {
    if (command->run == run_exists || command->run == run_del) {
        return count - 1;
    }
    bool none = command->run == run_publish || command->run == run_spublish || command->run == run_time ||
                command->run == run_scan || command->run == run_memory;
    return none ? 0 : 1;
}

bool redis_command_is_local(const struct redis_command *command, struct keyspace *keyspace,
                            const struct redis_text *arguments, size_t count) {
    enum slot_side side = keyspace_side(keyspace);
    size_t keys = side == SLOT_WHOLE ? 0 : count_keys(command, count);
    size_t missing = 0;
    for (size_t i = 1; i <= keys; i++) {
        missing += !keyspace_exists(keyspace, arguments[i]);
    }
    return missing == 0 || (side == SLOT_IMPORTED && keys == 1);
}

void redis_command_run(const struct redis_command *command, struct keyspace *keyspace,
                       const struct redis_text *arguments, size_t count, struct redis_reply *reply_out) {
    redis_reply_nil(reply_out);
    command->run(&(struct redis_call){keyspace, command, arguments, count, reply_out});
    if (has_written(command, reply_out)) {
        keyspace_note_change(keyspace);
    }
}

void keyspace_call(struct keyspace *keyspace, const struct redis_text *arguments, size_t count,
                   struct redis_reply *reply_out) {
    const struct redis_command *command = redis_command_find(arguments[0]);
    if (!command) {
        redis_reply_error(reply_out, "ERR unknown command '%.*s'", (int)arguments[0].size, arguments[0].bytes);
    } else if (!redis_command_takes(command, count)) {
        answer_wrong_arity(&(struct redis_call){keyspace, command, arguments, count, reply_out});
    } else {
        redis_command_run(command, keyspace, arguments, count, reply_out);
    }
}

void answer_wrong_arity(struct redis_call *call) {
    redis_reply_error(call->reply, "ERR wrong number of arguments for '%s' command", call->command->name);
}

bool find_key(struct redis_call *call, enum value_kind kind, struct stored_value **value_out) {
    *value_out = keyspace_find(call->keyspace, call->arguments[1]);
    if (*value_out && (*value_out)->kind != kind) {
        redis_reply_error(call->reply, "WRONGTYPE Operation against a key holding the wrong kind of value");
        return false;
    }
    return true;
}

struct stored_value *find_or_make_key(struct redis_call *call, enum value_kind kind) {
    struct stored_value *value = NULL;
    if (!find_key(call, kind, &value)) {
        return NULL;
    }
    if (!value) {
        value = value_new(kind);
        keyspace_put(call->keyspace, call->arguments[1], value);
    }
    return value;
}

void drop_key_if_empty(struct redis_call *call, const struct stored_value *value) {
    if (value_is_empty(value)) {
        keyspace_delete(call->keyspace, call->arguments[1]);
    }
}

bool integer_argument(struct redis_call *call, size_t index, int64_t *integer_out) {
    if (integer_parse(call->arguments[index], integer_out)) {
        return true;
    }
    redis_reply_error(call->reply, NOT_AN_INTEGER);
    return false;
}

bool add_increment(struct redis_call *call, int64_t increment, int64_t *number) {
    if (increment > 0 ? *number > INT64_MAX - increment : *number < INT64_MIN - increment) {
        redis_reply_error(call->reply, "ERR increment or decrement would overflow");
        return false;
    }
    *number += increment;
    return true;
}

bool double_argument(struct redis_call *call, size_t index, double *number_out) {
    if (double_parse(call->arguments[index], number_out)) {
        return true;
    }
    redis_reply_error(call->reply, "ERR value is not a valid float");
    return false;
}

void resolve_range(int64_t start, int64_t stop, size_t size, size_t *first_out, size_t *count_out) {
    int64_t length = (int64_t)size;
    start = start < 0 ? start + length : start;
    stop = stop < 0 ? stop + length : stop;
    start = start < 0 ? 0 : start;
    stop = stop >= length ? length - 1 : stop;
    *first_out = start < length ? (size_t)start : 0;
    *count_out = start <= stop ? (size_t)(stop - start + 1) : 0;
}
