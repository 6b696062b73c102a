/* An in-memory Redis: one server's keys, its wall clock and its commands, without a network.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Behaves as Redis 7.0.15, which model_check compares it with. A key is there up to and including the millisecond it
 * expires at, and is removed when it is next looked for. Time stands still until it is set, so also while a script
 * runs.
 *
 * Keys, fields and answers come in an order that depends on the calls alone, never on addresses or hashes: keys and
 * hash fields in the order they were made (Redis: only while a hash is small).
 *
 * Commands: EXISTS DEL TYPE PTTL PEXPIRE PEXPIREAT PERSIST, HSET HGET HSETNX HDEL HEXISTS HINCRBY HLEN HGETALL HKEYS
 * HMGET HSTRLEN, SET (NX XX PX KEEPTTL GET) GET GETDEL INCR DECR INCRBY DECRBY, LPUSH RPUSH LPOP RPOP LINDEX LLEN
 * LRANGE LREM, ZADD ZINCRBY ZREM ZSCORE ZCARD ZCOUNT ZRANGE (not BYLEX) ZRANGEBYSCORE, PUBLISH SPUBLISH TIME. PEXPIRE
 * and PEXPIREAT take no options, as before Redis 7. SCAN HSCAN HRANDFIELD and MEMORY USAGE keep Redis' promises but not
 * its ways (redis_scans.c); model_check compares neither them nor HSTRLEN. */
#ifndef KEYSPACE_H
#define KEYSPACE_H

#include "redis_reply.h"

struct keyspace;

/* A message of PUBLISH, or of SPUBLISH when `sharded`. Returns the number of receivers, which the command answers.
 * Must not change the keyspace: it is called in the middle of a command. */
typedef int keyspace_publish_handler(void *context, bool sharded, struct redis_text channel, struct redis_text message);

/* No keys, clock at 0, messages heard by nobody. */
struct keyspace *keyspace_new(void);
void keyspace_free(struct keyspace *keyspace);

/* A deep copy with the same clock and publish handler: what a server would find again after a restart. */
struct keyspace *keyspace_copy(const struct keyspace *keyspace);

void keyspace_on_publish(struct keyspace *keyspace, keyspace_publish_handler *handler, void *context);

/* The server's wall clock in ms; it may be set back too. */
void keyspace_set_time(struct keyspace *keyspace, int64_t now_ms);
int64_t keyspace_time(const struct keyspace *keyspace);

/* How many changes commands have made, as Redis counts them: what is replicated, and what WAIT waits for. */
uint64_t keyspace_changes(const struct keyspace *keyspace);

/* Of the slot that a script is about: whether its keys are all here, or on their way to another node, or from one. */
enum slot_side { SLOT_WHOLE, SLOT_MIGRATES, SLOT_IMPORTED };

/* What a node of a cluster refuses within a script from now on. */
void keyspace_set_side(struct keyspace *keyspace, enum slot_side side);

/* Runs a command as a client's: arguments[0] is its name. Frees nothing of `reply_out` that was there before. */
void keyspace_call(struct keyspace *keyspace, const struct redis_text *arguments, size_t count,
                   struct redis_reply *reply_out);

/* FLUSHALL. */
void keyspace_clear(struct keyspace *keyspace);

/* The keys that have not expired: start with *cursor = 0; false ends. A key is borrowed until the next change; deleting
 * keys on the way is allowed. */
bool keyspace_next_key(const struct keyspace *keyspace, uint32_t *cursor, struct redis_text *key_out);

/* Returns whether the key was there. */
bool keyspace_delete(struct keyspace *keyspace, struct redis_text key);

/* Short ways for tests. Writing over a key of another type replaces it, and it never expires then. */
bool keyspace_exists(struct keyspace *keyspace, struct redis_text key);
int64_t keyspace_pttl(struct keyspace *keyspace, struct redis_text key); /* ms left; -1: no expiry, -2: no key */
bool keyspace_pexpireat(struct keyspace *keyspace, struct redis_text key, int64_t at_ms); /* the last ms it is there */
void keyspace_set(struct keyspace *keyspace, struct redis_text key, struct redis_text text);
void keyspace_hset(struct keyspace *keyspace, struct redis_text key, struct redis_text field, struct redis_text text);

/* False when the key is not there or holds no string. The text is borrowed until the next change. */
bool keyspace_get(struct keyspace *keyspace, struct redis_text key, struct redis_text *text_out);

/* False when the key is not there, holds no hash or has no such field. The text is borrowed until the next change. */
bool keyspace_hget(struct keyspace *keyspace, struct redis_text key, struct redis_text field,
                   struct redis_text *text_out);

#endif
