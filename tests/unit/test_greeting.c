/* The greeting of a new connection, with a server that the test plays: which commands are sent, how replies are judged,
 * and what becomes of commands that the last connection left in doubt.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "greeting.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fake_server.h"
#include "parsed.h"
#include "system.h"
#include "unit.h"
#include "uri.h"

#define INFO "$66\r\n# Server\r\nrun_id:" FAKE_RUN_ID "\r\nhz:10\r\n\r\n"
#define INFO_RESTARTED "$66\r\n# Server\r\nrun_id:" FAKE_OTHER_RUN_ID "\r\nhz:10\r\n\r\n"

static struct fake_server server;
static struct uri uri;
static struct credentials credentials;
static struct connection_settings settings;
static struct connection connection;

static void begin(bool subscriber) {
    char why[400];
    fake_open_unix(&server);
    CHECK_EQ_INT(uri_parse(server.url, &uri, why, sizeof why), REDLATCH_OK);
    settings = (struct connection_settings){
        .uri = &uri, .name = "redlatch:unit", .connect_timeout = 2 * SECOND, .dead_peer_timeout = 10 * SECOND};
    settings.credentials = &credentials;
    connection_init(&connection, &settings, subscriber);
}

static void end(void) {
    connection_close(&connection);
    connection_free(&connection);
    credentials_free(&credentials);
    uri_free(&uri);
    fake_close(&server);
}

static void give(const char *username, const char *password) {
    CHECK(credentials_set(&credentials, username, password));
}

/* Opens the connection and has it send the greeting. */
static void dial(void) {
    CHECK(resolve_at_once(&uri, &connection.addresses));
    CHECK_EQ_INT(connection_open(&connection, system_now()), REDLATCH_OK);
    CHECK_EQ_INT(connection.state, CONNECTION_OPENING);
    CHECK_EQ_INT(connection_advance(&connection, system_now()), REDLATCH_AGAIN);
    CHECK_EQ_INT(connection.state, CONNECTION_GREETING);
    CHECK(fake_accept(&server));
}

/* Goes on with the connection until its greeting ends. Returns the status. */
static int outcome(void) {
    int64_t until = system_now() + 5 * SECOND;
    int status;
    while ((status = connection_advance(&connection, system_now())) == REDLATCH_AGAIN && system_now() < until) {
        connection_wait(&connection, until);
    }
    return status;
}

static void hears(const char *expected) {
    char command[300] = "";
    CHECK(fake_hear(&server, command, sizeof command));
    CHECK_STR(command, expected);
}

static void hear_greeting(void) {
    hears("CLIENT SETNAME redlatch:unit");
    hears("CLIENT ID");
    hears("INFO server");
}

/* Checks that a greeting with these replies ends with `status`, and with `detail` in its error text. */
static void check_outcome(const char *answers, int status, const char *detail) {
    begin(false);
    dial();
    fake_say(&server, answers);
    CHECK_EQ_INT(outcome(), status);
    CHECK_EQ_INT(connection.state, status == REDLATCH_OK ? CONNECTION_READY : CONNECTION_CLOSED);
    if (!strstr(connection.detail, detail)) {
        CHECK_STR(connection.detail, detail);
    }
    CHECK(status == REDLATCH_OK || strstr(connection.detail, server.path)); /* has the address */
    CHECK(status == REDLATCH_OK ? connection.fd >= 0 : connection.fd == -1 && connection.retry_at > 0);
    end();
}

static void says_what_is_needed(void) {
    begin(false);
    dial();
    hear_greeting();
    fake_say(&server, "+OK\r\n:42\r\n" INFO);
    CHECK_EQ_INT(outcome(), REDLATCH_OK);
    CHECK_EQ_INT(connection.server_id, 42);
    CHECK_STR(connection.run_id, FAKE_RUN_ID);
    CHECK_EQ_INT(connection.generation, 1);
    CHECK_EQ_INT(connection.resolution, RESOLVED_BY_KILL); /* there was no connection before */
    CHECK_STR(connection.detail, "");
    CHECK_EQ_INT(connection_advance(&connection, system_now()), REDLATCH_AGAIN); /* nothing more to do */
    end();
}

