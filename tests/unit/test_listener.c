/* The listener on sentinels: when it listens, and to which sentinel; what it believes of a sentinel's messages; when it
 * goes on to the next sentinel. The clock is the test's own.
 * SPDX-License-Identifier: Apache-2.0 */
#include "listener.h"

#include <poll.h>

#include "client.h"
#include "fake_server.h"
#include "handles.h"
#include "unit.h"

#define GREETED "+OK\r\n$66\r\n# Server\r\nrun_id:" FAKE_RUN_ID "\r\nhz:10\r\n\r\n"
#define SUBSCRIBED "*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n"
#define MASTER "*2\r\n$9\r\n127.0.0.1\r\n$4\r\n7000\r\n"

static const int64_t START = 1000 * SECOND;

static struct fake_server sentinels[2];
static redlatch_client *handle;
static struct client *client;
static struct listener *listener;

/* Opens a client that has a hold and knows its master, which is at port 7000. */
static void begin_with(const char *credentials, const char *options) {
    char url[200];
    redlatch_client_options lazy;
    for (int i = 0; i < 2; i++) {
        fake_open_tcp(&sentinels[i]);
    }
    snprintf(url, sizeof url, "redis+sentinel://%s127.0.0.1:%d,127.0.0.1:%d/orders%s", credentials, sentinels[0].port,
             sentinels[1].port, options);
    CHECK_EQ_INT(redlatch_client_options_init(&lazy, sizeof lazy), REDLATCH_OK);
    lazy.lazy = 1;
    lazy.connect_timeout_ms = 4000;
    lazy.dead_peer_timeout_ms = 3000;
    CHECK_EQ_INT(redlatch_client_open(url, &lazy, &handle), REDLATCH_OK);
    client = handle->client;
    listener = client->listener;
    client->engine.stats.held = 1;
    CHECK(endpoint_set(&client->node.current.endpoint, "127.0.0.1", 9, 7000));
}

static void begin(void) {
    begin_with("", "");
}

static void end(void) {
    client->engine.stats.held = 0;
    redlatch_client_free(handle);
    for (int i = 0; i < 2; i++) {
        fake_close(&sentinels[i]);
    }
}

/* Does one step as soon as bytes have arrived, or after 20 ms. */
static void step_soon(int64_t now) {
    struct pollfd socket = {.events = 0};
    socket.fd = listener_descriptor(client, &socket.events);
    poll(&socket, 1, 20);
    listener_step(client, now);
}

static void step_until(enum connection_state state, int64_t now) {
    for (int i = 0; i < 200 && listener->connection.state != state; i++) {
        step_soon(now);
    }
    CHECK_EQ_INT(listener->connection.state, state);
}

/* A sentinel sends bytes that end a reply or a message. */
static void replied(int number, const char *bytes, int64_t now) {
    fake_say(&sentinels[number], bytes);
    for (int i = 0; i < 200 && listener->received_at != now; i++) {
        step_soon(now);
    }
    CHECK_EQ_INT(listener->received_at, now);
}

/* The listener connects to the sentinel of this number, which sends `greeting`. */
static void listening(int number, const char *greeting, int64_t now) {
    listener_step(client, now);
    CHECK_EQ_INT(listener->sentinel.port, sentinels[number].port);
    CHECK(fake_accept(&sentinels[number]));
    fake_say(&sentinels[number], greeting);
    step_until(CONNECTION_READY, now);
}

static void check_received(int number, const char *expected) {
    char command[200] = "";
    CHECK(fake_hear(&sentinels[number], command, sizeof command));
    CHECK_STR(command, expected);
}

/* Checks the first commands that a sentinel without a password receives. */
static void check_requested(int number) {
    char name[216];
    snprintf(name, sizeof name, "CLIENT SETNAME %s", client->connection_settings.name);
    check_received(number, name);
    check_received(number, "INFO server");
    check_received(number, "SENTINEL get-master-addr-by-name orders");
    check_received(number, "SUBSCRIBE +switch-master");
}

static void check_silent(const struct client *any) {
    short events = 1;
    CHECK_EQ_INT(listener_descriptor(any, &events), -1);
    CHECK(listener_next_time(any) == NEVER);
}

