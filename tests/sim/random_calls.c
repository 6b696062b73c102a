/* Seeded random commands and scripts for comparing the in-memory Redis with a real one.
 * SPDX-License-Identifier: Apache-2.0 */
#include "random_calls.h"

#include <assert.h>
#include <stdio.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define TEXT(literal) {literal, sizeof(literal) - 1}

/* Four keys of each type: strings, hashes, lists, sorted sets. */
static const struct redis_text keys[] = {
    TEXT("string:0"), TEXT("string:1"),
    TEXT(""),         TEXT("string:a long name, a long name, a long name, a long name, 0123456789"),
    TEXT("hash:0"),   TEXT("hash:1"),
    TEXT("hash:2"),   TEXT("hash:\0\xff\r\n binary"),
    TEXT("list:0"),   TEXT("list:1"),
    TEXT("list:2"),   TEXT("list:3"),
    TEXT("sorted:0"), TEXT("sorted:1"),
    TEXT("sorted:2"), TEXT("sorted:3"),
};
enum { KEYS_OF_KIND = LENGTH(keys) / KEY_ANY, FIELDS = 24 };

static const struct redis_text odd_texts[] = {
    TEXT(""),
    TEXT("\0\xff\r\n\t binary"),
    TEXT("0"),
    TEXT("-1"),
    TEXT("two words"),
    TEXT("0012"),
    TEXT("exactly seventy bytes of text that is longer than other values here..."),
};
static const struct redis_text odd_integers[] = {
    TEXT("9223372036854775807"),
    TEXT("-9223372036854775808"),
    TEXT("9223372036854775808"),
    TEXT("-9223372036854775809"),
    TEXT("18446744073709551616"),
    TEXT("922337203685477580"),
    TEXT("4611686018427387904"),
    TEXT("007"),
    TEXT("+1"),
    TEXT(" 1"),
    TEXT("1 "),
    TEXT("1.5"),
    TEXT("abc"),
    TEXT(""),
    TEXT("-0"),
    TEXT("-"),
    TEXT("1e3"),
    TEXT("0"),
};
static const struct redis_text odd_scores[] = {
    TEXT("1.5"),
    TEXT("0.1"),
    TEXT("-2.25"),
    TEXT("1e300"),
    TEXT("inf"),
    TEXT("-inf"),
    TEXT("1700000000000.5"),
    TEXT("1e17"),
    TEXT("123456789012345678"),
    TEXT("nan"),
    TEXT("abc"),
    TEXT(""),
    TEXT(" 1"),
    TEXT("1x"),
    TEXT("0x10"),
    TEXT("1e400"),
    TEXT("+inf"),
    TEXT("1700000000123"),
    TEXT("0.30000000000000004"),
    TEXT("1e-400"),
};
static const struct redis_text odd_bounds[] = {
    TEXT("-inf"), TEXT("+inf"), TEXT("inf"), TEXT("(-inf"), TEXT("(inf"), TEXT("(1"), TEXT("(3"), TEXT("2.5"),
    TEXT("(1.5"), TEXT("("),    TEXT(""),    TEXT("abc"),   TEXT("nan"),  TEXT(" 1"), TEXT("1 "),
};