static void says_user_password_and_database(void) {
    begin(false);
    give("me", "two words");
    settings.database = 3;
    dial();
    hears("AUTH me two words");
    hears("SELECT 3");
    hear_greeting();
    fake_say(&server, "+OK\r\n+OK\r\n+OK\r\n:1\r\n" INFO);
    CHECK_EQ_INT(outcome(), REDLATCH_OK);
    end();
    begin(false);
    give(NULL, "word");
    dial();
    hears("AUTH word");
    hear_greeting();
    end();
}

/* AUTH is sent for a user without a password, too: the connection must not become one of the default user. */
static void says_a_user_without_password(void) {
    begin(false);
    give("me", NULL);
    dial();
    hears("AUTH me ");
    hear_greeting();
    end();
}

static void a_subscriber_says_less(void) {
    begin(true);
    give(NULL, "word");
    settings.database = 3;
    dial();
    hears("AUTH word");
    hears("CLIENT SETNAME redlatch:unit");
    hears("INFO server");
    fake_say(&server, "+OK\r\n+OK\r\n" INFO);
    CHECK_EQ_INT(outcome(), REDLATCH_OK);
    CHECK_EQ_INT(connection.server_id, 0);
    CHECK_STR(connection.run_id, FAKE_RUN_ID);
    end();
}

static void answers_come_in_pieces(void) {
    begin(false);
    dial();
    static const char answers[] = "+OK\r\n:42\r\n" INFO;
    for (size_t i = 0; i < sizeof answers - 2; i++) {
        fake_say(&server, (char[]){answers[i], '\0'});
        CHECK_EQ_INT(connection_advance(&connection, system_now()), REDLATCH_AGAIN);
    }
    fake_say(&server, "\n");
    CHECK_EQ_INT(outcome(), REDLATCH_OK);
    CHECK_STR(connection.run_id, FAKE_RUN_ID);
    end();
}

static void errors_that_end_it(void) {
    check_outcome("-NOAUTH Authentication required.\r\n", REDLATCH_AUTHENTICATION, "NOAUTH Authentication required.");
    check_outcome("-WRONGPASS invalid username-password pair\r\n", REDLATCH_AUTHENTICATION, "WRONGPASS");
    check_outcome("-LOADING Redis is loading the dataset in memory\r\n", REDLATCH_LOADING, "LOADING");
    check_outcome("-BUSY Redis is busy running a script.\r\n", REDLATCH_SERVER_BUSY, "BUSY");
    check_outcome("-MASTERDOWN Link with MASTER is down\r\n", REDLATCH_NOT_WRITABLE, "MASTERDOWN");
    check_outcome("-DENIED Redis is running in protected mode\r\n", REDLATCH_NO_PERMISSION, "protected mode");
    check_outcome("-ERR max number of clients reached\r\n", REDLATCH_TOO_MANY_CLIENTS, "max number of clients");
    check_outcome("-DENIED \x1b[2J\xc2\x9b\x7f\xe2\x80\xae.\r\n", REDLATCH_NO_PERMISSION, "DENIED .[2J.......");
    check_outcome("+OK\r\n:1\r\n-NOAUTH Authentication required.\r\n", REDLATCH_AUTHENTICATION, "NOAUTH");
    check_outcome("HTTP/1.1 400 Bad Request\r\n\r\n", REDLATCH_PROTOCOL, "not a Redis server");
    check_outcome("+OK\r\n\x16\x03\x01", REDLATCH_PROTOCOL, "not a Redis server");
    check_outcome("+OK\r\n#t\r\n", REDLATCH_PROTOCOL, "not a Redis server"); /* RESP3, which was not requested */
}

