/* The parser keeps its bounds, whatever a server sends.
 * SPDX-License-Identifier: Apache-2.0 */
#include "replies.h"

#include <hiredis.h>

#include "redlatch.h"
#include "unit.h"

enum { LIMIT = 100, TEXT_SIZE = 250 };

static const struct reply_bounds strict = {.size_max = LIMIT};
static const struct reply_bounds lenient = {.size_max = LIMIT, .skips = true};

/* Returns OK if the bytes are one whole reply, AGAIN if they are the beginning of one, or else the error. */
static int status_in(bool nested, const char *bytes, size_t size) {
    struct replies replies = {.nested = nested};
    void *parsed;
    CHECK(replies_open(&replies));
    CHECK_EQ_INT(replies_feed(&replies, bytes, size), REDLATCH_OK);
    int status = replies_next(&replies, &strict, &parsed);
    if (parsed) {
        freeReplyObject(parsed);
    }
    replies_close(&replies);
    return status;
}

static int status_of(const char *bytes, size_t size) {
    return status_in(false, bytes, size);
}

#define STATUS_OF(bytes) status_of(bytes, sizeof(bytes) - 1)
#define STATUS_OF_TEXT(text) status_of(text, strlen(text))

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
    struct replies replies = {.nested = false};
    void *parsed;
    CHECK(replies_open(&replies));
    CHECK_EQ_INT(replies_feed(&replies, "+OK\r\n", 5), REDLATCH_OK);
    replies.reader->fn->createString = no_room;
    CHECK_EQ_INT(replies_next(&replies, &strict, &parsed), REDLATCH_NO_MEMORY);
    replies_close(&replies);
}

/* The array is only announced. Without the bound, hiredis would allocate 16 GiB for it. */
static void arrays_that_answer_nothing(void) {
    CHECK_EQ_INT(STATUS_OF("*2147483647\r\n"), REDLATCH_PROTOCOL);
    CHECK_EQ_INT(STATUS_OF("*1025\r\n"), REDLATCH_PROTOCOL);
    CHECK_EQ_INT(STATUS_OF("*1024\r\n"), REDLATCH_AGAIN);
    CHECK_EQ_INT(STATUS_OF("*1\r\n*0\r\n"), REDLATCH_PROTOCOL);
    CHECK_EQ_INT(status_in(true, "*1\r\n*0\r\n", 8), REDLATCH_OK);
    CHECK_EQ_INT(status_in(true, "*1\r\n*16384\r\n", 12), REDLATCH_AGAIN); /* a range for each slot */
    CHECK_EQ_INT(status_in(true, "*1\r\n*16385\r\n", 12), REDLATCH_PROTOCOL);
    CHECK_EQ_INT(STATUS_OF("*1\r\n*1\r\n:1\r\n"), REDLATCH_PROTOCOL);
}

/* Returns how many bytes of an endless reply are accepted until it is refused. */
static size_t taken_of(const char *begin, char filler, const struct reply_bounds *bounds) {
    struct replies replies = {.nested = false};
    void *parsed;
    CHECK(replies_open(&replies));
    CHECK_EQ_INT(replies_feed(&replies, begin, strlen(begin)), REDLATCH_OK);
    size_t taken = strlen(begin);
    while (taken < 10 * LIMIT && replies_next(&replies, bounds, &parsed) == REDLATCH_AGAIN) {
        CHECK_EQ_INT(replies_feed(&replies, &filler, 1), REDLATCH_OK);
        taken++;
    }
    CHECK_EQ_INT(replies_next(&replies, bounds, &parsed), REDLATCH_PROTOCOL);
    replies_close(&replies);
    return taken;
}

static void a_reply_without_end_is_refused(void) {
    CHECK_EQ_INT(taken_of("+", 'x', &strict), LIMIT + 1);
    CHECK_EQ_INT(taken_of("-", ' ', &strict), LIMIT + 1);
    CHECK_EQ_INT(taken_of("$2147483647\r\n", 'x', &strict), LIMIT + 1);
    CHECK_EQ_INT(taken_of("*1000\r\n:1\r\n$500\r\n", 'x', &strict), LIMIT + 1);
}

