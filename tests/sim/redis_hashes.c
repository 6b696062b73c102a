/* Commands of the in-memory Redis on hashes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "redis_commands.h"

static void answer_text(struct redis_reply *reply, const struct stored_text *text) {
    if (text) {
        redis_reply_bulk(reply, text_view(text));
    }
}

/* Returns a field's text, or NULL if the key or the field does not exist. */
static const struct stored_text *field_of(const struct stored_value *value, struct redis_text field) {
    return value ? hash_get(&value->hash, field) : NULL;
}

void run_hset(struct redis_call *call) {
    if (call->count % 2 != 0) {
        answer_wrong_arity(call);
        return;
    }
    struct stored_value *value = find_or_make_key(call, VALUE_HASH);
    if (!value) {
        return;
    }
    int64_t added = 0;
    for (size_t i = 2; i < call->count; i += 2) {
        added += hash_put(&value->hash, call->arguments[i], call->arguments[i + 1]);
    }
    redis_reply_integer(call->reply, added);
}

void run_hsetnx(struct redis_call *call) {
    struct stored_value *value = find_or_make_key(call, VALUE_HASH);
    if (!value) {
        return;
    }
    bool is_new = !hash_get(&value->hash, call->arguments[2]);
    if (is_new) {
        hash_put(&value->hash, call->arguments[2], call->arguments[3]);
    }
    redis_reply_integer(call->reply, is_new);
}

void run_hget(struct redis_call *call) {
    struct stored_value *value = NULL;
    if (find_key(call, VALUE_HASH, &value)) {
        answer_text(call->reply, field_of(value, call->arguments[2]));
    }
}

void run_hmget(struct redis_call *call) {
    struct stored_value *value = NULL;
    if (!find_key(call, VALUE_HASH, &value)) {
        return;
    }
    struct redis_reply *elements = redis_reply_array(call->reply, call->count - 2);
    for (size_t i = 2; i < call->count; i++) {
        answer_text(&elements[i - 2], field_of(value, call->arguments[i]));
    }
}

void run_hdel(struct redis_call *call) {
    struct stored_value *value = NULL;
    if (!find_key(call, VALUE_HASH, &value)) {
        return;
    }
    int64_t removed = 0;
    for (size_t i = 2; value && i < call->count; i++) {
        removed += hash_remove(&value->hash, call->arguments[i]);
    }
    if (value) {
        drop_key_if_empty(call, value);
    }
    redis_reply_integer(call->reply, removed);
}

void run_hexists(struct redis_call *call) {
    struct stored_value *value = NULL;
    if (find_key(call, VALUE_HASH, &value)) {
        redis_reply_integer(call->reply, field_of(value, call->arguments[2]) != NULL);
    }
}

void run_hincrby(struct redis_call *call) {
    int64_t increment = 0;
    int64_t number = 0;
    struct stored_value *value = NULL;
    if (!integer_argument(call, 3, &increment) || !find_key(call, VALUE_HASH, &value)) {
        return;
    }
    const struct stored_text *former = field_of(value, call->arguments[2]);
    if (former && !integer_parse(text_view(former), &number)) {
        redis_reply_error(call->reply, "ERR hash value is not an integer");
        return;
    }
    if (!add_increment(call, increment, &number)) {
        return;
    }
    char text[NUMBER_TEXT_SIZE];
    size_t size = integer_format(number, text);
    hash_put(&find_or_make_key(call, VALUE_HASH)->hash, call->arguments[2], (struct redis_text){text, size});
    redis_reply_integer(call->reply, number);
}

void run_hlen(struct redis_call *call) {
    struct stored_value *value = NULL;
    if (find_key(call, VALUE_HASH, &value)) {
        redis_reply_integer(call->reply, value ? value->hash.live : 0);
    }
}

void run_hstrlen(struct redis_call *call) {
    struct stored_value *value = NULL;
    if (find_key(call, VALUE_HASH, &value)) {
        const struct stored_text *text = field_of(value, call->arguments[2]);
        redis_reply_integer(call->reply, text ? (int64_t)text->size : 0);
    }
}

static void answer_fields(struct redis_call *call, bool with_texts) {
    struct stored_value *value = NULL;
    if (!find_key(call, VALUE_HASH, &value)) {
        return;
    }
    uint32_t width = with_texts ? 2 : 1;
    uint32_t cursor = 0;
    struct redis_reply *element = redis_reply_array(call->reply, value ? value->hash.live * width : 0);
    for (struct map_entry *entry; value && (entry = map_next(&value->hash, &cursor)) != NULL; element += width) {
        redis_reply_bulk(element, text_view(entry->name));
        if (with_texts) {
            answer_text(element + 1, entry->payload);
        }
    }
}

void run_hgetall(struct redis_call *call) {
    answer_fields(call, true);
}

void run_hkeys(struct redis_call *call) {
    answer_fields(call, false);
}
