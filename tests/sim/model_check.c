/* Compares the in-memory Redis, the model, with a real server: both run the same random commands and scripts.
 * SPDX-License-Identifier: Apache-2.0
 *
 *   model_check SOCKET CALLS SEED [SCRIPT.lua ...]
 *
 * SOCKET is the unix socket of an empty redis-server (7.0 or newer) that nothing else uses, because its keys are
 * flushed. CALLS is the number of calls. The named scripts are run, too. Exit status: 0 no difference, 1 a difference,
 * which is printed, 2 no comparison was possible.
 *
 * The server's clock cannot be set, but it can be read: each call is sent between two TIME commands. If both return the
 * same millisecond, the model runs the call in that millisecond, and everything must be equal, expiry included.
 * Otherwise the reply must be right for one millisecond between them, and expiry times may differ by that interval; the
 * model then adopts the server's. If no single millisecond explains the reply, because a script read the clock more
 * than once, both are flushed. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "random_calls.h"
#include "timed_server.h"
#include "script_host.h"

/* The number of calls between two comparisons of all keys. */
enum { COMPARE_EVERY = 50, MESSAGES_MAX = 4096, SCRIPT_SIZE_MAX = 1 << 16 };

/* How scripts read the time, and the code that replaces it. It returns whole milliseconds, as the model has them. */
static const char asks_time[] = "redis.call('time')";
static const char asks_milliseconds[] =
    "(function(time) time[2] = string.format('%d', time[2] - time[2] % 1000) return time end)(redis.call('time'))";

/* Returns the TTL, type and content of each key. Runs on both. No key expires while a script runs. */
static const char contents_script[] =
    "local all = {}\n"
    "for i, key in ipairs(KEYS) do\n"
    "    local kind = redis.call('type', key).ok\n"
    "    local content = false\n"
    "    if kind == 'string' then content = redis.call('get', key) end\n"
    "    if kind == 'hash' then content = redis.call('hgetall', key) end\n"
    "    if kind == 'list' then content = redis.call('lrange', key, 0, -1) end\n"
    "    if kind == 'zset' then content = redis.call('zrange', key, 0, -1, 'withscores') end\n"
    "    all[i] = {redis.call('pttl', key), kind, content}\n"
    "end\n"
    "return all";

/* The channels that the listener subscribes to: one for PUBLISH, one for SPUBLISH. */
static const char received_channel[] = "news";
static const char received_shard_channel[] = "other";

struct counts {
    uint64_t calls, errors;
};

/* Copies of the names of keys. */
struct key_names {
    struct redis_text keys[TIMED_SERVER_ARGUMENTS_MAX];
    size_t count;
    char texts[TIMED_SERVER_ARGUMENTS_MAX][256];
};

struct check {
    redisContext *server;
    redisContext *listener;
    struct keyspace *model;
    struct script_host *host;
    int contents;                  /* number of contents_script */
    int scripts[CALL_SCRIPTS_MAX]; /* numbers of calls.scripts */
    struct random_calls calls;
    struct random_call call;                   /* the call in progress */
    uint64_t seed, number;                     /* `number` is that of the call in progress */
    struct redis_reply messages[MESSAGES_MAX]; /* published by the model, not yet received from the server */
    size_t message_count;
    struct counts commands[COMMAND_SHAPES], in_scripts[COMMAND_SHAPES], script_counts[CALL_SCRIPTS_MAX];
    uint64_t straddled, flushed, at_expiry, messages_received;
    uint64_t adopted; /* expiry times adopted from the server */
};

static int hear(void *context, bool sharded, struct redis_text channel, struct redis_text message) {
    struct check *check = context;
    if (!text_equal(channel, redis_text(sharded ? received_shard_channel : received_channel))) {
        return 0;
    }
    if (check->message_count == MESSAGES_MAX) {
        give_up("the model", "more messages between two comparisons than there is room for");
    }
    struct redis_reply *parts = redis_reply_array(&check->messages[check->message_count++], 3);
    redis_reply_bulk(&parts[0], redis_text(sharded ? "smessage" : "message"));
    redis_reply_bulk(&parts[1], channel);
    redis_reply_bulk(&parts[2], message);
    return 1;
}

static void forget_messages(struct check *check, size_t kept) {
    while (check->message_count > kept) {
        redis_reply_free(&check->messages[--check->message_count]);
    }
}

