/* Commands of the in-memory Redis on sorted sets.
 * SPDX-License-Identifier: Apache-2.0 */
#include "redis_commands.h"

#include <math.h>

struct zadd_options {
    bool only_new, only_existing, only_greater, only_less, count_changed, increment;
};

static void answer_score(struct redis_reply *reply, double score) {
    char text[NUMBER_TEXT_SIZE];
    redis_reply_bulk(reply, (struct redis_text){text, double_format(score, text)});
}

/* Reads the options. Returns the index of the first score. */
static size_t read_zadd_options(struct redis_call *call, struct zadd_options *options) {
    const struct {
        const char *word;
        bool *option;
    } words[] = {{"nx", &options->only_new},  {"xx", &options->only_existing}, {"gt", &options->only_greater},
                 {"lt", &options->only_less}, {"ch", &options->count_changed}, {"incr", &options->increment}};
    size_t index = 2;
    for (; index < call->count; index++) {
        size_t i = 0;
        while (i < sizeof words / sizeof words[0] && !text_is_word(call->arguments[index], words[i].word)) {
            i++;
        }
        if (i == sizeof words / sizeof words[0]) {
            break;
        }
        *words[i].option = true;
    }
    return index;
}

/* Returns why Redis refuses these options, or NULL. */
static const char *zadd_error_reply(const struct zadd_options *options, size_t first, size_t count) {
    if (first == count || (count - first) % 2 != 0) {
        return SYNTAX_ERROR;
    }
    if (options->only_new && options->only_existing) {
        return "ERR XX and NX options at the same time are not compatible";
    }
    if (options->only_new + options->only_greater + options->only_less > 1) {
        return "ERR GT, LT, and/or NX options at the same time are not compatible";
    }
    if (options->increment && count - first > 2) {
        return "ERR INCR option supports a single increment-element pair";
    }
    return NULL;
}

struct zadd_outcome {
    int64_t added, updated;
    bool applied; /* the last member was added, or was in the set and not excluded by an option */
    bool not_a_number;
    double score; /* of the last member that was applied */
};

static void zadd_member(struct sorted_set *set, const struct zadd_options *options, double score,
                        struct redis_text name, struct zadd_outcome *outcome) {
    size_t position = sorted_set_find(set, name);
    outcome->applied = false;
    if (position == SORTED_SET_ABSENT) {
        if (!options->only_existing) {
            sorted_set_add(set, score, name);
            outcome->added++;
            outcome->applied = true;
            outcome->score = score;
        }
        return;
    }
    double former = set->members[position].score;
    if (options->only_new) {
        return;
    }
    score = options->increment ? former + score : score;
    if (isnan(score)) {
        outcome->not_a_number = true;
        return;
    }
    if ((options->only_greater && score <= former) || (options->only_less && score >= former)) {
        return;
    }
    if (score != former) {
        sorted_set_rescore(set, position, score);
        outcome->updated++;
    }
    outcome->applied = true;
    outcome->score = score;
}

static void zadd_answer(struct redis_call *call, const struct zadd_options *options,
                        const struct zadd_outcome *outcome) {
    if (outcome->not_a_number) {
        redis_reply_error(call->reply, "ERR resulting score is not a number (NaN)");
    } else if (!options->increment) {
        redis_reply_integer(call->reply, outcome->added + (options->count_changed ? outcome->updated : 0));
    } else if (outcome->applied) {
        answer_score(call->reply, outcome->score);
    }
}

static void zadd(struct redis_call *call, struct zadd_options options) {
    size_t first = read_zadd_options(call, &options);
    const char *error_reply = zadd_error_reply(&options, first, call->count);
    double score = 0;
    if (error_reply) {
        redis_reply_error(call->reply, "%s", error_reply);
        return;
    }
    for (size_t i = first; i < call->count; i += 2) {
        if (!double_argument(call, i, &score)) {
            return;
        }
    }
    struct stored_value *value = find_or_make_key(call, VALUE_SORTED_SET);
    if (!value) {
        return;
    }
    struct zadd_outcome outcome = {0};
    for (size_t i = first; i < call->count && !outcome.not_a_number; i += 2) {
        double_parse(call->arguments[i], &score);
        zadd_member(&value->sorted_set, &options, score, call->arguments[i + 1], &outcome);
    }
    drop_key_if_empty(call, value);
    zadd_answer(call, &options, &outcome);
}

void run_zadd(struct redis_call *call) {
    zadd(call, (struct zadd_options){0});
}

void run_zincrby(struct redis_call *call) {
    zadd(call, (struct zadd_options){.increment = true});
}

void run_zrem(struct redis_call *call) {
    struct stored_value *value = NULL;
    if (!find_key(call, VALUE_SORTED_SET, &value)) {
        return;
    }
    int64_t removed = 0;
    for (size_t i = 2; value && i < call->count; i++) {
        size_t position = sorted_set_find(&value->sorted_set, call->arguments[i]);
        if (position != SORTED_SET_ABSENT) {
            sorted_set_remove(&value->sorted_set, position);
            removed++;
        }
    }
    if (value) {
        drop_key_if_empty(call, value);
    }
    redis_reply_integer(call->reply, removed);
}

void run_zscore(struct redis_call *call) {
    struct stored_value *value = NULL;
    if (!find_key(call, VALUE_SORTED_SET, &value) || !value) {
        return;
    }
    size_t position = sorted_set_find(&value->sorted_set, call->arguments[2]);
    if (position != SORTED_SET_ABSENT) {
        answer_score(call->reply, value->sorted_set.members[position].score);
    }
}