/* The bound is for each reply, however many arrive together. */
static void many_short_replies_are_no_long_one(void) {
    struct replies replies = {.nested = false};
    void *parsed;
    CHECK(replies_open(&replies));
    for (int i = 0; i < 4 * LIMIT; i++) {
        CHECK_EQ_INT(replies_feed(&replies, ":1\r\n", 4), REDLATCH_OK);
    }
    CHECK_EQ_INT(replies_feed(&replies, "$90\r\n", 6), REDLATCH_OK);
    for (int i = 0; i < 4 * LIMIT; i++) {
        CHECK_EQ_INT(replies_next(&replies, &strict, &parsed), REDLATCH_OK);
        freeReplyObject(parsed);
    }
    CHECK_EQ_INT(replies.unfinished, 6);
    CHECK_EQ_INT(replies_next(&replies, &strict, &parsed), REDLATCH_AGAIN);
    replies_close(&replies);
}

/* Feeds the bytes in pieces. Writes all replies to `text_out`: a string as it is, and a colon for a number. */
static int skipped(const char *bytes, size_t size, size_t piece, char *text_out) {
    struct replies replies = {.nested = false};
    int status = REDLATCH_AGAIN;
    CHECK(replies_open(&replies));
    text_out[0] = '\0';
    for (size_t at = 0; at < size && status == REDLATCH_AGAIN; at += piece) {
        CHECK_EQ_INT(replies_feed(&replies, bytes + at, at + piece < size ? piece : size - at), REDLATCH_OK);
        void *parsed;
        while ((status = replies_next(&replies, &lenient, &parsed)) == REDLATCH_OK) {
            const redisReply *reply = parsed;
            snprintf(text_out + strlen(text_out), TEXT_SIZE - strlen(text_out), "<%s>",
                     reply->type == REDIS_REPLY_STRING ? reply->str : ":");
            freeReplyObject(parsed);
        }
    }
    CHECK_EQ_INT(status == REDLATCH_AGAIN ? replies.left_to_skip + replies.unfinished : 0, 0);
    replies_close(&replies);
    return status;
}

/* A server writes no zeros before a number. Whether they are skipped must not depend on the pieces either. */
enum { LONGEST_NUMBER = 13 };

static void a_string_that_is_too_long_is_skipped_where_it_may_be(void) {
    char bytes[1000];
    char text[TEXT_SIZE];
    char filler[302];
    memset(filler, 'x', 300);
    filler[300] = '\0';
    for (int digits = 3; digits <= LONGEST_NUMBER; digits++) {
        int size = snprintf(bytes, sizeof bytes, ":1\r\n$%0*d\r\n%s\r\n$2\r\nab\r\n:2\r\n$101\r\n%.101s\r\n:3\r\n",
                            digits, 300, filler, filler);
        for (size_t piece = 1; piece <= (size_t)size; piece++) {
            CHECK_EQ_INT(skipped(bytes, (size_t)size, piece, text), REDLATCH_AGAIN);
            CHECK_STR(text, "<:><><ab><:><><:>");
        }
    }
    CHECK_EQ_INT(STATUS_OF("$101\r\n"), REDLATCH_AGAIN);
}

/* What the parser refuses in one piece it refuses in many, too. A string that may be skipped has a bound, too. */
static void what_is_not_skipped(void) {
    static const char *const refused[] = {"$-7\r\n", "$12x\r\n", "$99999999999999999999\r\n", "$\r\n"};
    char text[TEXT_SIZE];
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        CHECK_EQ_INT(skipped(refused[i], strlen(refused[i]), 1, text), STATUS_OF_TEXT(refused[i]));
    }
    CHECK_EQ_INT(taken_of("$268435457\r\n", 'x', &lenient), LIMIT + 1);
    CHECK_EQ_INT(taken_of("*1000\r\n:1\r\n$500\r\n", 'x', &lenient), LIMIT + 1);
}