/* Replaces the microseconds in a reply to TIME by milliseconds: the model's clock has no microseconds. */
static void cut_microseconds(const struct random_call *call, struct redis_reply *reply) {
    if (call->script < 0 && text_is_word(call->arguments[0], "time") && reply->kind == REDIS_ARRAY) {
        char *digits = reply->elements[1].text;
        size_t size = reply->elements[1].size;
        int64_t milliseconds = strtoll(digits, NULL, 10) / 1000;
        redis_reply_free(&reply->elements[1]);
        redis_reply_integer(&reply->elements[1], size > 0 ? milliseconds : -1);
    }
}

static void ask_model(struct check *check, struct keyspace *model, int64_t now_ms, struct redis_reply *reply_out) {
    const struct random_call *call = &check->call;
    keyspace_set_time(model, now_ms);
    if (call->script < 0) {
        keyspace_call(model, call->arguments, call->count, reply_out);
    } else {
        script_host_run(check->host, model, check->scripts[call->script], call->arguments, CALL_SCRIPT_KEYS,
                        call->arguments + CALL_SCRIPT_KEYS, call->count - CALL_SCRIPT_KEYS, reply_out);
    }
    if (reply_out->kind == REDIS_ERROR) {
        blank_script_digits(reply_out);
    }
    cut_microseconds(call, reply_out);
}

static void print_difference(const struct check *check, const char *what, const struct redis_reply *model,
                             const struct redis_reply *server) {
    struct redis_reply call;
    struct redis_reply *parts = redis_reply_array(&call, check->call.count);
    for (size_t i = 0; i < check->call.count; i++) {
        redis_reply_bulk(&parts[i], check->call.arguments[i]);
    }
    printf("difference in %s, seed %" PRIu64 ", call %" PRIu64 ", at %" PRId64 " ms\n", what, check->seed,
           check->number, keyspace_time(check->model));
    printf("call:   %s ", check->call.script < 0 ? "command" : check->calls.scripts[check->call.script].name);
    redis_reply_print(stdout, &call);
    printf("\nmodel:  ");
    redis_reply_print(stdout, model);
    printf("\nserver: ");
    redis_reply_print(stdout, server);
    printf("\n");
    redis_reply_free(&call);
}

/* Counts the calls that access a key in its last millisecond, where > and >= differ. */
static void count_expiries(struct check *check, int64_t now_ms) {
    size_t count = 0;
    const struct redis_text *keys = random_calls_keys(&count);
    keyspace_set_time(check->model, now_ms);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < check->call.count; j++) {
            if (text_equal(keys[i], check->call.arguments[j]) && keyspace_pttl(check->model, keys[i]) == 0) {
                check->at_expiry++;
                return;
            }
        }
    }
}

static void count_call(struct check *check, const struct redis_reply *reply) {
    const struct random_call *call = &check->call;
    bool is_error = reply->kind == REDIS_ERROR;
    for (size_t i = 0; i < call->command_count; i++) {
        struct counts *counts = call->script < 0 ? check->commands : check->in_scripts;
        counts[call->commands[i]].calls++;
        counts[call->commands[i]].errors += is_error;
    }
    if (call->script >= 0) {
        check->script_counts[call->script].calls++;
        check->script_counts[call->script].errors += is_error;
    }
}

/* Finds a millisecond in which the model gives the server's reply, and leaves the model as it is after that run.
 * Returns false if there is none. */
static bool explain(struct check *check, int64_t before, int64_t after, const struct redis_reply *server_reply) {
    struct keyspace *start = check->model;
    size_t messages = check->message_count;
    for (int64_t now_ms = before; now_ms <= after; now_ms++) {
        struct redis_reply reply;
        check->model = keyspace_copy(start);
        ask_model(check, check->model, now_ms, &reply);
        bool equal = redis_reply_equal(&reply, server_reply);
        redis_reply_free(&reply);
        if (equal) {
            keyspace_free(start);
            return true;
        }
        keyspace_free(check->model);
        forget_messages(check, messages);
    }
    check->model = start;
    return false;
}

/* Reads the messages that the listener received and compares them with those that the model published. */
static bool compare_messages(struct check *check) {
    bool equal = true;
    for (size_t i = 0; i < check->message_count && equal; i++) {
        struct redis_reply received;
        timed_server_next(check->listener, &received);
        equal = redis_reply_equal(&check->messages[i], &received);
        if (!equal) {
            print_difference(check, "messages", &check->messages[i], &received);
        }
        redis_reply_free(&received);
        check->messages_received++;
    }
    forget_messages(check, 0);
    return equal;
}

