/* Replies of hiredis' parser, converted for the protocol layer.
 * SPDX-License-Identifier: Apache-2.0 */
#include "parsed.h"

#include <hiredis.h>
#include <stdlib.h>

#include "unit.h"

static struct reply_holder holder; /* zeroed, as its first use expects */

static const struct reply *shown(const char *bytes, size_t size) {
    redisReader *reader = redisReaderCreate();
    void *parsed = NULL;
    CHECK(reader && redisReaderFeed(reader, bytes, size) == REDIS_OK);
    CHECK(redisReaderGetReply(reader, &parsed) == REDIS_OK && parsed);
    redisReaderFree(reader);
    CHECK(reply_holder_show(&holder, parsed));
    return &holder.reply;
}

#define SHOWN(bytes) shown(bytes, sizeof(bytes) - 1)

static void check_plain(const struct reply *reply, enum reply_kind kind, int64_t integer, const char *text,
                        size_t size) {
    CHECK_EQ_INT(reply->kind, kind);
    CHECK_EQ_INT(reply->integer, integer);
    CHECK_EQ_INT(reply->size, size);
    CHECK(memcmp(reply->text, text, size) == 0);
    CHECK_EQ_INT(reply->count, 0);
}

static void each_kind(void) {
    check_plain(SHOWN(":0\r\n"), REPLY_INTEGER, 0, "", 0);
    check_plain(SHOWN(":-9223372036854775808\r\n"), REPLY_INTEGER, INT64_MIN, "", 0);
    check_plain(SHOWN("$-1\r\n"), REPLY_NIL, 0, "", 0);
    check_plain(SHOWN("*-1\r\n"), REPLY_NIL, 0, "", 0);
    check_plain(SHOWN("$5\r\na\0b\r\n\r\n"), REPLY_STRING, 0, "a\0b\r\n", 5);
    check_plain(SHOWN("$0\r\n\r\n"), REPLY_STRING, 0, "", 0);
    check_plain(SHOWN("+OK\r\n"), REPLY_STRING, 0, "OK", 2);
    check_plain(SHOWN("-ERR no\r\n"), REPLY_ERROR, 0, "ERR no", 6);
    check_plain(SHOWN("*0\r\n"), REPLY_ARRAY, 0, "", 0);
    reply_holder_clear(&holder);
    CHECK(holder.parsed == NULL);
    reply_holder_clear(&holder); /* twice does no harm */
}

static void elements_of_an_array(void) {
    const struct reply *reply = SHOWN("*4\r\n:7\r\n$2\r\nab\r\n$-1\r\n-NO way\r\n");
    CHECK_EQ_INT(reply->kind, REPLY_ARRAY);
    CHECK_EQ_INT(reply->count, 4);
    check_plain(&reply->elements[0], REPLY_INTEGER, 7, "", 0);
    check_plain(&reply->elements[1], REPLY_STRING, 0, "ab", 2);
    check_plain(&reply->elements[2], REPLY_NIL, 0, "", 0);
    check_plain(&reply->elements[3], REPLY_ERROR, 0, "NO way", 6);
    check_plain(SHOWN(":3\r\n"), REPLY_INTEGER, 3, "", 0); /* nothing of the array is left */
    reply_holder_clear(&holder);
}

/* Converts an array of `count` integers, all of them 1. */
static const struct reply *shown_array(int count) {
    char bytes[20 + 4 * (REPLY_ELEMENTS_MAX + 3)];
    size_t size = (size_t)snprintf(bytes, sizeof bytes, "*%d\r\n", count);
    for (int i = 0; i < count; i++) {
        size += (size_t)snprintf(bytes + size, sizeof bytes - size, ":1\r\n");
    }
    return shown(bytes, size);
}

/* The reply for a multi lock of fenced locks has a number, and a token for each member. */
static void the_tokens_of_the_largest_multi_lock_are_all_there(void) {
    const struct reply *reply = shown_array(1 + REDLATCH_MEMBERS_MAX);
    CHECK_EQ_INT(reply->count, 1 + REDLATCH_MEMBERS_MAX);
    reply_holder_clear(&holder);
}

static void an_array_is_cut_behind_the_longest_answer(void) {
    const struct reply *reply = shown_array(REPLY_ELEMENTS_MAX + 3);
    CHECK_EQ_INT(reply->count, REPLY_ELEMENTS_MAX);
    check_plain(&reply->elements[REPLY_ELEMENTS_MAX - 1], REPLY_INTEGER, 1, "", 0);
    reply_holder_clear(&holder);
}

/* Newer versions of hiredis parse booleans and maps of RESP3. Such a reply must not be taken for nil. */
static void kinds_of_a_newer_protocol(void) {
    redisReply *strange = calloc(1, sizeof *strange);
    CHECK(strange);
    strange->type = 77;
    CHECK(!reply_holder_show(&holder, strange));
    reply_holder_clear(&holder);
}

int main(void) {
    RUN(each_kind);
    RUN(elements_of_an_array);
    RUN(the_tokens_of_the_largest_multi_lock_are_all_there);
    RUN(an_array_is_cut_behind_the_longest_answer);
    RUN(kinds_of_a_newer_protocol);
    return unit_done();
}