/* A client listens only while it has holds, waiters or subscriptions, and only if it knows its master's address. */
static void nobody_listens_for_nothing(void) {
    begin();
    client->engine.stats.held = 0;
    listener_step(client, START);
    check_silent(client);
    client->engine.stats.held = 1;
    client->node.current.endpoint.host[0] = '\0';
    listener_step(client, START);
    check_silent(client);
    end();
    static struct client other; /* of a URL without sentinels */
    listener_step(&other, START);
    check_silent(&other);
}

static void who_waits_listens(void) {
    for (int reason = 0; reason < 3; reason++) {
        begin();
        client->engine.stats.held = reason == 0;
        client->engine.stats.waiters = reason == 1;
        client->engine.subscriptions = reason == 2;
        CHECK_EQ_INT(listener_next_time(client), 0); /* at once */
        listening(0, GREETED, START);
        client->engine.stats.waiters = 0;
        client->engine.subscriptions = 0;
        CHECK_EQ_INT(listener_next_time(client), START + 10 * SECOND); /* it goes on when the reason has gone */
        end();
    }
}

static void what_is_requested_of_a_sentinel(void) {
    begin_with("me:secret@", "?sentinel_username=su&sentinel_password=sp");
    listening(0, "+OK\r\n" GREETED, START);
    check_received(0, "AUTH su sp");
    check_requested(0);
    end();
}

/* Returns whether the background thread is to search after a sentinel sent `bytes`. */
static bool searches_after(const char *bytes) {
    begin();
    listening(0, GREETED, START);
    replied(0, bytes, START + 1);
    bool searches = client->node.current.must_search;
    CHECK_EQ_INT(client->node.current.search_until, searches ? START + 1 + 30 * SECOND : 0);
    end();
    return searches;
}

static bool searches_after_message(const char *message) {
    char bytes[300];
    snprintf(bytes, sizeof bytes, SUBSCRIBED "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$%zu\r\n%s\r\n",
             strlen(message), message);
    return searches_after(bytes);
}

static void what_is_announced_is_compared(void) {
    CHECK(!searches_after(MASTER SUBSCRIBED));
    CHECK(searches_after("*2\r\n$9\r\n127.0.0.1\r\n$4\r\n7001\r\n"));
    CHECK(searches_after("*2\r\n$9\r\n127.0.0.2\r\n$4\r\n7000\r\n"));
    CHECK(!searches_after("*-1\r\n")); /* no such service just now */
    CHECK(!searches_after("-NOPERM no\r\n"));
    CHECK(!searches_after("*2\r\n$4\r\npong\r\n$0\r\n\r\n"));
    CHECK(!searches_after("*2\r\n$9\r\n127.0.0.1\r\n:7001\r\n"));
    CHECK(!searches_after(":2\r\n"));
}

static void messages_of_the_own_service_count(void) {
    CHECK(searches_after_message("orders 127.0.0.1 7000 127.0.0.1 7001"));
    CHECK(searches_after_message("orders 127.0.0.1 7000 127.0.0.1 7001 more"));
    CHECK(!searches_after_message("orders 127.0.0.1 7001 127.0.0.1 7000")); /* the client is on that server */
    CHECK(!searches_after_message("others 127.0.0.1 7000 127.0.0.1 7001"));
    CHECK(!searches_after_message("order 127.0.0.1 7000 127.0.0.1 7001"));
    CHECK(!searches_after_message("orders2 127.0.0.1 7000 127.0.0.1 7001"));
    CHECK(!searches_after_message("orders 127.0.0.1 7000 127.0.0.1"));
    CHECK(!searches_after_message("orders 127.0.0.1 7000 127.0.0.1 "));
    CHECK(!searches_after_message("orders"));
    CHECK(!searches_after_message(""));
}