/* Adds a copy of a key unless it is in the list. */
static void add_key(struct key_names *names, struct redis_text key) {
    for (size_t i = 0; i < names->count; i++) {
        if (text_equal(names->keys[i], key)) {
            return;
        }
    }
    if (names->count == TIMED_SERVER_ARGUMENTS_MAX || key.size > sizeof(names->texts[0])) {
        give_up("the keys", "more or longer ones than there is room for");
    }
    memcpy(names->texts[names->count], key.bytes, key.size);
    names->keys[names->count] = (struct redis_text){names->texts[names->count], key.size};
    names->count++;
}

/* Collects the keys that calls name, and the other keys on either side. Scripts create such keys, as for a reader's
 * timeout. */
static void collect_keys(struct check *check, struct key_names *names) {
    struct redis_text words[] = {redis_text("KEYS"), redis_text("*")};
    struct redis_reply server;
    int64_t after = 0;
    size_t named = 0;
    const struct redis_text *keys = random_calls_keys(&named);
    names->count = 0;
    for (size_t i = 0; i < named; i++) {
        add_key(names, keys[i]);
    }
    timed_server_ask(check->server, NULL, words, 2, 0, &server, &after);
    for (size_t i = 0; i < server.size; i++) {
        add_key(names, redis_reply_view(&server.elements[i]));
    }
    redis_reply_free(&server);
    uint32_t cursor = 0;
    for (struct redis_text key; keyspace_next_key(check->model, &cursor, &key);) {
        add_key(names, key);
    }
}

/* Returns what the keys hold on the server in one millisecond, and that millisecond. */
static int64_t server_contents(struct check *check, const struct key_names *names, struct redis_reply *contents_out) {
    int64_t after = 0;
    int64_t before = 0;
    while ((before = timed_server_ask(check->server, contents_script, names->keys, names->count, names->count,
                                      contents_out, &after)) != after) {
        redis_reply_free(contents_out);
    }
    return before;
}

/* Adopts the server's expiry times that differ from the model's by at most `slack`. They are not read by a script,
 * since numbers of Lua are too imprecise for the longest. */
static void adopt_expiry(struct check *check, const struct key_names *names, int64_t slack) {
    int64_t server_left[TIMED_SERVER_ARGUMENTS_MAX];
    int64_t at_ms = timed_server_pttl(check->server, names->keys, names->count, server_left);
    for (size_t i = 0; i < names->count; i++) {
        struct redis_text key = names->keys[i];
        int64_t model_left = keyspace_pttl(check->model, key);
        if (model_left < 0) {
            continue;
        }
        int64_t model_end = keyspace_time(check->model) + model_left;
        int64_t difference = at_ms + server_left[i] - model_end;
        if (server_left[i] == -2 && model_end >= at_ms && model_end - slack < at_ms) {
            keyspace_delete(check->model, key);
            check->adopted++;
        } else if (server_left[i] >= 0 && difference != 0 && difference >= -slack && difference <= slack) {
            keyspace_pexpireat(check->model, key, at_ms + server_left[i]);
            check->adopted++;
        }
    }
}

/* Compares what all keys hold. With a slack, first adopts expiry times. Returns whether both are equal. */
static bool compare_contents(struct check *check, int64_t slack) {
    struct key_names names;
    struct redis_reply server;
    struct redis_reply model;
    collect_keys(check, &names);
    if (slack > 0) {
        adopt_expiry(check, &names, slack);
    }
    keyspace_set_time(check->model, server_contents(check, &names, &server));
    script_host_run(check->host, check->model, check->contents, names.keys, names.count, NULL, 0, &model);
    bool equal = redis_reply_equal(&model, &server);
    if (!equal && slack == 0) {
        print_difference(check, "contents after", &model, &server);
    }
    redis_reply_free(&model);
    redis_reply_free(&server);
    return equal;
}

/* Compares the keys of an iteration over the model with those of the server's KEYS, in any order. */
static bool compare_key_names(struct check *check) {
    struct redis_text words[] = {redis_text("KEYS"), redis_text("*")};
    struct redis_reply server;
    int64_t after = 0;
    int64_t before = timed_server_ask(check->server, NULL, words, 2, 0, &server, &after);
    size_t found = 0;
    size_t given = 0;
    uint32_t cursor = 0;
    keyspace_set_time(check->model, before);
    for (struct redis_text key; keyspace_next_key(check->model, &cursor, &key); given++) {
        for (size_t i = 0; i < server.size; i++) {
            found += text_equal(redis_reply_view(&server.elements[i]), key);
        }
    }
    bool equal = before != after || (found == given && given == server.size);
    if (!equal) {
        printf("difference in keys, seed %" PRIu64 ", call %" PRIu64 ": the model gives %zu, of which the server has "
               "%zu of its %zu\n",
               check->seed, check->number, given, found, server.size);
    }
    redis_reply_free(&server);
    return equal;
}

