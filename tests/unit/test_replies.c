/* The parser within its bounds, against whatever a server may send.
 * SPDX-License-Identifier: Apache-2.0 */
#include "replies.h"

#include <hiredis.h>

#include "redlatch.h"
#include "unit.h"

enum { LIMIT = 100 };

/* Whether all of the bytes are one reply: OK, AGAIN if they are the beginning of one, or what is wrong with them. */
static int status_of(const char *bytes, size_t size) {
    struct replies replies;
    void *parsed;
    CHECK(replies_open(&replies));
    CHECK_EQ_INT(replies_feed(&replies, bytes, size), REDLATCH_OK);
    int status = replies_next(&replies, LIMIT, &parsed);
    if (parsed) {
        freeReplyObject(parsed);
    }
    replies_close(&replies);
    return status;
}

#define STATUS_OF(bytes) status_of(bytes, sizeof(bytes) - 1)

static void whole_and_half_replies(void) {
    CHECK_EQ_INT(STATUS_OF("+OK\r\n"), REDLATCH_OK);
    CHECK_EQ_INT(STATUS_OF("*2\r\n:1\r\n$2\r\nab\r\n"), REDLATCH_OK);
    CHECK_EQ_INT(STATUS_OF("*2\r\n:1\r\n$2\r\na"), REDLATCH_AGAIN);
    CHECK_EQ_INT(STATUS_OF(""), REDLATCH_AGAIN);
}

static void what_is_no_reply(void) {
    CHECK_EQ_INT(STATUS_OF("HTTP/1.1 200 OK\r\n"), REDLATCH_PROTOCOL);
    CHECK_EQ_INT(STATUS_OF("$-7\r\n"), REDLATCH_PROTOCOL);
    CHECK_EQ_INT(STATUS_OF(":99999999999999999999\r\n"), REDLATCH_PROTOCOL);
    CHECK_EQ_INT(STATUS_OF("\0\0\0\0"), REDLATCH_PROTOCOL);
}

static void *no_room(const redisReadTask *task, char *text, size_t size) {
    (void)task;
    (void)text;
    (void)size;
    return NULL;
}

static void a_reply_without_memory_is_none_of_the_servers_doing(void) {
    struct replies replies;
    void *parsed;
    CHECK(replies_open(&replies));
    CHECK_EQ_INT(replies_feed(&replies, "+OK\r\n", 5), REDLATCH_OK);
    replies.reader->fn->createString = no_room;
    CHECK_EQ_INT(replies_next(&replies, LIMIT, &parsed), REDLATCH_NO_MEMORY);
    replies_close(&replies);
}

/* Announced only: hiredis would allocate 16 GiB. */
static void arrays_that_answer_nothing(void) {
    CHECK_EQ_INT(STATUS_OF("*2147483647\r\n"), REDLATCH_PROTOCOL);
    CHECK_EQ_INT(STATUS_OF("*1025\r\n"), REDLATCH_PROTOCOL);
    CHECK_EQ_INT(STATUS_OF("*1024\r\n"), REDLATCH_AGAIN);
    CHECK_EQ_INT(STATUS_OF("*1\r\n*1\r\n:1\r\n"), REDLATCH_PROTOCOL);
}

/* How many bytes of an endless reply are taken until it is refused. */
static size_t taken_of(const char *begin, char filler) {
    struct replies replies;
    void *parsed;
    CHECK(replies_open(&replies));
    CHECK_EQ_INT(replies_feed(&replies, begin, strlen(begin)), REDLATCH_OK);
    size_t taken = strlen(begin);
    while (taken < 10 * LIMIT && replies_next(&replies, LIMIT, &parsed) == REDLATCH_AGAIN) {
        CHECK_EQ_INT(replies_feed(&replies, &filler, 1), REDLATCH_OK);
        taken++;
    }
    CHECK_EQ_INT(replies_next(&replies, LIMIT, &parsed), REDLATCH_PROTOCOL);
    replies_close(&replies);
    return taken;
}

static void a_reply_without_end_is_refused(void) {
    CHECK_EQ_INT(taken_of("+", 'x'), LIMIT + 1);
    CHECK_EQ_INT(taken_of("-", ' '), LIMIT + 1);
    CHECK_EQ_INT(taken_of("$2147483647\r\n", 'x'), LIMIT + 1);
    CHECK_EQ_INT(taken_of("*1000\r\n:1\r\n$500\r\n", 'x'), LIMIT + 1);
}

/* What counts is one reply, however many come together. */
static void many_short_replies_are_no_long_one(void) {
    struct replies replies;
    void *parsed;
    CHECK(replies_open(&replies));
    for (int i = 0; i < 4 * LIMIT; i++) {
        CHECK_EQ_INT(replies_feed(&replies, ":1\r\n", 4), REDLATCH_OK);
    }
    CHECK_EQ_INT(replies_feed(&replies, "$90\r\n", 6), REDLATCH_OK);
    for (int i = 0; i < 4 * LIMIT; i++) {
        CHECK_EQ_INT(replies_next(&replies, LIMIT, &parsed), REDLATCH_OK);
        freeReplyObject(parsed);
    }
    CHECK_EQ_INT(replies.unfinished, 6);
    CHECK_EQ_INT(replies_next(&replies, LIMIT, &parsed), REDLATCH_AGAIN);
    replies_close(&replies);
}

int main(void) {
    RUN(whole_and_half_replies);
    RUN(what_is_no_reply);
    RUN(a_reply_without_memory_is_none_of_the_servers_doing);
    RUN(arrays_that_answer_nothing);
    RUN(a_reply_without_end_is_refused);
    RUN(many_short_replies_are_no_long_one);
    return unit_done();
}
