/* Opening a client: the replies to its greeting, and which of the URL, the options and the environment wins.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "fake_server.h"
#include "records.h"
#include "redlatch.h"
#include "system.h"
#include "unit.h"

enum { RECEIVED_SIZE = 4000 };

static struct fake_server server;
static const char *first_answer;     /* to the first command of a connection; NULL closes it */
static char received[RECEIVED_SIZE]; /* commands, each followed by a semicolon; read once the server is closed */

static const char *note(void *context, int connection, const char *command) {
    (void)context;
    (void)connection;
    size_t size = strlen(received);
    snprintf(received + size, sizeof received - size, "%s;", command);
    return command;
}

static const char *answer_as_given(void *context, int connection, const char *command) {
    note(context, connection, command);
    return first_answer;
}

static const char *answer_well(void *context, int connection, const char *command) {
    note(context, connection, command);
    const char *answer = fake_greeting(connection, command);
    if (strstr(command, "redisson_lock__channel")) {
        return ":1\r\n";
    }
    return answer ? answer : "$-1\r\n";
}

static redlatch_client_options defaults(void) {
    redlatch_client_options options;
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    return options;
}

static void begin(fake_answer *answer) {
    received[0] = '\0';
    fake_open_tcp(&server);
    fake_serve(&server, answer, NULL);
}

/* Opens a client of a server that gives this answer. The last error must contain `words`. */
static void check_refused(const char *answer, int status, const char *words) {
    first_answer = answer;
    begin(answer_as_given);
    redlatch_client_options options = defaults();
    options.connect_timeout_ms = 1000;
    options.password = "SECRET";
    redlatch_client *client = NULL;
    int64_t start = system_now();
    CHECK_EQ_INT(redlatch_client_open(server.url, &options, &client), status);
    CHECK(system_now() - start < 5 * SECOND);
    CHECK(client == NULL);
    if (!strstr(redlatch_last_error(), words) || !strstr(redlatch_last_error(), server.url + strlen("redis://")) ||
        strstr(redlatch_last_error(), "SECRET")) {
        CHECK_STR(redlatch_last_error(), words);
    }
    fake_close(&server);
}

static void servers_that_refuse(void) {
    check_refused("-NOAUTH Authentication required.\r\n", REDLATCH_AUTHENTICATION, "NOAUTH");
    check_refused("-WRONGPASS invalid username-password pair\r\n", REDLATCH_AUTHENTICATION, "WRONGPASS");
    check_refused("-ERR invalid password\r\n", REDLATCH_AUTHENTICATION, "invalid password");
    check_refused("-ERR unknown command `AUTH`, with args beginning with: `SECRET`, \r\n", REDLATCH_AUTHENTICATION,
                  "unknown command");
    check_refused("-LOADING Redis is loading the dataset in memory\r\n", REDLATCH_LOADING, "LOADING");
    check_refused("-DENIED Redis is running in protected mode\r\n", REDLATCH_NO_PERMISSION, "protected mode");
    check_refused("-ERR max number of clients reached\r\n", REDLATCH_TOO_MANY_CLIENTS, "max number of clients");
    check_refused("HTTP/1.1 400 Bad Request\r\n\r\n", REDLATCH_PROTOCOL, "not a Redis server");
    check_refused(NULL, REDLATCH_UNREACHABLE, "the server closed the connection");
    check_refused("", REDLATCH_NO_REPLY, "no reply before the connect timeout");
}

static void nobody_there(void) {
    fake_open_tcp(&server);
    char url[100];
    snprintf(url, sizeof url, "%s", server.url);
    fake_close(&server);
    redlatch_client *client = NULL;
    CHECK_EQ_INT(redlatch_client_open(url, NULL, &client), REDLATCH_UNREACHABLE);
    CHECK(strstr(redlatch_last_error(), url + strlen("redis://")));
    CHECK_EQ_INT(redlatch_client_open("unix:///nowhere/redis.sock", NULL, &client), REDLATCH_UNREACHABLE);
    CHECK(strstr(redlatch_last_error(), "/nowhere/redis.sock: No such file"));
    static const char nowhere[] = "redis://not%5Fa%5Fhost.invalid?connect_timeout=2";
    CHECK_EQ_INT(redlatch_client_open(nowhere, NULL, &client), REDLATCH_UNREACHABLE);
    CHECK(strstr(redlatch_last_error(), "not_a_host.invalid:6379: the host name"));
    CHECK_EQ_INT(redlatch_client_open("redis://u:SECRET@h:x", NULL, &client), REDLATCH_INVALID);
    CHECK(!strstr(redlatch_last_error(), "SECRET"));
    CHECK_EQ_INT(redlatch_client_open("rediss+cluster://u:SECRET@h/2", NULL, &client), REDLATCH_INVALID);
    CHECK_EQ_INT(redlatch_client_open("redis+cluster://u:SECRET@127.0.0.1:1,127.0.0.1:2", NULL, &client),
                 REDLATCH_UNREACHABLE);
    CHECK(strstr(redlatch_last_error(), "127.0.0.1:2: "));
    CHECK(client == NULL && !strstr(redlatch_last_error(), "SECRET"));
}

static void clusters_have_one_database(void) {
    static const char url[] = "redis+cluster://u:SECRET@one,[::1]:7001";
    redlatch_client_options options;
    redlatch_client *client = NULL;
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    options.lazy = 1;
    options.database = 3;
    CHECK_EQ_INT(redlatch_client_open(url, &options, &client), REDLATCH_INVALID);
    CHECK(client == NULL && strstr(redlatch_last_error(), "database is 3: expected 0"));
    options.database = 0;
    CHECK_EQ_INT(redlatch_client_open(url, &options, &client), REDLATCH_OK);
    CHECK_STR(redlatch_client_url(client), "redis+cluster://one:6379,[::1]:7001/0");
    redlatch_client_free(client);
}