/* Returns whether few values were adopted from the server. Many would hide faults of the model. */
static bool is_plausible(const struct check *check) {
    bool plausible = check->flushed <= 20 + check->number / 100 && check->adopted <= 20 + check->straddled / 5;
    if (!plausible) {
        printf("difference in time, seed %" PRIu64 ", call %" PRIu64 ": of %" PRIu64 " calls across two milliseconds "
               "%" PRIu64 " have no explanation and %" PRIu64 " changed an expiry time, which is too many\n",
               check->seed, check->number, check->straddled, check->flushed, check->adopted);
    }
    return plausible;
}

/* Compares a call that ran in one of several milliseconds. */
static void resolve_straddled(struct check *check, int64_t before, int64_t after,
                              const struct redis_reply *server_reply) {
    check->straddled++;
    int64_t slack = after > before ? after - before : before - after;
    if (explain(check, before, after, server_reply) && compare_contents(check, slack)) {
        return;
    }
    /* The messages of this call are not compared, since nothing says which of them the server should have published. */
    forget_messages(check, 0);
    freeReplyObject(redisCommand(check->server, "PUBLISH %s %s", received_channel, "model_check resumes"));
    for (bool resumed = false; !resumed;) {
        struct redis_reply received;
        timed_server_next(check->listener, &received);
        resumed = text_equal(redis_reply_view(&received.elements[2]), redis_text("model_check resumes"));
        redis_reply_free(&received);
    }
    freeReplyObject(redisCommand(check->server, "FLUSHALL"));
    keyspace_clear(check->model);
    check->flushed++;
}

/* Runs one call on both. Returns whether they agree. */
static bool play_call(struct check *check, int64_t *server_ms) {
    struct random_call *call = &check->call;
    random_calls_next(&check->calls, *server_ms, call);
    const char *script = call->script < 0 ? NULL : check->calls.scripts[call->script].text;
    struct redis_reply server_reply;
    struct redis_reply reply;
    int64_t before = timed_server_ask(check->server, script, call->arguments, call->count, CALL_SCRIPT_KEYS,
                                      &server_reply, server_ms);
    cut_microseconds(call, &server_reply);
    count_call(check, &server_reply);
    bool equal = false;
    if (before != *server_ms) {
        resolve_straddled(check, before, *server_ms, &server_reply);
        equal = is_plausible(check);
    } else {
        count_expiries(check, before);
        ask_model(check, check->model, before, &reply);
        equal = redis_reply_equal(&reply, &server_reply);
        if (!equal) {
            print_difference(check, "answers", &reply, &server_reply);
        }
        redis_reply_free(&reply);
    }
    redis_reply_free(&server_reply);
    return equal;
}

static bool play(struct check *check, uint64_t count) {
    int64_t server_ms = 0;
    for (check->number = 1; check->number <= count; check->number++) {
        bool compare = check->number % COMPARE_EVERY == 0 || check->number == count;
        if (!play_call(check, &server_ms)) {
            return false;
        }
        if (compare && (!compare_contents(check, 0) || !compare_key_names(check) || !compare_messages(check))) {
            return false;
        }
    }
    return true;
}

/* Connects to the server. A hash keeps the order of insertion only while it is small, so all hashes are made to count
 * as small. */
static void prepare_server(struct check *check, const char *path) {
    check->server = timed_server_connect(path);
    check->listener = timed_server_connect(path);
    redisReply *size = redisCommand(check->server, "DBSIZE");
    if (!size || size->type != REDIS_REPLY_INTEGER || size->integer != 0) {
        give_up(path, "expected an empty server of its own, whose keys may be flushed");
    }
    freeReplyObject(size);
    freeReplyObject(redisCommand(check->server, "CONFIG SET hash-max-listpack-entries 100000"));
    freeReplyObject(redisCommand(check->server, "CONFIG SET hash-max-listpack-value 100000"));
    freeReplyObject(redisCommand(check->listener, "SUBSCRIBE %s", received_channel));
    freeReplyObject(redisCommand(check->listener, "SSUBSCRIBE %s", received_shard_channel));
}

