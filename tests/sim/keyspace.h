/* An in-memory Redis: one server's keys, its wall clock and its commands, without a network.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Behaves as Redis 7.0.15, with which model_check compares it. A key exists up to and including the millisecond at
 * which it expires. An expired key is removed when a command next accesses it. The time changes only when it is set, so
 * it stands still while a script runs.
 *
 * The order of keys, fields and replies depends on the calls alone, never on addresses or hashes. Keys and hash fields
 * are in the order in which they were created. (In Redis that holds only while a hash is small.)
 *
 * Commands: EXISTS DEL TYPE PTTL PEXPIRE PEXPIREAT PERSIST, HSET HGET HSETNX HDEL HEXISTS HINCRBY HLEN HGETALL HKEYS
 * HMGET HSTRLEN, SET (NX XX PX KEEPTTL GET) GET STRLEN GETDEL INCR DECR INCRBY DECRBY, LPUSH RPUSH LPOP RPOP LINDEX
 * LLEN LRANGE LREM, ZADD ZINCRBY ZREM ZSCORE ZCARD ZCOUNT ZRANGE (not BYLEX) ZRANGEBYSCORE, PUBLISH SPUBLISH TIME.
 * PEXPIRE and PEXPIREAT take no options, as before Redis 7. SCAN HSCAN HRANDFIELD and MEMORY USAGE guarantee what Redis
 * guarantees, by other algorithms (redis_scans.c). model_check does not compare them, STRLEN or HSTRLEN. */
#ifndef KEYSPACE_H
#define KEYSPACE_H

#include "redis_reply.h"

struct keyspace;

/* Receives a message of PUBLISH, or of SPUBLISH if `sharded`. Returns the number of receivers, which is the command's
 * reply. Must not change the keyspace, because it is called in the middle of a command. */
typedef int keyspace_publish_handler(void *context, bool sharded, struct redis_text channel, struct redis_text message);

/* Returns an empty keyspace with its clock at 0 and without a publish handler. */
struct keyspace *keyspace_new(void);
void keyspace_free(struct keyspace *keyspace);

/* Returns a deep copy with the same clock and publish handler: what a server would find again after a restart. */
struct keyspace *keyspace_copy(const struct keyspace *keyspace);

void keyspace_on_publish(struct keyspace *keyspace, keyspace_publish_handler *handler, void *context);

/* The server's wall clock in ms. It may also be set back. */
void keyspace_set_time(struct keyspace *keyspace, int64_t now_ms);
int64_t keyspace_time(const struct keyspace *keyspace);

/* Returns how many changes commands have made, as Redis counts them. Changes are what is replicated and what WAIT waits
 * for. */
uint64_t keyspace_changes(const struct keyspace *keyspace);

/* The state of the slot of a script's keys: all its keys are here, it migrates to another node, or it is imported from
 * one. */
enum slot_side { SLOT_WHOLE, SLOT_MIGRATES, SLOT_IMPORTED };

/* Sets the slot's state. It determines which commands a node of a cluster refuses within a script. */
void keyspace_set_side(struct keyspace *keyspace, enum slot_side side);

/* Runs a command as a client would send it. arguments[0] is its name. Does not free the former content of
 * `reply_out`. */
void keyspace_call(struct keyspace *keyspace, const struct redis_text *arguments, size_t count,
                   struct redis_reply *reply_out);

/* FLUSHALL. */
void keyspace_clear(struct keyspace *keyspace);

/* Iterates over the keys that have not expired. Start with *cursor = 0; returns false at the end. A key is borrowed
 * until the next change. Keys may be deleted during the iteration. */
bool keyspace_next_key(const struct keyspace *keyspace, uint32_t *cursor, struct redis_text *key_out);

/* Returns whether the key existed. */
bool keyspace_delete(struct keyspace *keyspace, struct redis_text key);

/* Shortcuts for tests. A write to a key of another type replaces it with a key that never expires. */
bool keyspace_exists(struct keyspace *keyspace, struct redis_text key);
int64_t keyspace_pttl(struct keyspace *keyspace, struct redis_text key); /* ms left; -1: no expiry, -2: no key */
bool keyspace_pexpireat(struct keyspace *keyspace, struct redis_text key, int64_t at_ms); /* the last ms it exists */
void keyspace_set(struct keyspace *keyspace, struct redis_text key, struct redis_text text);
void keyspace_hset(struct keyspace *keyspace, struct redis_text key, struct redis_text field, struct redis_text text);

/* Returns false if the key does not exist or holds no string. The text is borrowed until the next change. */
bool keyspace_get(struct keyspace *keyspace, struct redis_text key, struct redis_text *text_out);

/* Returns false if the key does not exist, holds no hash or has no such field. The text is borrowed until the next
 * change. */
bool keyspace_hget(struct keyspace *keyspace, struct redis_text key, struct redis_text field,
                   struct redis_text *text_out);

#endif
