/* Runs server-side scripts on an in-memory Redis, as EVAL of Redis 7.0.15 does.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Lua 5.1 runs the text unchanged and compiles it once. One host serves any number of keyspaces. Which scripts a
 * simulated server knows (NOSCRIPT) is decided by the simulation.
 *
 * Scripts see KEYS, ARGV, redis.call, redis.pcall, redis.acl_check_cmd, redis.error_reply, redis.status_reply, the
 * libraries string, table and math (without random), and of the basic functions assert, error, getmetatable, ipairs,
 * next, pairs, pcall, rawequal, rawget, select, setmetatable, tonumber, tostring, type and unpack. Other names of Redis
 * (cjson, bit, redis.log, ...) count as nonexistent globals or are nil. An error text ends in `script: <40 digits>, on
 * @user_script:<line>.` as from Redis, but the digits are the script's number, not its SHA1. */
#ifndef SCRIPT_HOST_H
#define SCRIPT_HOST_H

#include "keyspace.h"

struct script_host;

struct script_host *script_host_new(void);
void script_host_free(struct script_host *host);

/* Returns the number of the script, the same for the same text. Returns -1 if it does not compile: see
 * script_host_load_error. */
int script_host_load(struct script_host *host, struct redis_text text);

/* Returns what Redis would reply to the text that script_host_load refused last. */
const char *script_host_load_error(const struct script_host *host);

/* Runs a script. Its effects stay if it fails in the middle. Does not free the former content of `reply_out`. */
void script_host_run(struct script_host *host, struct keyspace *keyspace, int script, const struct redis_text *keys,
                     size_t key_count, const struct redis_text *arguments, size_t argument_count,
                     struct redis_reply *reply_out);

#endif