void run_zcard(struct redis_call *call) {
    struct stored_value *value = NULL;
    if (find_key(call, VALUE_SORTED_SET, &value)) {
        redis_reply_integer(call->reply, value ? (int64_t)value->sorted_set.count : 0);
    }
}

struct score_range {
    double min, max;
    bool min_excluded, max_excluded;
};

static bool read_score_range(struct redis_call *call, size_t min_index, size_t max_index, struct score_range *range) {
    if (bound_parse(call->arguments[min_index], &range->min, &range->min_excluded) &&
        bound_parse(call->arguments[max_index], &range->max, &range->max_excluded)) {
        return true;
    }
    redis_reply_error(call->reply, "ERR min or max is not a float");
    return false;
}

static void resolve_scores(const struct sorted_set *set, const struct score_range *range, size_t *first_out,
                           size_t *count_out) {
    size_t first = sorted_set_first_from(set, range->min, range->min_excluded);
    size_t end = sorted_set_first_from(set, range->max, !range->max_excluded);
    *first_out = first;
    *count_out = end > first ? end - first : 0;
}

void run_zcount(struct redis_call *call) {
    struct stored_value *value = NULL;
    struct score_range range = {0};
    if (!read_score_range(call, 2, 3, &range) || !find_key(call, VALUE_SORTED_SET, &value)) {
        return;
    }
    size_t first = 0;
    size_t count = 0;
    if (value) {
        resolve_scores(&value->sorted_set, &range, &first, &count);
    }
    redis_reply_integer(call->reply, (int64_t)count);
}

struct range_options {
    bool by_score, reverse, with_scores;
    int64_t offset, limit; /* limit -1: all */
};

/* ZRANGEBYSCORE has fewer options than ZRANGE. Returns false, with the error reply set, if Redis would refuse them. */
static bool read_range_options(struct redis_call *call, bool is_zrange, struct range_options *options) {
    for (size_t i = 4; i < call->count; i++) {
        struct redis_text word = call->arguments[i];
        if (text_is_word(word, "withscores")) {
            options->with_scores = true;
        } else if (text_is_word(word, "limit") && i + 2 < call->count) {
            if (!integer_argument(call, i + 1, &options->offset) || !integer_argument(call, i + 2, &options->limit)) {
                return false;
            }
            i += 2;
        } else if (is_zrange && text_is_word(word, "rev")) {
            options->reverse = true;
        } else if (is_zrange && text_is_word(word, "byscore")) {
            options->by_score = true;
        } else {
            redis_reply_error(call->reply, SYNTAX_ERROR);
            return false;
        }
    }
    if (!options->by_score && options->limit != -1) {
        redis_reply_error(call->reply,
                          SYNTAX_ERROR ", LIMIT is only supported in combination with either BYSCORE or BYLEX");
        return false;
    }
    return true;
}

/* Replies with `count` members from position `first` on. In a reversed range positions count from the end. */
static void answer_members(struct redis_call *call, const struct sorted_set *set, const struct range_options *options,
                           size_t first, size_t count) {
    size_t width = options->with_scores ? 2 : 1;
    struct redis_reply *element = redis_reply_array(call->reply, count * width);
    for (size_t i = first; i < first + count; i++, element += width) {
        const struct sorted_member *member = &set->members[options->reverse ? set->count - 1 - i : i];
        redis_reply_bulk(element, text_view(member->name));
        if (options->with_scores) {
            answer_score(element + 1, member->score);
        }
    }
}

static void range_by_position(struct redis_call *call, const struct range_options *options) {
    struct stored_value *value = NULL;
    int64_t start = 0;
    int64_t stop = 0;
    if (!integer_argument(call, 2, &start) || !integer_argument(call, 3, &stop) ||
        !find_key(call, VALUE_SORTED_SET, &value)) {
        return;
    }
    size_t first = 0;
    size_t count = 0;
    resolve_range(start, stop, value ? value->sorted_set.count : 0, &first, &count);
    answer_members(call, value ? &value->sorted_set : NULL, options, first, count);
}

static void range_by_score(struct redis_call *call, const struct range_options *options) {
    struct stored_value *value = NULL;
    struct score_range range = {0};
    size_t min_index = options->reverse ? 3 : 2;
    if (!read_score_range(call, min_index, 5 - min_index, &range) || !find_key(call, VALUE_SORTED_SET, &value)) {
        return;
    }
    if (!value) {
        redis_reply_array(call->reply, 0);
        return;
    }
    const struct sorted_set *set = &value->sorted_set;
    size_t first = 0;
    size_t count = 0;
    resolve_scores(set, &range, &first, &count);
    if (options->reverse) {
        first = set->count - first - count;
    }
    /* A negative offset selects nothing, as in Redis. */
    size_t skipped = options->offset < 0 || (uint64_t)options->offset > count ? count : (size_t)options->offset;
    first += skipped;
    count -= skipped;
    if (options->limit >= 0 && (uint64_t)options->limit < count) {
        count = (size_t)options->limit;
    }
    answer_members(call, set, options, first, count);
}

void run_zrange(struct redis_call *call) {
    struct range_options options = {.limit = -1};
    if (!read_range_options(call, true, &options)) {
        return;
    }
    if (options.by_score) {
        range_by_score(call, &options);
    } else {
        range_by_position(call, &options);
    }
}

void run_zrangebyscore(struct redis_call *call) {
    struct range_options options = {.by_score = true, .limit = -1};
    if (read_range_options(call, false, &options)) {
        range_by_score(call, &options);
    }
}
