/* Commands of the in-memory Redis on strings and counters.
 * SPDX-License-Identifier: Apache-2.0 */
#include "redis_commands.h"

#include <stdlib.h>

static void answer_string(struct redis_call *call, const struct stored_value *value) {
    if (value) {
        redis_reply_bulk(call->reply, text_view(value->string));
    }
}

struct set_options {
    bool only_new, only_existing, keep_expiry, answer_former, has_px;
    int64_t px;
};

/* Returns false, with the error reply set, if Redis would refuse the options. */
static bool read_set_options(struct redis_call *call, struct set_options *options) {
    size_t px_index = 0;
    for (size_t i = 3; i < call->count; i++) {
        struct redis_text word = call->arguments[i];
        if (text_is_word(word, "nx") && !options->only_existing) {
            options->only_new = true;
        } else if (text_is_word(word, "xx") && !options->only_new) {
            options->only_existing = true;
        } else if (text_is_word(word, "get")) {
            options->answer_former = true;
        } else if (text_is_word(word, "keepttl") && !options->has_px) {
            options->keep_expiry = true;
        } else if (text_is_word(word, "px") && !options->keep_expiry && i + 1 < call->count) {
            options->has_px = true;
            px_index = ++i;
        } else {
            redis_reply_error(call->reply, SYNTAX_ERROR);
            return false;
        }
    }
    if (options->has_px && !integer_argument(call, px_index, &options->px)) {
        return false;
    }
    if (options->has_px && (options->px <= 0 || options->px > INT64_MAX - keyspace_time(call->keyspace))) {
        redis_reply_error(call->reply, "ERR invalid expire time in 'set' command");
        return false;
    }
    return true;
}

void run_set(struct redis_call *call) {
    struct set_options options = {0};
    struct stored_value *former = NULL;
    if (!read_set_options(call, &options)) {
        return;
    }
    if (!options.answer_former) {
        former = keyspace_find(call->keyspace, call->arguments[1]);
    } else if (find_key(call, VALUE_STRING, &former)) {
        answer_string(call, former);
    } else {
        return;
    }
    if (former ? options.only_new : options.only_existing) {
        return;
    }
    struct stored_value *value = value_new(VALUE_STRING);
    value->string = text_store(call->arguments[2]);
    if (options.has_px) {
        value->expires_at = keyspace_time(call->keyspace) + options.px;
    } else if (options.keep_expiry && former) {
        value->expires_at = former->expires_at;
    }
    keyspace_put(call->keyspace, call->arguments[1], value);
    if (!options.answer_former) {
        redis_reply_status(call->reply, redis_text("OK"));
    }
}

void run_get(struct redis_call *call) {
    struct stored_value *value = NULL;
    if (find_key(call, VALUE_STRING, &value)) {
        answer_string(call, value);
    }
}

void run_strlen(struct redis_call *call) {
    struct stored_value *value = NULL;
    if (find_key(call, VALUE_STRING, &value)) {
        redis_reply_integer(call->reply, value ? (int64_t)text_view(value->string).size : 0);
    }
}

void run_getdel(struct redis_call *call) {
    struct stored_value *value = NULL;
    if (find_key(call, VALUE_STRING, &value)) {
        answer_string(call, value);
        keyspace_delete(call->keyspace, call->arguments[1]);
    }
}

static void add(struct redis_call *call, int64_t increment) {
    struct stored_value *value = NULL;
    int64_t number = 0;
    if (!find_key(call, VALUE_STRING, &value)) {
        return;
    }
    if (value && !integer_parse(text_view(value->string), &number)) {
        redis_reply_error(call->reply, NOT_AN_INTEGER);
        return;
    }
    if (!add_increment(call, increment, &number)) {
        return;
    }
    char text[NUMBER_TEXT_SIZE];
    size_t size = integer_format(number, text);
    if (!value) {
        value = value_new(VALUE_STRING);
        keyspace_put(call->keyspace, call->arguments[1], value);
    }
    free(value->string);
    value->string = text_store((struct redis_text){text, size});
    redis_reply_integer(call->reply, number);
}

void run_incr(struct redis_call *call) {
    add(call, 1);
}

void run_decr(struct redis_call *call) {
    add(call, -1);
}

void run_incrby(struct redis_call *call) {
    int64_t increment = 0;
    if (integer_argument(call, 2, &increment)) {
        add(call, increment);
    }
}

void run_decrby(struct redis_call *call) {
    int64_t decrement = 0;
    if (!integer_argument(call, 2, &decrement)) {
        return;
    }
    if (decrement == INT64_MIN) {
        redis_reply_error(call->reply, "ERR decrement would overflow");
        return;
    }
    add(call, -decrement);
}
