/* User and password of connections: replaced, sent, wiped from buffers, and kept out of error texts.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "credentials.h"

#include "unit.h"

static struct credentials credentials;

static void begin(const char *username, const char *password) {
    CHECK(credentials_set(&credentials, username, password));
}

static void end(void) {
    credentials_free(&credentials);
    CHECK(!credentials.username && !credentials.password && credentials.version == 0);
}

static void each_change_is_another_version(void) {
    CHECK(!credentials_are_given(NULL) && !credentials_are_given(&credentials));
    begin("user", "word");
    CHECK(credentials_are_given(&credentials));
    uint32_t first = credentials.version;
    begin("user", "word");
    CHECK(credentials.version != first);
    CHECK_STR(credentials.username, "user");
    begin(NULL, "other");
    CHECK(!credentials.username && credentials_are_given(&credentials));
    CHECK_STR(credentials.password, "other");
    begin("user", NULL);
    CHECK(!credentials.password && credentials_are_given(&credentials));
    begin(NULL, NULL);
    CHECK(!credentials_are_given(&credentials));
    end();
}

static void check_sent(const char *username, const char *password, const char *expected) {
    struct output output = {0};
    begin(username, password);
    CHECK(credentials_say(&credentials, &output) && output_bytes(&output, "", 1));
    CHECK_STR(output.bytes, expected);
    output_free(&output);
    end();
}

static void what_is_sent(void) {
    check_sent("me", "two words", "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$9\r\ntwo words\r\n");
    check_sent(NULL, "word", "*2\r\n$4\r\nAUTH\r\n$4\r\nword\r\n");
    check_sent("me", NULL, "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$0\r\n\r\n");
}

static void a_buffer_is_wiped_but_for_what_is_pending(void) {
    struct output output = {0};
    begin(NULL, "S3CR3T");
    CHECK(credentials_say(&credentials, &output));
    size_t size = output_pending(&output);
    output.begin = size;                          /* sent */
    CHECK(output_bytes(&output, "-pending-", 9)); /* written from the beginning, as nothing was pending */
    CHECK(memmem(output.bytes, size, "S3CR3T", 6));
    output_wipe(&output);
    CHECK(!memmem(output.bytes, size, "S3CR3T", 6));
    CHECK(memcmp(output.bytes + output.begin, "-pending-", 9) == 0 && output_pending(&output) == 9);
    output_free(&output);
    output_wipe(&output);
    end();
}

/* Checks what is shown of an error reply to AUTH. If `same` is false, the credentials have changed since that AUTH. */
static void check_shown(bool same, const char *error, const char *expected) {
    const struct reply reply = {.kind = REPLY_ERROR, .text = error, .size = strlen(error)};
    struct reply shown = credentials_shown_error(&credentials, credentials.version - !same, &reply);
    char text[200] = "";
    memcpy(text, shown.text, shown.size);
    CHECK_STR(text, expected);
}

static void what_is_shown_of_an_error(void) {
    static const char wrong[] = "WRONGPASS invalid username-password pair or user is disabled.";
    begin("me", "pass");
    check_shown(true, wrong, wrong);
    check_shown(false, wrong, wrong);
    check_shown(true, "ERR no pass here", "ERR no ");
    check_shown(false, "ERR no pass here", "ERR");
    check_shown(true, "ERR unknown command 'AUTH' 'me'", "ERR unknown command ");
    check_shown(true, "ERR invalid", "ERR invalid");
    check_shown(true, "", "");
    end();
    const struct reply reply = {.kind = REPLY_ERROR, .text = "NOAUTH none", .size = 11};
    CHECK_EQ_INT(credentials_shown_error(NULL, 0, &reply).size, 6);
}

int main(void) {
    RUN(each_change_is_another_version);
    RUN(what_is_sent);
    RUN(a_buffer_is_wiped_but_for_what_is_pending);
    RUN(what_is_shown_of_an_error);
    return unit_done();
}
