/* Greetings of servers that are not to be used: a replica in place of the master, a server that the client has left, a
 * server that refuses a password that has changed meanwhile. Also what the greeting of a node of a cluster finds out,
 * and what INFO says.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "connection.h"
#include "fake_server.h"
#include "system.h"
#include "unit.h"

#define INFO "$66\r\n# Server\r\nrun_id:" FAKE_RUN_ID "\r\nhz:10\r\n\r\n"
#define INFO_RESTARTED "$66\r\n# Server\r\nrun_id:" FAKE_OTHER_RUN_ID "\r\nhz:10\r\n\r\n"

static struct fake_server server;
static struct uri uri;
static struct credentials credentials;
static struct connection_settings settings;
static struct connection connection;

static void begin(void) {
    char why[400];
    fake_open_unix(&server);
    CHECK_EQ_INT(uri_parse(server.url, &uri, why, sizeof why), REDLATCH_OK);
    settings = (struct connection_settings){
        .uri = &uri, .name = "redlatch:unit", .connect_timeout = 2 * SECOND, .dead_peer_timeout = 10 * SECOND};
    connection_init(&connection, &settings, false);
}

static void end(void) {
    connection_close(&connection);
    connection_free(&connection);
    credentials_free(&credentials);
    uri_free(&uri);
    fake_close(&server);
}

/* Connects, and replies to the greeting with `answers`. Returns the status of the greeting. */
static int outcome(const char *answers) {
    CHECK(resolve_at_once(&uri, &connection.addresses));
    CHECK_EQ_INT(connection_open(&connection, system_now()), REDLATCH_OK);
    CHECK(fake_accept(&server));
    fake_say(&server, answers);
    int64_t until = system_now() + 5 * SECOND;
    int status;
    while ((status = connection_advance(&connection, system_now())) == REDLATCH_AGAIN && system_now() < until) {
        connection_wait(&connection, until);
    }
    return status;
}

static void a_replica_is_refused(void) {
    begin();
    settings.master_only = true;
    CHECK_EQ_INT(outcome("+OK\r\n:1\r\n" INFO "$29\r\n# Replication\r\nrole:slave\r\n\r\n\r\n"), REDLATCH_READ_ONLY);
    CHECK(strstr(connection.detail, "a replica: expected the master"));
    end();
}

static void a_master_is_greeted(void) {
    begin();
    settings.master_only = true;
    CHECK_EQ_INT(outcome("+OK\r\n:1\r\n" INFO "$30\r\n# Replication\r\nrole:master\r\n\r\n\r\n"), REDLATCH_OK);
    end();
    begin(); /* a server that does not say its role */
    settings.master_only = true;
    CHECK_EQ_INT(outcome("+OK\r\n:1\r\n" INFO "$1\r\nx\r\n"), REDLATCH_OK);
    end();
}

/* A server that hides its role could be a replica. */
static void a_hidden_role_is_refused(void) {
    begin();
    settings.master_only = true;
    CHECK_EQ_INT(outcome("+OK\r\n:1\r\n" INFO "-NOPERM no permissions to run the 'info' command\r\n"),
                 REDLATCH_NO_PERMISSION);
    CHECK(strstr(connection.detail, "NOPERM no permissions to run the 'info' command: expected a user with +info, "
                                    "which tells the master from a replica"));
    CHECK(!connection.refused); /* the password is right */
    end();
    begin(); /* INFO was renamed by the administrator */
    settings.master_only = true;
    CHECK_EQ_INT(outcome("+OK\r\n:1\r\n" INFO "-ERR unknown command 'INFO'\r\n"), REDLATCH_NO_PERMISSION);
    end();
    begin(); /* any server will do */
    CHECK_EQ_INT(outcome("+OK\r\n:1\r\n-NOPERM no\r\n"), REDLATCH_OK);
    end();
}

/* A server that knows SHARDNUMSUB replies to it, or refuses it by the name of the subcommand, as servers do since Redis
 * 7. Other servers do not know it. */