/* Returns the whole file as a string. Ends the program if it cannot be read. */
static char *read_script(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        give_up(path, strerror(errno));
    }
    char *text = allocate(SCRIPT_SIZE_MAX, 1);
    size_t size = fread(text, 1, SCRIPT_SIZE_MAX - 1, file);
    text[size] = '\0';
    fclose(file);
    return text;
}

/* Returns a copy of the script that sees whole milliseconds only, and frees `text`. Line numbers stay the same. */
static char *cut_to_milliseconds(const char *path, char *text) {
    char *out = allocate(SCRIPT_SIZE_MAX, 1);
    size_t size = 0;
    const char *rest = text;
    for (const char *found; (found = strstr(rest, asks_time)) != NULL; rest = found + strlen(asks_time)) {
        int added = snprintf(out + size, SCRIPT_SIZE_MAX - size, "%.*s%s", (int)(found - rest), rest,
                             asks_milliseconds);
        size += (size_t)added;
        if (size >= SCRIPT_SIZE_MAX) {
            give_up(path, "the script is too long");
        }
    }
    if (size + strlen(rest) >= SCRIPT_SIZE_MAX) {
        give_up(path, "the script is too long");
    }
    memcpy(out + size, rest, strlen(rest) + 1);
    free(text);
    return out;
}

static void load_scripts(struct check *check, char **paths, int count) {
    random_calls_init(&check->calls, check->seed);
    for (int i = 0; i < count; i++) {
        if (!random_calls_add_script(&check->calls, paths[i], cut_to_milliseconds(paths[i], read_script(paths[i])))) {
            give_up(paths[i], "too many scripts");
        }
    }
    check->host = script_host_new();
    check->contents = script_host_load(check->host, redis_text(contents_script));
    for (int i = 0; i < check->calls.script_count; i++) {
        check->scripts[i] = script_host_load(check->host, redis_text(check->calls.scripts[i].text));
        if (check->scripts[i] < 0) {
            give_up(check->calls.scripts[i].name, script_host_load_error(check->host));
        }
    }
}

static void print_counts(const struct check *check, uint64_t count) {
    printf("command            calls   errors  in scripts\n");
    for (size_t i = 0; i < COMMAND_SHAPES; i++) {
        printf("%-15s %8" PRIu64 " %8" PRIu64 "    %8" PRIu64 "\n", command_shapes[i].name, check->commands[i].calls,
               check->commands[i].errors, check->in_scripts[i].calls);
    }
    printf("script             calls   errors\n");
    for (int i = 0; i < check->calls.script_count; i++) {
        const char *name = strrchr(check->calls.scripts[i].name, '/');
        printf("%-15.20s %8" PRIu64 " %8" PRIu64 "\n", name ? name + 1 : check->calls.scripts[i].name,
               check->script_counts[i].calls, check->script_counts[i].errors);
    }
    printf("%" PRIu64 " calls equal, seed %" PRIu64 "; %" PRIu64 " in the last millisecond of a key, %" PRIu64
           " messages, %" PRIu64 " across two milliseconds (%" PRIu64 " expiry times adopted, %" PRIu64
           " times flushed)\n",
           count, check->seed, check->at_expiry, check->messages_received, check->straddled, check->adopted,
           check->flushed);
}

int main(int argc, char **argv) {
    static struct check check;
    char *count_end = NULL;
    char *seed_end = NULL;
    uint64_t count = argc < 4 ? 0 : strtoull(argv[2], &count_end, 10);
    check.seed = argc < 4 ? 0 : strtoull(argv[3], &seed_end, 10);
    if (count == 0 || *count_end != '\0' || *seed_end != '\0') {
        fprintf(stderr, "usage: model_check SOCKET CALLS SEED [SCRIPT.lua ...]\n");
        return 2;
    }
    prepare_server(&check, argv[1]);
    load_scripts(&check, argv + 4, argc - 4);
    check.model = keyspace_new();
    keyspace_on_publish(check.model, hear, &check);
    bool equal = play(&check, count);
    if (equal) {
        print_counts(&check, count);
    }
    freeReplyObject(redisCommand(check.server, "FLUSHALL"));
    forget_messages(&check, 0);
    keyspace_free(check.model);
    script_host_free(check.host);
    for (int i = OWN_SCRIPTS; i < check.calls.script_count; i++) {
        free((void *)(uintptr_t)check.calls.scripts[i].text);
    }
    redisFree(check.listener);
    redisFree(check.server);
    return equal ? 0 : 1;
}