/* Writes an array's elements to `text_out`. Returns the status of a reply that is fed in pieces. */
static int flattened(const char *bytes, size_t size, size_t piece, bool skips_until_end, char *text_out) {
    struct replies replies = {.nested = false};
    struct reply_bounds bounds = {.size_max = 1 << 16, .skips = true};
    int status = REDLATCH_AGAIN;
    CHECK(replies_open(&replies));
    size_t end = 0;
    text_out[0] = '\0';
    for (size_t at = 0; at < size && status == REDLATCH_AGAIN; at += piece) {
        CHECK_EQ_INT(replies_feed(&replies, bytes + at, at + piece < size ? piece : size - at), REDLATCH_OK);
        void *parsed;
        status = replies_next(&replies, &bounds, &parsed);
        bounds.skips = skips_until_end;
        const redisReply *reply = parsed;
        for (size_t i = 0; reply && i < reply->elements; i++) {
            const redisReply *element = reply->element[i];
            bool is_number = element->type == REDIS_REPLY_INTEGER;
            end += (size_t)(is_number
                                ? snprintf(text_out + end, TEXT_SIZE - end, "%lld ", element->integer)
                                : snprintf(text_out + end, TEXT_SIZE - end, "%s ", element->str ? element->str : "-"));
        }
        freeReplyObject(parsed);
    }
    replies_close(&replies);
    return status;
}

/* Whether a reply may be cut is decided at its beginning: its command may be abandoned before its end. */
static void arrays_are_flat_where_they_may_be(void) {
    static const char bytes[] = "*4\r\n:1\r\n*3\r\n$3\r\ntwo\r\n*0\r\n*2\r\n:3\r\n*-1\r\n*1\r\n*1\r\n$-1\r\n-E 6\r\n";
    char text[TEXT_SIZE];
    for (size_t piece = 1; piece < sizeof bytes; piece++) {
        CHECK_EQ_INT(flattened(bytes, sizeof bytes - 1, piece, piece % 2, text), REDLATCH_OK);
        CHECK_STR(text, "1 two 3 - - E 6 ");
    }
    CHECK_EQ_INT(flattened("*2\r\n*0\r\n*0\r\n", 12, 5, true, text), REDLATCH_OK);
    CHECK_STR(text, "");
}

static void elements_that_nobody_reads_are_dropped(void) {
    enum { COUNT = 3000 };
    char bytes[20 + 4 * COUNT];
    char text[TEXT_SIZE];
    size_t size = (size_t)snprintf(bytes, sizeof bytes, "*2\r\n:0\r\n*%d\r\n", COUNT);
    for (int i = 0; i < COUNT; i++) {
        size += (size_t)snprintf(bytes + size, sizeof bytes - size, i % 2 ? ":1\r\n" : "*0\r\n");
    }
    CHECK_EQ_INT(flattened(bytes, size, 1000, true, text), REDLATCH_OK);
    CHECK_EQ_INT(strlen(text), 2 * FLAT_ELEMENTS_MAX);
    CHECK_EQ_INT(flattened("*2147483647\r\n:1\r\n", 17, 17, true, text), REDLATCH_AGAIN); /* it costs no memory */
}

int main(void) {
    RUN(whole_and_half_replies);
    RUN(what_is_no_reply);
    RUN(a_reply_without_memory_is_none_of_the_servers_doing);
    RUN(arrays_that_answer_nothing);
    RUN(a_reply_without_end_is_refused);
    RUN(many_short_replies_are_no_long_one);
    RUN(a_string_that_is_too_long_is_skipped_where_it_may_be);
    RUN(what_is_not_skipped);
    RUN(arrays_are_flat_where_they_may_be);
    RUN(elements_that_nobody_reads_are_dropped);
    return unit_done();
}
