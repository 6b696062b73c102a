/* Commands of the in-memory Redis on lists.
 * SPDX-License-Identifier: Apache-2.0 */
#include "redis_commands.h"

#include <stdlib.h>

static void push(struct redis_call *call, bool at_head) {
    struct stored_value *value = find_or_make_key(call, VALUE_LIST);
    if (!value) {
        return;
    }
    for (size_t i = 2; i < call->count; i++) {
        list_push(&value->list, at_head, call->arguments[i]);
    }
    redis_reply_integer(call->reply, (int64_t)value->list.count);
}

void run_lpush(struct redis_call *call) {
    push(call, true);
}

void run_rpush(struct redis_call *call) {
    push(call, false);
}

static void pop_into(struct text_list *list, bool at_head, struct redis_reply *reply) {
    struct stored_text *text = list_take(list, at_head);
    redis_reply_bulk(reply, text_view(text));
    free(text);
}

static void pop(struct redis_call *call, bool at_head) {
    struct stored_value *value = NULL;
    bool has_count = call->count == 3;
    int64_t wanted = 1;
    if (call->count > 3) {
        answer_wrong_arity(call);
        return;
    }
    if (has_count && (!integer_parse(call->arguments[2], &wanted) || wanted < 0)) {
        redis_reply_error(call->reply, "ERR value is out of range, must be positive");
        return;
    }
    if (!find_key(call, VALUE_LIST, &value) || !value) {
        return;
    }
    if (!has_count) {
        pop_into(&value->list, at_head, call->reply);
    } else {
        size_t count = (uint64_t)wanted < value->list.count ? (size_t)wanted : value->list.count;
        struct redis_reply *elements = redis_reply_array(call->reply, count);
        for (size_t i = 0; i < count; i++) {
            pop_into(&value->list, at_head, &elements[i]);
        }
    }
    drop_key_if_empty(call, value);
}

void run_lpop(struct redis_call *call) {
    pop(call, true);
}

void run_rpop(struct redis_call *call) {
    pop(call, false);
}

void run_lindex(struct redis_call *call) {
    struct stored_value *value = NULL;
    int64_t position = 0;
    if (!find_key(call, VALUE_LIST, &value) || !value || !integer_argument(call, 2, &position)) {
        return;
    }
    int64_t length = (int64_t)value->list.count;
    position = position < 0 ? position + length : position;
    if (position >= 0 && position < length) {
        redis_reply_bulk(call->reply, text_view(list_at(&value->list, (size_t)position)));
    }
}

void run_llen(struct redis_call *call) {
    struct stored_value *value = NULL;
    if (find_key(call, VALUE_LIST, &value)) {
        redis_reply_integer(call->reply, value ? (int64_t)value->list.count : 0);
    }
}

void run_lrange(struct redis_call *call) {
    struct stored_value *value = NULL;
    int64_t start = 0;
    int64_t stop = 0;
    if (!integer_argument(call, 2, &start) || !integer_argument(call, 3, &stop) ||
        !find_key(call, VALUE_LIST, &value)) {
        return;
    }
    size_t first = 0;
    size_t count = 0;
    resolve_range(start, stop, value ? value->list.count : 0, &first, &count);
    struct redis_reply *elements = redis_reply_array(call->reply, count);
    for (size_t i = 0; i < count; i++) {
        redis_reply_bulk(&elements[i], text_view(list_at(&value->list, first + i)));
    }
}

/* A positive count removes from the head on, a negative one from the tail on. 0 removes all equal elements. */
void run_lrem(struct redis_call *call) {
    struct stored_value *value = NULL;
    int64_t limit = 0;
    if (!integer_argument(call, 2, &limit) || !find_key(call, VALUE_LIST, &value)) {
        return;
    }
    bool from_tail = limit < 0;
    uint64_t most = limit == 0 ? UINT64_MAX : from_tail ? 0 - (uint64_t)limit : (uint64_t)limit;
    uint64_t removed = 0;
    size_t kept = 0; /* compared and kept */
    while (value && removed < most && kept < value->list.count) {
        size_t position = from_tail ? value->list.count - 1 - kept : kept;
        if (text_equal(text_view(list_at(&value->list, position)), call->arguments[3])) {
            list_remove_at(&value->list, position);
            removed++;
        } else {
            kept++;
        }
    }
    if (value) {
        drop_key_if_empty(call, value);
    }
    redis_reply_integer(call->reply, (int64_t)removed);
}