/* A sentinel that sends nothing for ten seconds gets a PING. */
static void a_quiet_sentinel_is_pinged(void) {
    begin();
    listening(0, GREETED, START);
    check_requested(0);
    replied(0, MASTER SUBSCRIBED, START + 1);
    CHECK_EQ_INT(listener_next_time(client), START + 1 + 10 * SECOND);
    listener_step(client, START + 10 * SECOND);
    CHECK_EQ_INT(listener->pinged_at, 0);
    listener_step(client, START + 1 + 10 * SECOND);
    check_received(0, "PING");
    CHECK_EQ_INT(listener_next_time(client), START + 1 + 13 * SECOND);
    replied(0, "*2\r\n$4\r\npong\r\n$0\r\n\r\n", START + 12 * SECOND);
    CHECK_EQ_INT(listener_next_time(client), START + 22 * SECOND);
    listener_step(client, START + 22 * SECOND);
    check_received(0, "PING"); /* only one */
    listener_step(client, START + 25 * SECOND - 1);
    CHECK_EQ_INT(listener->connection.state, CONNECTION_READY);
    listener_step(client, START + 25 * SECOND);
    CHECK_EQ_INT(listener->connection.state, CONNECTION_CLOSED);
    CHECK(strstr(listener->connection.detail, ": no reply for too long"));
    CHECK_EQ_INT(listener_next_time(client), START + 25 * SECOND + SECOND / 4);
    listening(1, GREETED, START + 26 * SECOND);
    CHECK_EQ_INT(listener_next_time(client), START + 36 * SECOND); /* this sentinel owes no reply to a PING */
    end();
}

/* Checks that the connection was closed for the reason `why`, and that sentinel `number` is next after 250 ms. */
static void check_turned(const char *why, int number, int64_t now) {
    CHECK_EQ_INT(listener->connection.state, CONNECTION_CLOSED);
    if (!strstr(listener->connection.detail, why)) {
        CHECK_STR(listener->connection.detail, why);
    }
    CHECK_EQ_INT(listener_next_time(client), now + SECOND / 4);
    listener_step(client, now + SECOND / 4 - 1);
    CHECK_EQ_INT(listener->connection.state, CONNECTION_CLOSED);
    listening(number, GREETED, now + SECOND / 4);
    check_requested(number);
}

static void one_that_breaks_is_followed_by_the_next(void) {
    begin();
    listening(0, GREETED, START);
    fake_hang_up(&sentinels[0]);
    step_until(CONNECTION_CLOSED, START + 1);
    check_turned(": the sentinel closed the connection", 1, START + 1);
    fake_say(&sentinels[1], "?\r\n");
    step_until(CONNECTION_CLOSED, START + SECOND);
    check_turned(": what the sentinel sends is not the Redis protocol", 0, START + SECOND);
    char flood[1000];
    snprintf(flood, sizeof flood, "%0*d", (int)sizeof flood - 1, 0);
    fake_say(&sentinels[0], "$100000\r\n");
    for (int i = 0; i < 66; i++) {
        fake_say(&sentinels[0], flood);
    }
    step_until(CONNECTION_CLOSED, START + 2 * SECOND);
    check_turned(": what the sentinel sends is not the Redis protocol", 1, START + 2 * SECOND);
    end();
}

static void one_that_does_not_greet_is_followed_by_the_next(void) {
    begin();
    listener_step(client, START);
    CHECK(fake_accept(&sentinels[0]));
    fake_say(&sentinels[0], "-NOAUTH Authentication required.\r\n");
    step_until(CONNECTION_CLOSED, START);
    check_turned("NOAUTH Authentication required.", 1, START);
    end();
    begin();
    listener_step(client, START);
    CHECK(fake_accept(&sentinels[0]));
    CHECK_EQ_INT(listener_next_time(client), START + SECOND); /* a quarter of the connect timeout */
    listener_step(client, START + SECOND - 1);
    CHECK(listener->connection.state != CONNECTION_CLOSED);
    listener_step(client, START + SECOND);
    check_turned("no reply before the connect timeout", 1, START + SECOND);
    end();
    begin();
    fake_close(&sentinels[0]);
    step_until(CONNECTION_CLOSED, START); /* refused, maybe at once */
    for (int i = 0; i < 200 && listener->next == 0; i++) {
        step_soon(START);
    }
    check_turned(": Connection refused", 1, START);
    fake_open_tcp(&sentinels[0]);
    end();
}