static void errors_that_can_be_lived_with(void) {
    check_outcome("-NOPERM no CLIENT for you\r\n:1\r\n" INFO, REDLATCH_OK, "");
    check_outcome("+OK\r\n-NOPERM no\r\n" INFO, REDLATCH_OK, "");
    check_outcome("+OK\r\n:1\r\n-NOPERM no\r\n", REDLATCH_OK, "");
    check_outcome("-ERR unknown command\r\n-ERR unknown command\r\n-ERR unknown command\r\n", REDLATCH_OK, "");
    check_outcome("+OK\r\n:1\r\n$3\r\nabc\r\n", REDLATCH_OK, "");
}

/* If CLIENT ID is denied, no other number in the replies is the id. */
static void another_number_is_no_id(void) {
    begin(false);
    dial();
    fake_say(&server, ":7\r\n-NOPERM no\r\n" INFO);
    CHECK_EQ_INT(outcome(), REDLATCH_OK);
    CHECK_EQ_INT(connection.server_id, 0);
    end();
}

static void check_first_error_reply(const char *answer, int status) {
    begin(false);
    if (status == REDLATCH_AUTHENTICATION) {
        give(NULL, "word");
    } else {
        settings.database = 3;
    }
    dial();
    fake_say(&server, answer);
    CHECK_EQ_INT(outcome(), status);
    end();
}

static void check_sent(const char *password, const char *answer, const char *shown) {
    char line[200];
    begin(false);
    give(NULL, password);
    dial();
    snprintf(line, sizeof line, "-%s\r\n", answer);
    fake_say(&server, line);
    CHECK_EQ_INT(outcome(), REDLATCH_AUTHENTICATION);
    CHECK(strstr(connection.detail, shown));
    if (strcmp(answer, shown) != 0) {
        CHECK(!strstr(connection.detail, answer));
    }
    end();
}

static void what_redis_says_is_not_cut_at_letters_of_the_password(void) {
    static const char wrong[] = "WRONGPASS invalid username-password pair or user is disabled.";
    static const char wrong_of_redis_6[] = "WRONGPASS invalid username-password pair";
    static const char needless[] = "ERR AUTH <password> called without any password configured for the default user."
                                   " Are you sure your configuration is correct?";
    check_sent("p", wrong, wrong);
    check_sent("password", wrong, wrong);
    check_sent("p", wrong_of_redis_6, wrong_of_redis_6);
    check_sent("A", needless, needless);
    check_sent("p", "ERR you said p", "ERR you said ");
    check_sent("p", "WRONGPASS invalid username-password pair: p", "WRONGPASS invalid username-");
}

static void refused_password_or_database(void) {
    check_first_error_reply("-ERR AUTH <password> called without any password configured\r\n", REDLATCH_AUTHENTICATION);
    check_first_error_reply("-ERR invalid password\r\n", REDLATCH_AUTHENTICATION);
    check_first_error_reply("-WRONGPASS invalid username-password pair\r\n", REDLATCH_AUTHENTICATION);
    check_first_error_reply("-ERR DB index is out of range\r\n", REDLATCH_SERVER);
    check_first_error_reply("-NOPERM this user has no permissions to run the 'select' command\r\n",
                            REDLATCH_NO_PERMISSION);
}

static void the_server_hangs_up(void) {
    begin(false);
    dial();
    fake_hang_up(&server);
    CHECK_EQ_INT(outcome(), REDLATCH_UNREACHABLE);
    CHECK(strstr(connection.detail, "the server closed the connection"));
    dial();
    fake_say(&server, "+OK\r\n:1");
    fake_hang_up(&server);
    CHECK_EQ_INT(outcome(), REDLATCH_UNREACHABLE);
    dial();
    hear_greeting();
    fake_say(&server, "-ERR max number of clients reached\r\n"); /* as Redis does, which then hangs up */
    fake_hang_up(&server);
    CHECK_EQ_INT(outcome(), REDLATCH_TOO_MANY_CLIENTS);
    end();
}

