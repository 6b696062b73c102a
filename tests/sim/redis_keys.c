/* Commands of the in-memory Redis on keys of any type, messages and time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "redis_commands.h"

void run_exists(struct redis_call *call) {
    int64_t found = 0;
    for (size_t i = 1; i < call->count; i++) {
        found += keyspace_exists(call->keyspace, call->arguments[i]);
    }
    redis_reply_integer(call->reply, found);
}

void run_del(struct redis_call *call) {
    int64_t deleted = 0;
    for (size_t i = 1; i < call->count; i++) {
        deleted += keyspace_delete(call->keyspace, call->arguments[i]);
    }
    redis_reply_integer(call->reply, deleted);
}

void run_type(struct redis_call *call) {
    static const char *const names[] = {
        [VALUE_STRING] = "string", [VALUE_HASH] = "hash", [VALUE_LIST] = "list", [VALUE_SORTED_SET] = "zset"};
    const struct stored_value *value = keyspace_find(call->keyspace, call->arguments[1]);
    redis_reply_status(call->reply, redis_text(value ? names[value->kind] : "none"));
}

void run_pttl(struct redis_call *call) {
    redis_reply_integer(call->reply, keyspace_pttl(call->keyspace, call->arguments[1]));
}

/* Sets the expiry. A time that is not in the future deletes the key at once. */
static void expire_at(struct redis_call *call, int64_t at_ms) {
    struct redis_text key = call->arguments[1];
    bool found = at_ms <= keyspace_time(call->keyspace) ? keyspace_delete(call->keyspace, key)
                                                        : keyspace_pexpireat(call->keyspace, key, at_ms);
    redis_reply_integer(call->reply, found);
}

void run_pexpire(struct redis_call *call) {
    int64_t after_ms = 0;
    if (!integer_argument(call, 2, &after_ms)) {
        return;
    }
    int64_t now_ms = keyspace_time(call->keyspace);
    if (after_ms > INT64_MAX - now_ms) {
        redis_reply_error(call->reply, "ERR invalid expire time in 'pexpire' command");
        return;
    }
    expire_at(call, now_ms + after_ms);
}

void run_pexpireat(struct redis_call *call) {
    int64_t at_ms = 0;
    if (integer_argument(call, 2, &at_ms)) {
        expire_at(call, at_ms);
    }
}

void run_persist(struct redis_call *call) {
    struct stored_value *value = keyspace_find(call->keyspace, call->arguments[1]);
    bool had_expiry = value && value->expires_at != NEVER_EXPIRES;
    if (had_expiry) {
        value->expires_at = NEVER_EXPIRES;
    }
    redis_reply_integer(call->reply, had_expiry);
}

static void publish(struct redis_call *call, bool sharded) {
    redis_reply_integer(call->reply, keyspace_publish(call->keyspace, sharded, call->arguments[1], call->arguments[2]));
}

void run_publish(struct redis_call *call) {
    publish(call, false);
}

void run_spublish(struct redis_call *call) {
    publish(call, true);
}

void run_time(struct redis_call *call) {
    int64_t now_ms = keyspace_time(call->keyspace);
    char text[NUMBER_TEXT_SIZE];
    struct redis_reply *elements = redis_reply_array(call->reply, 2);
    redis_reply_bulk(&elements[0], (struct redis_text){text, integer_format(now_ms / 1000, text)});
    redis_reply_bulk(&elements[1], (struct redis_text){text, integer_format(now_ms % 1000 * 1000, text)});
}