/* A host name may have several addresses. */
static void further_addresses_are_tried(void) {
    begin();
    struct addresses *addresses = &listener->connection.addresses;
    struct uri uri = {.host = (char[]){"127.0.0.1"}, .port = sentinels[1].port};
    struct addresses right;
    fake_close(&sentinels[1]);
    CHECK(resolve_at_once(&uri, addresses));
    uri.port = sentinels[0].port;
    CHECK(resolve_at_once(&uri, &right));
    addresses->list[1] = right.list[0];
    addresses->count = 2;
    for (int i = 0; i < 200 && listener->connection.address == 0; i++) {
        step_soon(START);
    }
    CHECK_EQ_INT(listener_next_time(client), START); /* at once */
    listener_step(client, START);
    CHECK(fake_accept(&sentinels[0]));
    fake_say(&sentinels[0], GREETED);
    step_until(CONNECTION_READY, START);
    CHECK_EQ_INT(listener->next, 0);
    fake_hang_up(&sentinels[0]);
    step_until(CONNECTION_CLOSED, START + 1);
    CHECK_EQ_INT(listener->next, 1); /* the next sentinel, from its first address on */
    CHECK_EQ_INT(listener->connection.address, 0);
    fake_open_tcp(&sentinels[1]);
    end();
}

/* The address is one to which no connection can even be begun. */
static void an_impossible_address_is_passed_over(void) {
    begin();
    struct uri broadcast = {.host = (char[]){"255.255.255.255"}, .port = 1};
    CHECK(resolve_at_once(&broadcast, &listener->connection.addresses));
    listener_step(client, START);
    CHECK_EQ_INT(listener->next, 1);
    CHECK_EQ_INT(listener->connection.addresses.count, 0);
    CHECK_EQ_INT(listener_next_time(client), START + SECOND / 4);
    listening(1, GREETED, START + SECOND / 4);
    end();
}

static void names_are_resolved(void) {
    begin();
    struct endpoint *sentinel = &client->node.current.search->discovery.sources.list[0];
    CHECK(endpoint_set(sentinel, "localhost", 9, sentinel->port));
    int64_t now = START;
    struct pollfd arrived = {sentinels[0].listener, POLLIN, 0};
    for (int i = 0; i < 1000 && poll(&arrived, 1, 5) == 0; i++) {
        now += 20 * MILLISECOND; /* its first address may be one of IPv6 */
        listener_step(client, now);
    }
    CHECK(fake_accept(&sentinels[0]));
    fake_say(&sentinels[0], GREETED);
    step_until(CONNECTION_READY, now);
    CHECK_EQ_INT(listener->next, 0);
    CHECK(listener->lookup == NULL);
    end();
}

/* A write that fails ends the connection. */
static void one_that_cannot_be_written_to_is_followed_by_the_next(void) {
    begin();
    listening(0, GREETED, START);
    check_requested(0);
    shutdown(listener->connection.fd, SHUT_WR);
    listener_step(client, START + 10 * SECOND); /* a PING is due */
    check_turned(": the connection broke", 1, START + 10 * SECOND);
    CHECK_EQ_INT(listener->pinged_at, 0);
    end();
}

/* A forked child and the close of a client call listener_close, which leaves nothing open. */
static void closing_leaves_nothing(void) {
    begin();
    listening(0, GREETED, START);
    listener_close(client);
    short events;
    CHECK_EQ_INT(listener_descriptor(client, &events), -1);
    char command[100];
    check_requested(0);
    CHECK(!fake_hear(&sentinels[0], command, sizeof command)); /* the socket is closed */
    end();
}

int main(void) {
    RUN(nobody_listens_for_nothing);
    RUN(who_waits_listens);
    RUN(what_is_requested_of_a_sentinel);
    RUN(what_is_announced_is_compared);
    RUN(messages_of_the_own_service_count);
    RUN(a_quiet_sentinel_is_pinged);
    RUN(one_that_breaks_is_followed_by_the_next);
    RUN(one_that_does_not_greet_is_followed_by_the_next);
    RUN(further_addresses_are_tried);
    RUN(an_impossible_address_is_passed_over);
    RUN(names_are_resolved);
    RUN(one_that_cannot_be_written_to_is_followed_by_the_next);
    RUN(closing_leaves_nothing);
    return unit_done();
}