static void the_server_is_silent(void) {
    begin(false);
    settings.connect_timeout = SECOND / 20;
    dial();
    fake_say(&server, "+OK\r\n");
    int64_t start = system_now();
    CHECK_EQ_INT(outcome(), REDLATCH_NO_REPLY);
    CHECK(system_now() - start < 2 * SECOND);
    CHECK(strstr(connection.detail, "no reply before the connect timeout"));
    end();
}

/* A reply that never ends fails at the connect timeout. A reply that is too long fails before. */
static void the_server_never_ends(void) {
    char line[1001];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    begin(false);
    settings.connect_timeout = SECOND / 20;
    dial();
    fake_say(&server, "+");
    int64_t start = system_now();
    int64_t until = start + SECOND;
    int status;
    do {
        fake_say(&server, "x");
        connection_wait(&connection, system_now() + 10 * MILLISECOND);
        status = connection_advance(&connection, system_now());
    } while (status == REDLATCH_AGAIN && system_now() < until);
    CHECK_EQ_INT(status, REDLATCH_NO_REPLY);
    settings.connect_timeout = 60 * SECOND;
    dial();
    fake_say(&server, "+");
    size_t reported = 0;
    do {
        fake_say(&server, line);
        reported += sizeof line - 1;
        status = connection_advance(&connection, system_now());
    } while (status == REDLATCH_AGAIN && reported < 1 << 20);
    CHECK_EQ_INT(status, REDLATCH_PROTOCOL);
    CHECK(reported < 1 << 17);
    end();
}

/* Each step reads a bounded number of bytes, however many have arrived. */
static void the_server_floods(void) {
    begin(false);
    dial();
    static char flood[60001];
    for (size_t i = 0; i + 5 < sizeof flood; i++) {
        flood[i] = "+OK\r\n"[i % 5];
    }
    fake_say(&server, flood);
    CHECK_EQ_INT(outcome(), REDLATCH_PROTOCOL);
    end();
}