static void a_node_has_messages_within_a_shard_or_not(void) {
    static const struct {
        const char *answer;
        bool has_sharding;
    } rows[] = {
        {"*0\r\n", true},
        {"-NOPERM this user has no permissions to run the 'pubsub|shardnumsub' command\r\n", true},
        {"-NOPERM User me has no permissions to run the 'pubsub|shardnumsub' command\r\n", true},
        {"-NOPERM this user has no permissions to run the 'pubsub' command or its subcommand\r\n", false},
        {"-ERR Unknown subcommand or wrong number of arguments for 'SHARDNUMSUB'. Try PUBSUB HELP.\r\n", false},
        {"-ERR unknown command `PUBSUB`, with args beginning with: `SHARDNUMSUB`, \r\n", false},
        {"-ERR no pubsub|shardnumsub here\r\n", false},
        {"+OK\r\n", false},
        {"$-1\r\n", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char answers[300];
        begin();
        settings.asks_sharding = true;
        connection.has_sharding = !rows[i].has_sharding; /* as found at an earlier server */
        snprintf(answers, sizeof answers, "+OK\r\n:42\r\n" INFO "%s", rows[i].answer);
        CHECK_EQ_INT(outcome(answers), REDLATCH_OK);
        CHECK_EQ_INT(connection.has_sharding, rows[i].has_sharding);
        char command[300] = "";
        for (int k = 0; k < 4; k++) {
            CHECK(fake_hear(&server, command, sizeof command));
        }
        CHECK_STR(command, "PUBSUB SHARDNUMSUB");
        end();
    }
    begin();
    settings.asks_sharding = true;
    CHECK_EQ_INT(outcome("+OK\r\n:42\r\n" INFO "-LOADING not now\r\n"), REDLATCH_LOADING);
    end();
}

/* If a connection is rejected, the next one resolves what the connection before left in doubt. */
static void a_rejected_connection_resolves_nothing(void) {
    begin();
    CHECK_EQ_INT(outcome("+OK\r\n:42\r\n" INFO), REDLATCH_OK);
    connection.unanswered = true;
    connection_fail(&connection, "broke", system_now());
    CHECK_EQ_INT(connection.old_id, 42);
    CHECK_EQ_INT(outcome("+OK\r\n:1\r\n" INFO_RESTARTED), REDLATCH_OK);
    connection_reject(&connection, "elsewhere", system_now());
    CHECK_EQ_INT(connection.state, CONNECTION_CLOSED);
    CHECK_EQ_INT(connection.old_id, 42);
    CHECK_STR(connection.old_run_id, FAKE_RUN_ID);
    end();
}

static void check_run_id(const char *text, size_t size, const char *expected) {
    char run_id[PROCESS_ID_SIZE];
    memset(run_id, '?', sizeof run_id);
    info_run_id(text, size, run_id);
    CHECK_STR(run_id, expected);
}

/* INFO is read to its last byte and no further. */
static void parts_of_info(void) {
    static const char text[] = "# Server\r\nrun_id:" FAKE_RUN_ID;
    check_run_id(text, sizeof text - 1, FAKE_RUN_ID);
    check_run_id(text, sizeof text - 2, "");
    check_run_id("run_id:" FAKE_RUN_ID, sizeof "run_id:" FAKE_RUN_ID - 1, ""); /* the field does not begin a line */
    check_run_id("", 0, "");
    static const struct {
        const char *text;
        enum server_role role;
    } rows[] = {
        {"# Replication\r\nrole:master\r\n", ROLE_MASTER},
        {"\nrole:master", ROLE_MASTER},
        {"# Replication\r\nrole:slave\r\n", ROLE_REPLICA},
        {"\nrole:", ROLE_REPLICA},
        {"# Replication\r\nno_role:master", ROLE_UNKNOWN},
        {"", ROLE_UNKNOWN},
        {"role:master", ROLE_UNKNOWN},
        {"\nrole:slave\r\nmaster_host:role:master", ROLE_REPLICA},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK_EQ_INT(info_role(rows[i].text, strlen(rows[i].text)), rows[i].role);
    }
    CHECK_EQ_INT(info_role("\nrole:master", 11), ROLE_REPLICA); /* without the last byte */
    CHECK_EQ_INT(info_role("\nrole:master", 5), ROLE_UNKNOWN);
}

static void the_master_of_a_replica(void) {
    static const struct {
        const char *text;
        const char *host; /* NULL: none */
        int port;
    } rows[] = {
        {"role:slave\r\nmaster_host:10.0.0.1\r\nmaster_port:6380\r\nmaster_link_status:up\r\n", "10.0.0.1", 6380},
        {"role:slave\nmaster_port:7\nmaster_host:fd00::1", "fd00::1", 7},
        {"role:slave\r\nmaster_host:h\r\n", NULL, 0},
        {"role:slave\r\nmaster_port:7\r\n", NULL, 0},
        {"role:slave\r\nmaster_host:\r\nmaster_port:7\r\n", NULL, 0},
        {"role:slave\r\nmaster_host:?\r\nmaster_port:0\r\n", NULL, 0},
        {"role:slave\r\nmaster_host:a b\r\nmaster_port:7\r\n", NULL, 0},
        {"role:slave\r\nmaster_host:h\r\nmaster_port:7x\r\n", NULL, 0},
        {"role:slave\r\nmaster_host:h\r\nmaster_port:\r\n", NULL, 0},
        {"role:slave\r\nmaster_host:h\r\nmaster_port:", NULL, 0},
        {"", NULL, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[120];
        struct endpoint master = {"before", 1};
        snprintf(text, sizeof text, "# Replication\n%s", rows[i].text);
        CHECK_EQ_INT(info_master(text, strlen(text), &master), rows[i].host != NULL);
        if (rows[i].host) {
            CHECK_STR(master.host, rows[i].host);
            CHECK_EQ_INT(master.port, rows[i].port);
        }
    }
}

/* The error reply may quote the old password, which is wiped, so it cannot be found in the text. */
static void of_a_replaced_password_only_the_first_word_is_shown(void) {
    char command[100] = "";
    begin();
    settings.credentials = &credentials;
    CHECK(credentials_set(&credentials, NULL, "first"));
    CHECK(resolve_at_once(&uri, &connection.addresses));
    CHECK_EQ_INT(connection_open(&connection, system_now()), REDLATCH_OK);
    CHECK_EQ_INT(connection_advance(&connection, system_now()), REDLATCH_AGAIN);
    CHECK(fake_accept(&server) && credentials_set(&credentials, "me", "second"));
    fake_say(&server, "-ERR you gave first\r\n");
    int64_t until = system_now() + 5 * SECOND;
    while (connection_advance(&connection, system_now()) == REDLATCH_AGAIN && system_now() < until) {
        connection_wait(&connection, until);
    }
    CHECK(strstr(connection.detail, "ERR") && !strstr(connection.detail, "first"));
    CHECK(connection.refused && connection.credentials != credentials.version);
    CHECK_EQ_INT(outcome("-WRONGPASS invalid username-password pair\r\n"), REDLATCH_AUTHENTICATION);
    CHECK(connection.refused && connection.credentials == credentials.version);
    CHECK(fake_hear(&server, command, sizeof command));
    CHECK_STR(command, "AUTH me second");
    CHECK_EQ_INT(outcome("HTTP/1.1 400 Bad Request\r\n"), REDLATCH_PROTOCOL);
    CHECK(!connection.refused);
    end();
}

int main(void) {
    RUN(of_a_replaced_password_only_the_first_word_is_shown);
    RUN(a_replica_is_refused);
    RUN(a_master_is_greeted);
    RUN(a_hidden_role_is_refused);
    RUN(a_node_has_messages_within_a_shard_or_not);
    RUN(a_rejected_connection_resolves_nothing);
    RUN(parts_of_info);
    RUN(the_master_of_a_replica);
    return unit_done();
}