/* splitmix64 */
static uint64_t draw(struct random_calls *calls) {
    calls->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = calls->state;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

static size_t below(struct random_calls *calls, size_t bound) {
    return (size_t)(draw(calls) % bound);
}

static bool percent(struct random_calls *calls, size_t chance) {
    return below(calls, 100) < chance;
}

static void add_text(struct random_call *call, struct redis_text text) {
    assert(call->count < CALL_ARGUMENTS_MAX);
    assert(text.size < CALL_TEXT_MAX);
    char *copy = call->texts[call->count];
    memcpy(copy, text.bytes, text.size);
    call->arguments[call->count++] = (struct redis_text){copy, text.size};
}

static void add_number(struct random_call *call, int64_t number) {
    char text[NUMBER_TEXT_SIZE];
    add_text(call, (struct redis_text){text, integer_format(number, text)});
}

#define ADD_ONE_OF(calls, call, texts) add_text(call, (texts)[below(calls, LENGTH(texts))])

static void add_key(struct random_calls *calls, struct random_call *call, size_t kind) {
    bool fits = kind == KEY_ANY || kind == calls->focus / KEYS_OF_KIND || percent(calls, 10);
    if (calls->focus_left > 0 && fits && percent(calls, 80)) {
        calls->focus_left--;
        add_text(call, keys[calls->focus]);
        return;
    }
    if (kind == KEY_ANY || percent(calls, 6)) {
        kind = below(calls, KEY_ANY);
    }
    add_text(call, keys[kind * KEYS_OF_KIND + below(calls, KEYS_OF_KIND)]);
}

static void add_field(struct random_calls *calls, struct random_call *call) {
    if (percent(calls, 8)) {
        ADD_ONE_OF(calls, call, odd_texts);
        return;
    }
    char text[NUMBER_TEXT_SIZE];
    /* Mostly the first few fields, so that calls use the same ones; now and then any field, so that containers grow. */
    size_t number = below(calls, percent(calls, 70) ? 5 : FIELDS);
    int size = snprintf(text, sizeof text, "uuid:%zu", number);
    add_text(call, (struct redis_text){text, (size_t)size});
}

static void add_value(struct random_calls *calls, struct random_call *call) {
    if (percent(calls, 60)) {
        add_number(call, (int64_t)below(calls, 12) - 3);
    } else if (percent(calls, 10)) {
        ADD_ONE_OF(calls, call, odd_integers);
    } else {
        add_field(calls, call);
    }
}

static void add_integer(struct random_calls *calls, struct random_call *call, int64_t low, int64_t high) {
    if (percent(calls, 10)) {
        ADD_ONE_OF(calls, call, odd_integers);
    } else {
        add_number(call, low + (int64_t)below(calls, (size_t)(high - low + 1)));
    }
}

/* Makes the next calls use the key that was just given a TTL, most of the time. */
static void focus_on_key(struct random_calls *calls, const struct random_call *call) {
    if (call->count < 3 || percent(calls, 40)) {
        return;
    }
    for (size_t i = 0; i < LENGTH(keys); i++) {
        if (text_equal(call->arguments[call->count - 2], keys[i])) {
            calls->focus = i;
            calls->focus_left = 60;
        }
    }
}

static void add_time_to_live(struct random_calls *calls, struct random_call *call) {
    size_t choice = below(calls, 100);
    if (choice < 50) {
        add_number(call, 1 + (int64_t)below(calls, 4));
        focus_on_key(calls, call);
    } else if (choice < 65) {
        add_number(call, 5 + (int64_t)below(calls, 50));
    } else if (choice < 85) {
        add_number(call, 500 + (int64_t)below(calls, 2000));
    } else if (choice < 90) {
        add_number(call, -(int64_t)below(calls, 3));
    } else if (choice < 95) {
        add_number(call, INT64_MAX - 2 - calls->now_ms + (int64_t)below(calls, 3)); /* about the longest TTL of Redis */
    } else {
        ADD_ONE_OF(calls, call, odd_integers);
    }
}

static void add_point_in_time(struct random_calls *calls, struct random_call *call) {
    size_t choice = below(calls, 100);
    if (choice < 70) {
        add_number(call, calls->now_ms - 1 + (int64_t)below(calls, 5));
        focus_on_key(calls, call);
    } else if (choice < 93) {
        add_number(call, calls->now_ms + (int64_t)below(calls, 3000));
    } else {
        ADD_ONE_OF(calls, call, odd_integers);
    }
}

static void add_score(struct random_calls *calls, struct random_call *call) {
    if (percent(calls, 15)) {
        ADD_ONE_OF(calls, call, odd_scores);
    } else {
        /* 0 often, because INCR by 0 leaves a score as it is. */
        add_number(call, percent(calls, 20) ? 0 : (int64_t)below(calls, 9) - 3);
    }
}

static void add_bound(struct random_calls *calls, struct random_call *call) {
    if (percent(calls, 40)) {
        ADD_ONE_OF(calls, call, odd_bounds);
    } else {
        add_number(call, (int64_t)below(calls, 9) - 3);
    }
}

/* Adds `lower` or `upper`, by equal chances, in `chance` of 100 cases. */
static void maybe_word(struct random_calls *calls, struct random_call *call, const char *lower, const char *upper,
                       size_t chance) {
    if (percent(calls, chance)) {
        add_text(call, redis_text(percent(calls, 50) ? lower : upper));
    }
}

static void add_set_options(struct random_calls *calls, struct random_call *call) {
    maybe_word(calls, call, "nx", "NX", 15);
    maybe_word(calls, call, "xx", "XX", 10);
    maybe_word(calls, call, "keepttl", "KEEPTTL", 8);
    if (percent(calls, 35)) {
        maybe_word(calls, call, "px", "Px", 98);
        if (percent(calls, 97)) {
            add_time_to_live(calls, call);
        }
    }
    maybe_word(calls, call, "get", "Get", 15);
    maybe_word(calls, call, "keepttl", "nosuchoption", 2);
}

static void add_zadd_options(struct random_calls *calls, struct random_call *call) {
    maybe_word(calls, call, "nx", "NX", 10);
    maybe_word(calls, call, "xx", "XX", 8);
    maybe_word(calls, call, "gt", "GT", 20);
    maybe_word(calls, call, "lt", "LT", 15);
    maybe_word(calls, call, "ch", "CH", 20);
    maybe_word(calls, call, "incr", "INCR", 25);
}

static void add_limit(struct random_calls *calls, struct random_call *call, size_t chance) {
    if (percent(calls, chance)) {
        maybe_word(calls, call, "limit", "LIMIT", 98);
        add_integer(calls, call, -1, 4);
        if (percent(calls, 97)) {
            add_integer(calls, call, -1, 4);
        }
    }
}

static void add_range(struct random_calls *calls, struct random_call *call) {
    bool by_score = percent(calls, 45);
    for (int i = 0; i < 2; i++) {
        if (by_score) {
            add_bound(calls, call);
        } else {
            add_integer(calls, call, -6, 6);
        }
    }
    maybe_word(calls, call, "withscores", "WITHSCORES", 30);
    maybe_word(calls, call, "byscore", "BYSCORE", by_score ? 97 : 2);
    maybe_word(calls, call, "rev", "REV", 30);
    add_limit(calls, call, by_score ? 30 : 3);
}

static void add_argument(struct random_calls *calls, struct random_call *call, const struct command_shape *shape,
                         char what) {
    switch (what) {
    case 'k':
        add_key(calls, call, shape->kind);
        break;
    case 'f':
        add_field(calls, call);
        break;
    case 'v':
        add_value(calls, call);
        break;
    case 'i':
        add_integer(calls, call, -5, 10);
        break;
    case 'm':
        add_integer(calls, call, -5, 5);
        break;
    case 't':
        add_time_to_live(calls, call);
        break;
    case 'a':
        add_point_in_time(calls, call);
        break;
    case 's':
        add_score(calls, call);
        break;
    case 'b':
        add_bound(calls, call);
        break;
    case 'c':
        add_text(call, redis_text(percent(calls, 50) ? "news" : "other"));
        break;
    case 'n':
        if (percent(calls, 40)) {
            add_integer(calls, call, -1, 3);
        }
        break;
    case 'P':
        add_field(calls, call);
        add_value(calls, call);
        break;
    case 'Q':
        add_score(calls, call);
        add_field(calls, call);
        break;
    case 'S':
        add_set_options(calls, call);
        break;
    case 'Z':
        add_zadd_options(calls, call);
        break;
    case 'R':
        add_range(calls, call);
        break;
    case 'L':
        add_limit(calls, call, 30);
        maybe_word(calls, call, "withscores", "WithScores", 30);
        break;
    }
}

static size_t draw_weighted(struct random_calls *calls) {
    size_t total = 0;
    for (size_t i = 0; i < COMMAND_SHAPES; i++) {
        total += command_shapes[i].weight;
    }
    size_t rest = below(calls, total);
    size_t number = 0;
    while (rest >= command_shapes[number].weight) {
        rest -= command_shapes[number++].weight;
    }
    return number;
}

/* Draws a command. TIME is not drawn for a script, since its microseconds in the reply could not be compared; one of
 * own_scripts calls TIME. While a key is in focus, most of the commands drawn fit its type. */
static size_t draw_shape(struct random_calls *calls, bool in_script) {
    for (;;) {
        size_t number = draw_weighted(calls);
        enum key_kind kind = command_shapes[number].kind;
        bool fits = kind == KEY_ANY || kind == calls->focus / KEYS_OF_KIND || percent(calls, 10);
        if ((fits || calls->focus_left == 0) && !(in_script && strcmp(command_shapes[number].name, "time") == 0)) {
            return number;
        }
    }
}

static void add_command(struct random_calls *calls, struct random_call *call) {
    size_t number = draw_shape(calls, call->script >= 0);
    const struct command_shape *shape = &command_shapes[number];
    size_t first = call->count;
    call->commands[call->command_count++] = (int)number;
    add_text(call, redis_text(shape->name));
    if (percent(calls, 10)) {
        call->texts[first][0] = (char)(call->texts[first][0] - 'a' + 'A');
    }
    for (const char *what = shape->arguments; *what; what++) {
        if (*what != '*') {
            add_argument(calls, call, shape, *what);
            continue;
        }
        for (size_t more = percent(calls, 60) ? 0 : 1 + below(calls, 2); more > 0; more--) {
            add_argument(calls, call, shape, what[-1]);
        }
    }
    if (percent(calls, 2) && call->count > first + 1) {
        call->count--;
    } else if (percent(calls, 1) && strncmp(shape->name, "pexpire", 7) != 0) {
        add_value(calls, call); /* PEXPIRE has no surplus arguments here: since Redis 7 it takes options */
    }
}

static void add_anything(struct random_calls *calls, struct random_call *call) {
    size_t choice = below(calls, 100);
    if (choice < 40) {
        add_field(calls, call);
    } else if (choice < 65) {
        add_integer(calls, call, 0, 3);
    } else if (choice < 85) {
        add_time_to_live(calls, call);
    } else if (choice < 93) {
        add_text(call, redis_text("news"));
    } else {
        add_score(calls, call);
    }
}

/* Adds the keys of a script that expects certain types of keys, such as all hashes, or a hash and its queue. */
static void add_script_keys(struct random_calls *calls, struct random_call *call) {
    static const size_t kinds[][CALL_SCRIPT_KEYS] = {
        {KEY_HASH, KEY_HASH, KEY_HASH},         {KEY_HASH, KEY_HASH, KEY_HASH},
        {KEY_HASH, KEY_LIST, KEY_SORTED_SET},   {KEY_HASH, KEY_SORTED_SET, KEY_LIST},
        {KEY_SORTED_SET, KEY_STRING, KEY_HASH}, {KEY_STRING, KEY_STRING, KEY_STRING},
    };
    const size_t *row = kinds[below(calls, LENGTH(kinds))];
    for (size_t i = 0; i < CALL_SCRIPT_KEYS; i++) {
        add_key(calls, call, row[i]);
    }
}

static void add_commands(struct random_calls *calls, struct random_call *call) {
    for (size_t left = 1 + below(calls, CALL_COMMANDS_MAX); left > 0; left--) {
        size_t first = call->count;
        add_number(call, 0);
        add_command(calls, call);
        char *text = call->texts[first];
        call->arguments[first].size = integer_format((int64_t)(call->count - first - 1), text);
    }
}

static void make_script_call(struct random_calls *calls, struct random_call *call) {
    int projects = calls->script_count - OWN_SCRIPTS;
    if (projects > 0 && percent(calls, 45)) {
        call->script = OWN_SCRIPTS + (int)below(calls, (size_t)projects);
    } else if (percent(calls, 70)) {
        call->script = (int)below(calls, OWN_COMMAND_SCRIPTS);
    } else {
        call->script = (int)below(calls, (size_t)OWN_SCRIPTS);
    }
    add_script_keys(calls, call);
    switch (calls->scripts[call->script].shape) {
    case ARGV_COMMAND:
        add_command(calls, call);
        break;
    case ARGV_COMMANDS:
        add_commands(calls, call);
        break;
    default:
        for (size_t left = percent(calls, 5) ? 0 : 2 + below(calls, 5); left > 0; left--) {
            add_anything(calls, call);
        }
        break;
    }
}

void random_calls_init(struct random_calls *calls, uint64_t seed) {
    *calls = (struct random_calls){.state = seed};
    memcpy(calls->scripts, own_scripts, OWN_SCRIPTS * sizeof own_scripts[0]);
    calls->script_count = OWN_SCRIPTS;
}

bool random_calls_add_script(struct random_calls *calls, const char *name, const char *text) {
    if (calls->script_count == CALL_SCRIPTS_MAX) {
        return false;
    }
    calls->scripts[calls->script_count++] = (struct call_script){name, text, ARGV_ANYTHING};
    return true;
}

void random_calls_next(struct random_calls *calls, int64_t now_ms, struct random_call *call_out) {
    calls->now_ms = now_ms;
    call_out->script = -1;
    call_out->count = 0;
    call_out->command_count = 0;
    if (percent(calls, 55)) {
        add_command(calls, call_out);
    } else {
        make_script_call(calls, call_out);
    }
}

const struct redis_text *random_calls_keys(size_t *count_out) {
    *count_out = LENGTH(keys);
    return keys;
}
