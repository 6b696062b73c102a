/* What the commands of the in-memory Redis share: finding keys, reading arguments, the table of commands. Not for
 * tests.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef REDIS_COMMANDS_H
#define REDIS_COMMANDS_H

#include "keyspace.h"
#include "stored_value.h"

#define SYNTAX_ERROR "ERR syntax error"
#define NOT_AN_INTEGER "ERR value is not an integer or out of range"

/* One command in progress. `run` leaves its reply in `reply`, which is nil at first. */
struct redis_call {
    struct keyspace *keyspace;
    const struct redis_command *command;
    const struct redis_text *arguments; /* [0] is the name */
    size_t count;
    struct redis_reply *reply;
};

/* Whether a command changes keys. A command of the third sort replies nil or 0 if it has changed nothing. */
enum command_effect { READS, WRITES, WRITES_IF_IT_SAYS_SO };

struct redis_command {
    const char *name; /* lower case */
    enum command_effect effect;
    int arity; /* number of arguments, the name included; negative: that many or more */
    void (*run)(struct redis_call *call);
};

/* Returns the command of that name in any case, or NULL. */
const struct redis_command *redis_command_find(struct redis_text name);
bool redis_command_takes(const struct redis_command *command, size_t count);
/* Returns whether a node of a cluster runs a command within a script. While the slot migrates, the node refuses a
 * command if it lacks any of its keys. While it imports the slot, it refuses a command on several keys if it lacks any
 * of them. */
bool redis_command_is_local(const struct redis_command *command, struct keyspace *keyspace,
                            const struct redis_text *arguments, size_t count);
void redis_command_run(const struct redis_command *command, struct keyspace *keyspace,
                       const struct redis_text *arguments, size_t count, struct redis_reply *reply_out);

/* keyspace.c: returns the value of a key that has not expired, or NULL. */
struct stored_value *keyspace_find(struct keyspace *keyspace, struct redis_text key);

/* keyspace.c: makes `value` the value of the key and frees the former value. */
void keyspace_put(struct keyspace *keyspace, struct redis_text key, struct stored_value *value);

/* keyspace.c: returns the state that was set last. */
enum slot_side keyspace_side(const struct keyspace *keyspace);

/* keyspace.c: counts one change. */
void keyspace_note_change(struct keyspace *keyspace);

/* keyspace.c: calls the publish handler and returns the number of receivers. */
int keyspace_publish(struct keyspace *keyspace, bool sharded, struct redis_text channel, struct redis_text message);

/* Finds the key arguments[1]. *value_out is NULL if it does not exist. Returns false, with the error reply set, if it
 * is of another kind. */
bool find_key(struct redis_call *call, enum value_kind kind, struct stored_value **value_out);

/* As find_key, but creates an empty value if the key does not exist. Returns NULL if the key is of another kind. */
struct stored_value *find_or_make_key(struct redis_call *call, enum value_kind kind);

/* Deletes the key arguments[1] if its value is empty. */
void drop_key_if_empty(struct redis_call *call, const struct stored_value *value);

/* Reads an argument. Returns false, with the error reply set, if it is no valid number. */
bool integer_argument(struct redis_call *call, size_t index, int64_t *integer_out);
bool double_argument(struct redis_call *call, size_t index, double *number_out);

/* Adds to a number. Returns false, with the error reply set, on overflow. */
bool add_increment(struct redis_call *call, int64_t increment, int64_t *number);

void answer_wrong_arity(struct redis_call *call);

/* Converts two positions, which may count from the end, into the first element and the number of elements. */
void resolve_range(int64_t start, int64_t stop, size_t size, size_t *first_out, size_t *count_out);

/* redis_keys.c */
void run_exists(struct redis_call *call);
void run_del(struct redis_call *call);
void run_type(struct redis_call *call);
void run_pttl(struct redis_call *call);
void run_pexpire(struct redis_call *call);
void run_pexpireat(struct redis_call *call);
void run_persist(struct redis_call *call);
void run_publish(struct redis_call *call);
void run_spublish(struct redis_call *call);
void run_time(struct redis_call *call);

/* redis_strings.c */
void run_set(struct redis_call *call);
void run_get(struct redis_call *call);
void run_getdel(struct redis_call *call);
void run_strlen(struct redis_call *call);
void run_incr(struct redis_call *call);
void run_decr(struct redis_call *call);
void run_incrby(struct redis_call *call);
void run_decrby(struct redis_call *call);

/* redis_hashes.c */
void run_hset(struct redis_call *call);
void run_hsetnx(struct redis_call *call);
void run_hget(struct redis_call *call);
void run_hmget(struct redis_call *call);
void run_hdel(struct redis_call *call);
void run_hexists(struct redis_call *call);
void run_hincrby(struct redis_call *call);
void run_hlen(struct redis_call *call);
void run_hgetall(struct redis_call *call);
void run_hkeys(struct redis_call *call);
void run_hstrlen(struct redis_call *call);

/* redis_scans.c */
void run_scan(struct redis_call *call);
void run_hscan(struct redis_call *call);
void run_hrandfield(struct redis_call *call);
void run_memory(struct redis_call *call);

/* redis_lists.c */
void run_lpush(struct redis_call *call);
void run_rpush(struct redis_call *call);
void run_lpop(struct redis_call *call);
void run_rpop(struct redis_call *call);
void run_lindex(struct redis_call *call);
void run_llen(struct redis_call *call);
void run_lrange(struct redis_call *call);
void run_lrem(struct redis_call *call);

/* redis_sorted_sets.c */
void run_zadd(struct redis_call *call);
void run_zincrby(struct redis_call *call);
void run_zrem(struct redis_call *call);
void run_zscore(struct redis_call *call);
void run_zcard(struct redis_call *call);
void run_zcount(struct redis_call *call);
void run_zrange(struct redis_call *call);
void run_zrangebyscore(struct redis_call *call);

#endif