/* Without an address the nodes are asked for first. That fails here, and the output arguments stay as they are. */
static void nodes_that_nobody_can_name(void) {
    static const char *const urls[] = {"redis+cluster://127.0.0.1:1", "redis+sentinel://127.0.0.1:1/main"};
    redlatch_client_options options;
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    options.lazy = 1;
    options.command_timeout_ms = 50;
    for (int i = 0; i < 2; i++) {
        redlatch_client *client = NULL;
        char text[100] = "before";
        size_t size = 77;
        CHECK_EQ_INT(redlatch_client_open(urls[i], &options, &client), REDLATCH_OK);
        CHECK_EQ_INT(redlatch_client_nodes(client, text, sizeof text, &size), REDLATCH_UNREACHABLE);
        CHECK_STR(text, "before");
        CHECK_EQ_INT(size, 77);
        redlatch_client_free(client);
    }
}

/* Opens a client, acquires and releases a lock, and closes the client and the server. */
static void use(const char *url, const redlatch_client_options *options) {
    redlatch_client *client = NULL;
    redlatch_lock *lock = NULL;
    CHECK_EQ_INT(redlatch_client_open(url, options, &client), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_new(client, REDLATCH_MUTEX, "orders", 6, NULL, &lock), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_try_acquire(lock), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_release(lock), REDLATCH_OK);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
    fake_close(&server);
}

static void hears(const char *part) {
    if (!strstr(received, part)) {
        CHECK_STR(received, part);
    }
}

static void the_url_counts(void) {
    begin(answer_well);
    char url[200];
    snprintf(url, sizeof url, "redis://me:word@%.90s/3?name_prefix=shop%%3A", server.url + strlen("redis://"));
    use(url, NULL);
    hears("AUTH me word;SELECT 3;CLIENT SETNAME redlatch:");
    hears(" 1 shop:orders ");
    CHECK(strstr(received, "{shop:orders}"));
}

static void options_win_over_the_url(void) {
    begin(answer_well);
    char url[200];
    snprintf(url, sizeof url, "redis://me:word@%.90s/3?name_prefix=shop%%3A", server.url + strlen("redis://"));
    redlatch_client_options options = defaults();
    options.username = "you";
    options.password = "other";
    options.database = 7;
    options.name_prefix = "mine:more";
    options.name_prefix_size = 5;
    use(url, &options);
    hears("AUTH you other;SELECT 7;CLIENT SETNAME redlatch:");
    hears(" 1 mine:orders ");
    CHECK(!strstr(received, "shop"));
}

static void the_environment_is_the_url_of_those_who_give_none(void) {
    begin(answer_well);
    CHECK(setenv("REDIS_URL", server.url, 1) == 0);
    use(NULL, NULL);
    hears("CLIENT SETNAME redlatch:");
    hears(" 1 orders ");
    redlatch_client *client = NULL;
    CHECK(setenv("REDIS_URL", "nonsense://x", 1) == 0);
    CHECK_EQ_INT(redlatch_client_open(NULL, NULL, &client), REDLATCH_INVALID);
    CHECK(strstr(redlatch_last_error(), "\"nonsense\""));
    CHECK_EQ_INT(redlatch_client_open("", NULL, &client), REDLATCH_INVALID);
    redlatch_client_options options = defaults();
    options.lazy = 1;
    CHECK(setenv("REDIS_URL", "", 1) == 0); /* as if it were unset */
    CHECK_EQ_INT(redlatch_client_open(NULL, &options, &client), REDLATCH_OK);
    redlatch_client_free(client);
    CHECK(unsetenv("REDIS_URL") == 0);
    CHECK_EQ_INT(redlatch_client_open(NULL, &options, &client), REDLATCH_OK);
    redlatch_client_free(client);
}

static void names_tell_host_process_and_client(void) {
    begin(answer_well);
    redlatch_client *client = NULL;
    CHECK_EQ_INT(redlatch_client_open(server.url, NULL, &client), REDLATCH_OK);
    char tail[100];
    snprintf(tail, sizeof tail, ":%ld:%s;", (long)getpid(), redlatch_client_uuid(client));
    redlatch_client_free(client);
    fake_close(&server);
    hears("CLIENT SETNAME redlatch:");
    hears(tail);
    CHECK_STR(redlatch_version(), REDLATCH_VERSION);
}

static void names_begin_with_the_label(void) {
    begin(answer_well);
    char url[200];
    snprintf(url, sizeof url, "redis://%.90s?label=ur%%6c", server.url + strlen("redis://"));
    use(url, NULL);
    hears("CLIENT SETNAME redlatch:url@");
    begin(answer_well);
    redlatch_client_options options = defaults();
    options.label = "a@b:c!012345678901234567890123456789012345678901234567890123456~";
    snprintf(url, sizeof url, "redis://%.90s?label=url", server.url + strlen("redis://"));
    use(url, &options);
    hears("CLIENT SETNAME redlatch:a@b:c!012345678901234567890123456789012345678901234567890123456~@");
    CHECK(!strstr(received, "url"));
}

int main(void) {
    unsetenv("REDIS_URL");
    RUN(servers_that_refuse);
    RUN(nobody_there);
    RUN(clusters_have_one_database);
    RUN(nodes_that_nobody_can_name);
    RUN(the_url_counts);
    RUN(options_win_over_the_url);
    RUN(the_environment_is_the_url_of_those_who_give_none);
    RUN(names_tell_host_process_and_client);
    RUN(names_begin_with_the_label);
    return unit_done();
}