/* A surplus reply would be taken for the reply to the first command. */
static void one_answer_too_many(void) {
    check_outcome("+OK\r\n:1\r\n" INFO "+OK\r\n", REDLATCH_PROTOCOL, "not a Redis server");
    check_outcome("+OK\r\n:1\r\n" INFO "$", REDLATCH_PROTOCOL, "not a Redis server");
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static void nobody_listens(void) {
    begin(false);
    unlink(server.path);
    CHECK(resolve_at_once(&uri, &connection.addresses));
    int64_t now = system_now();
    CHECK_EQ_INT(connection_open(&connection, now), REDLATCH_UNREACHABLE);
    CHECK(strstr(connection.detail, server.path) && strstr(connection.detail, strerror(ENOENT)));
    CHECK(connection.retry_at > now && connection.retry_at <= now + 10 * MILLISECOND);
    CHECK_EQ_INT(connection.addresses.count, 0); /* another lookup is needed */
    /* Pauses double up to a bound, which is lower in the first seconds. A random time up to the pause itself is added.
     * In retry_soon_at the lower bound stays. */
    int64_t pause = 5 * MILLISECOND;
    int64_t most_by_chance = 0; /* in thousandths of the pause */
    for (int i = 0; i < 20; i++) {
        int64_t later = i < 10 ? now : now + 6 * SECOND;
        CHECK(resolve_at_once(&uri, &connection.addresses));
        CHECK_EQ_INT(connection_open(&connection, later), REDLATCH_UNREACHABLE);
        pause = least(2 * pause, (i < 10 ? 40 : 500) * MILLISECOND);
        int64_t soon = least(pause, 40 * MILLISECOND);
        CHECK(connection.retry_at >= later + pause && connection.retry_at < later + 2 * pause);
        CHECK(connection.retry_soon_at >= later + soon && connection.retry_soon_at < later + 2 * soon);
        int64_t by_chance = (connection.retry_at - later - pause) * 1000 / pause;
        most_by_chance = by_chance > most_by_chance ? by_chance : most_by_chance;
    }
    CHECK(most_by_chance > 100);
    end();
}

/* Breaks a connection that worked. `unanswered` says whether replies were outstanding. `first` has the replies to its
 * greeting, and `second` those to the greeting of the next connection. */
static void reconnect_after(bool unanswered, const char *first, const char *second) {
    begin(false);
    dial();
    fake_say(&server, first);
    CHECK_EQ_INT(outcome(), REDLATCH_OK);
    int64_t now = system_now();
    connection.unanswered = unanswered;
    connection_fail(&connection, "the test says so", now);
    CHECK_EQ_INT(connection.retry_at, now); /* a connection that worked is made again at once */
    CHECK(strstr(connection.detail, ": the test says so"));
    dial();
    hear_greeting();
    fake_say(&server, second);
}

static void reconnect(const char *first, const char *second) {
    reconnect_after(true, first, second);
}

static void the_old_connection_is_killed(void) {
    reconnect("+OK\r\n:42\r\n" INFO, "+OK\r\n:43\r\n" INFO);
    CHECK_EQ_INT(connection_advance(&connection, system_now()), REDLATCH_AGAIN);
    hears("CLIENT KILL ID 42");
    fake_say(&server, ":0\r\n"); /* the old connection had ended already */
    CHECK_EQ_INT(outcome(), REDLATCH_OK);
    CHECK_EQ_INT(connection.resolution, RESOLVED_BY_KILL);
    CHECK_EQ_INT(connection.generation, 2);
    CHECK_EQ_INT(connection.server_id, 43);
    end();
}

static void killing_survives_a_failed_attempt(void) {
    reconnect("+OK\r\n:42\r\n" INFO, "+OK\r\n:43\r\n" INFO);
    CHECK_EQ_INT(connection_advance(&connection, system_now()), REDLATCH_AGAIN);
    hears("CLIENT KILL ID 42");
    fake_hang_up(&server);
    CHECK_EQ_INT(outcome(), REDLATCH_UNREACHABLE);
    dial();
    hear_greeting();
    fake_say(&server, "+OK\r\n:44\r\n" INFO);
    CHECK_EQ_INT(connection_advance(&connection, system_now()), REDLATCH_AGAIN);
    hears("CLIENT KILL ID 42"); /* nothing but a greeting was sent on 43 */
    fake_say(&server, "-LOADING not now\r\n");
    CHECK_EQ_INT(outcome(), REDLATCH_LOADING);
    dial();
    hear_greeting();
    fake_say(&server, "+OK\r\n:45\r\n" INFO ":1\r\n"); /* also if all replies come at once */
    CHECK_EQ_INT(outcome(), REDLATCH_OK);
    CHECK_EQ_INT(connection.resolution, RESOLVED_BY_KILL);
    end();
}

static void check_resolution(const char *first, const char *second, enum resolution expected) {
    reconnect(first, second);
    CHECK_EQ_INT(outcome(), REDLATCH_OK);
    CHECK_EQ_INT(connection.resolution, expected);
    end();
}

static void other_settlements(void) {
    check_resolution("+OK\r\n:42\r\n" INFO, "+OK\r\n:1\r\n" INFO_RESTARTED, RESOLVED_BY_RESTART);
    check_resolution("+OK\r\n-NOPERM no\r\n" INFO, "+OK\r\n-NOPERM no\r\n" INFO, RESOLUTION_DENIED);
    check_resolution("+OK\r\n:42\r\n-NOPERM no\r\n", "+OK\r\n:43\r\n-NOPERM no\r\n", RESOLUTION_DENIED);
    check_resolution("+OK\r\n:42\r\n-NOPERM no\r\n", "+OK\r\n:43\r\n" INFO, RESOLUTION_DENIED);
    check_resolution("+OK\r\n:42\r\n" INFO, "+OK\r\n:43\r\n-NOPERM no\r\n", RESOLUTION_DENIED);
    check_resolution("+OK\r\n:42\r\n" INFO, "+OK\r\n:43\r\n" INFO "-NOPERM no\r\n", RESOLUTION_DENIED);
    check_resolution("+OK\r\n-NOPERM no\r\n" INFO, "+OK\r\n-NOPERM no\r\n" INFO_RESTARTED, RESOLVED_BY_RESTART);
}

/* If everything sent over the old connection was answered, nothing is in doubt, whether it may be killed or not. */
static void what_awaited_no_reply_is_resolved(void) {
    static const struct {
        const char *second;
        enum resolution expected;
    } cases[] = {{"+OK\r\n:43\r\n" INFO ":1\r\n", RESOLVED_BY_KILL},
                 {"+OK\r\n:43\r\n" INFO "-NOPERM no\r\n", RESOLVED_BY_KILL},
                 {"+OK\r\n-NOPERM no\r\n-NOPERM no\r\n", RESOLVED_BY_KILL},
                 {"+OK\r\n:1\r\n" INFO_RESTARTED, RESOLVED_BY_RESTART}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        reconnect_after(false, "+OK\r\n:42\r\n" INFO, cases[i].second);
        CHECK_EQ_INT(outcome(), REDLATCH_OK);
        CHECK_EQ_INT(connection.resolution, cases[i].expected);
        end();
    }
}

/* A connection that worked is made again at once. If it broke within a second, without a reply to any command, it
 * counts as a failed attempt, and there is a pause. */
static void what_worked_is_made_again_at_once(void) {
    static const struct {
        bool served;
        int64_t lasted;
        bool at_once;
    } cases[] = {{false, SECOND - 1, false}, {false, SECOND, true}, {true, 0, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin(false);
        connection.down_since = 1; /* earlier attempts failed */
        connection.pause_ms = 40;
        connection.resolution = RESOLVED_BY_RESTART; /* of an earlier connection */
        dial();
        fake_say(&server, "+OK\r\n:42\r\n" INFO);
        CHECK_EQ_INT(outcome(), REDLATCH_OK);
        CHECK_EQ_INT(connection.resolution, RESOLVED_BY_KILL);
        connection.served = cases[i].served;
        int64_t now = connection.ready_at + cases[i].lasted;
        connection_fail(&connection, "the test says so", now);
        CHECK_EQ_INT(connection.retry_at == now, cases[i].at_once);
        CHECK_EQ_INT(connection.retry_soon_at == now, cases[i].at_once);
        CHECK_EQ_INT(connection.down_since, cases[i].at_once ? now : 1);
        end();
    }
}

static void over_tcp_with_several_addresses(void) {
    begin(false);
    struct fake_server tcp;
    fake_open_tcp(&tcp);
    struct uri tcp_uri;
    char why[400];
    CHECK_EQ_INT(uri_parse(tcp.url, &tcp_uri, why, sizeof why), REDLATCH_OK);
    settings.uri = &tcp_uri;
    struct addresses good;
    CHECK(resolve_at_once(&tcp_uri, &good) && good.count == 1);
    CHECK(resolve_at_once(&uri, &connection.addresses)); /* first a unix socket that does not exist, then the port */
    unlink(server.path);
    connection.addresses.list[1] = good.list[0];
    connection.addresses.count = 2;
    CHECK_EQ_INT(connection_open(&connection, system_now()), REDLATCH_UNREACHABLE);
    CHECK_EQ_INT(connection.address, 1);
    CHECK_EQ_INT(connection.addresses.count, 2);
    CHECK_EQ_INT(connection_open(&connection, system_now()), REDLATCH_OK);
    CHECK(fake_accept(&tcp));
    fake_say(&tcp, "+OK\r\n:42\r\n" INFO);
    CHECK_EQ_INT(outcome(), REDLATCH_OK);
    connection_fail(&connection, "over", system_now());
    CHECK(strstr(connection.detail, "127.0.0.1:"));
    char byte;
    while (read(tcp.peers[0].fd, &byte, 1) == 1) {
    }
    CHECK_EQ_INT(errno, ECONNRESET); /* the connection ended with a reset */
    fake_close(&tcp);
    CHECK_EQ_INT(connection_open(&connection, system_now()), REDLATCH_OK); /* connecting is in progress */
    CHECK_EQ_INT(outcome(), REDLATCH_UNREACHABLE);
    CHECK(strstr(connection.detail, strerror(ECONNREFUSED)));
    uri_free(&tcp_uri);
    end();
}

/* A port with a full backlog does not answer. That is UNREACHABLE, not the NO_REPLY of a server that is late. */
static void no_connection_in_time(void) {
    begin(false);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    CHECK(bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 0) == 0);
    CHECK_EQ_INT(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    int fillers[8];
    for (size_t i = 0; i < 8; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        CHECK(connect(fillers[i], (struct sockaddr *)&address, size) == 0 || errno == EINPROGRESS);
    }
    connection.addresses.count = 1;
    memcpy(&connection.addresses.list[0].storage, &address, size);
    connection.addresses.list[0].size = size;
    int64_t now = system_now();
    CHECK_EQ_INT(connection_open(&connection, now), REDLATCH_OK);
    CHECK_EQ_INT(connection_advance(&connection, now), REDLATCH_AGAIN);
    CHECK_EQ_INT(connection_advance(&connection, connection.deadline), REDLATCH_UNREACHABLE);
    CHECK(strstr(connection.detail, "no connection before the connect timeout"));
    for (size_t i = 0; i < 8; i++) {
        close(fillers[i]);
    }
    close(listener);
    end();
}

/* Returns whether the server sees the end of the connection although a copy of its descriptor is open, as in a forked
 * child. */
static bool ends_beside_a_copy(void (*finish)(struct connection *)) {
    begin(false);
    dial();
    int copy = dup(connection.fd);
    CHECK(copy >= 0);
    finish(&connection);
    struct pollfd poll_fd = {server.peers[0].fd, POLLIN | POLLRDHUP, 0};
    bool ended = poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & (POLLRDHUP | POLLHUP)) != 0;
    close(copy);
    end();
    return ended;
}

static void a_close_ends_the_connection_and_forgetting_does_not(void) {
    CHECK(ends_beside_a_copy(connection_close));
    CHECK(!ends_beside_a_copy(connection_forget));
}

static void where_it_leads(void) {
    struct uri six = {.host = "::1", .port = 6380};
    struct connection_settings to_six = {.uri = &six};
    char text[60];
    connection_describe(&to_six, text, sizeof text);
    CHECK_STR(text, "[::1]:6380");
}

int main(void) {
    RUN(says_what_is_needed);
    RUN(says_user_password_and_database);
    RUN(says_a_user_without_password);
    RUN(a_subscriber_says_less);
    RUN(answers_come_in_pieces);
    RUN(errors_that_end_it);
    RUN(errors_that_can_be_lived_with);
    RUN(another_number_is_no_id);
    RUN(refused_password_or_database);
    RUN(what_redis_says_is_not_cut_at_letters_of_the_password);
    RUN(the_server_hangs_up);
    RUN(the_server_is_silent);
    RUN(the_server_never_ends);
    RUN(the_server_floods);
    RUN(one_answer_too_many);
    RUN(nobody_listens);
    RUN(the_old_connection_is_killed);
    RUN(killing_survives_a_failed_attempt);
    RUN(other_settlements);
    RUN(what_awaited_no_reply_is_resolved);
    RUN(what_worked_is_made_again_at_once);
    RUN(over_tcp_with_several_addresses);
    RUN(no_connection_in_time);
    RUN(a_close_ends_the_connection_and_forgetting_does_not);
    RUN(where_it_leads);
    return unit_done();
}
