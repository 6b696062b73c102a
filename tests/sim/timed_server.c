/* The real server in model_check: its replies in the model's form, and the milliseconds in which they were given.
 * SPDX-License-Identifier: Apache-2.0 */
#include "timed_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void give_up(const char *what, const char *detail) {
    fprintf(stderr, "model_check: %s: %s\n", what, detail);
    exit(2);
}

redisContext *timed_server_connect(const char *path) {
    redisContext *context = redisConnectUnix(path);
    if (!context || context->err) {
        give_up(path, context ? context->errstr : "no memory");
    }
    redisSetTimeout(context, (struct timeval){.tv_sec = 10});
    return context;
}

void blank_script_digits(struct redis_reply *reply) {
    char *digits = strstr(reply->text, "script: ");
    for (size_t i = 8; digits && i < 48 && digits[i] != '\0'; i++) {
        digits[i] = '#';
    }
}

static void convert(const redisReply *theirs, struct redis_reply *out) {
    redis_reply_nil(out);
    switch (theirs->type) {
    case REDIS_REPLY_INTEGER:
        redis_reply_integer(out, theirs->integer);
        break;
    case REDIS_REPLY_STRING:
        redis_reply_bulk(out, (struct redis_text){theirs->str, theirs->len});
        break;
    case REDIS_REPLY_STATUS:
        redis_reply_status(out, (struct redis_text){theirs->str, theirs->len});
        break;
    case REDIS_REPLY_ERROR:
        redis_reply_error(out, "%s", theirs->str);
        blank_script_digits(out);
        break;
    case REDIS_REPLY_ARRAY:
        redis_reply_array(out, theirs->elements);
        for (size_t i = 0; i < theirs->elements; i++) {
            convert(theirs->element[i], &out->elements[i]);
        }
        break;
    default:
        break;
    }
}

void timed_server_next(redisContext *server, struct redis_reply *reply_out) {
    void *reply = NULL;
    if (redisGetReply(server, &reply) != REDIS_OK) {
        give_up("the server", server->errstr);
    }
    convert(reply, reply_out);
    freeReplyObject(reply);
}

/* Reads a reply to TIME. Returns its milliseconds. */
static int64_t next_time(redisContext *server) {
    struct redis_reply reply;
    timed_server_next(server, &reply);
    if (reply.kind != REDIS_ARRAY || reply.size != 2) {
        give_up("TIME", "expected an array of two");
    }
    int64_t time = strtoll(reply.elements[0].text, NULL, 10) * 1000 + strtoll(reply.elements[1].text, NULL, 10) / 1000;
    redis_reply_free(&reply);
    return time;
}

int64_t timed_server_ask(redisContext *server, const char *script, const struct redis_text *arguments, size_t count,
                         size_t key_count, struct redis_reply *reply_out, int64_t *after_out) {
    const char *parts[TIMED_SERVER_ARGUMENTS_MAX + 3];
    size_t sizes[TIMED_SERVER_ARGUMENTS_MAX + 3];
    char key_digits[NUMBER_TEXT_SIZE];
    size_t head = script ? 3 : 0;
    if (script) {
        parts[0] = "EVAL";
        parts[1] = script;
        parts[2] = key_digits;
        sizes[2] = integer_format((int64_t)key_count, key_digits);
        sizes[0] = strlen(parts[0]);
        sizes[1] = strlen(script);
    }
    for (size_t i = 0; i < count; i++) {
        parts[head + i] = arguments[i].bytes;
        sizes[head + i] = arguments[i].size;
    }
    redisAppendCommand(server, "TIME");
    redisAppendCommandArgv(server, (int)(head + count), parts, sizes);
    redisAppendCommand(server, "TIME");
    int64_t before = next_time(server);
    timed_server_next(server, reply_out);
    *after_out = next_time(server);
    return before;
}

int64_t timed_server_pttl(redisContext *server, const struct redis_text *keys, size_t count, int64_t *left_out) {
    int64_t before = 0;
    int64_t after = -1;
    while (before != after) {
        redisAppendCommand(server, "TIME");
        for (size_t i = 0; i < count; i++) {
            redisAppendCommand(server, "PTTL %b", keys[i].bytes, keys[i].size);
        }
        redisAppendCommand(server, "TIME");
        before = next_time(server);
        for (size_t i = 0; i < count; i++) {
            struct redis_reply reply;
            timed_server_next(server, &reply);
            left_out[i] = reply.integer;
            redis_reply_free(&reply);
        }
        after = next_time(server);
    }
    return after;
}
