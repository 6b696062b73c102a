/* Names with several addresses of which some do not answer: how a connection divides its time among them, also within a
 * search. The clock is the test's own.
 * SPDX-License-Identifier: Apache-2.0 */
#include "search.h"

#include <poll.h>

#include "fake_server.h"
#include "system.h"
#include "unit.h"

static const int64_t START = 1000 * SECOND;
static const int64_t TIMEOUT = 24 * SECOND;

/* The kernel accepts connections for a server. It says nothing unless the test plays it. */
static struct fake_server server;
static struct uri uri;
static struct connection_settings settings;
static struct connection connection;
static struct search search;
static const _Atomic bool going_on = false;

static void begin_with(const char *format) {
    char url[100];
    char why[400];
    fake_open_tcp(&server);
    snprintf(url, sizeof url, format, server.port);
    CHECK_EQ_INT(uri_parse(url, &uri, why, sizeof why), REDLATCH_OK);
    settings = (struct connection_settings){
        .uri = &uri, .name = "redlatch:unit", .connect_timeout = TIMEOUT, .dead_peer_timeout = 10 * SECOND};
}

static void end(void) {
    uri_free(&uri);
    fake_close(&server);
}

/* Sets the name's addresses: a digit 1 is the server's, which says nothing; at the port of a digit 0 nobody listens. */
static void place(const struct uri *name, struct addresses *addresses, const char *digits) {
    struct uri nobody = {.host = (char[]){"127.0.0.1"}, .port = 1};
    struct addresses one;
    addresses->count = 0;
    for (; *digits; digits++) {
        CHECK(resolve_at_once(*digits == '1' ? name : &nobody, &one));
        addresses->list[addresses->count++] = one.list[0];
    }
}

static void begin(const char *digits) {
    begin_with("redis://127.0.0.1:%d");
    connection_init(&connection, &settings, true);
    place(&uri, &connection.addresses, digits);
}

static void end_connection(void) {
    connection_close(&connection);
    connection_free(&connection);
    end();
}

/* Opens the next address and checks that it is the one with this index, and that it is given up at `deadline`. */
static void check_silent(int address, int64_t now, int64_t deadline) {
    CHECK_EQ_INT(connection.address, address);
    CHECK_EQ_INT(connection_open(&connection, now), REDLATCH_OK);
    CHECK_EQ_INT(connection.deadline, deadline);
    int status = REDLATCH_AGAIN;
    for (int i = 0; i < 200 && connection.state != CONNECTION_GREETING; i++) {
        connection_wait(&connection, system_now() + 20 * MILLISECOND);
        status = connection_advance(&connection, now);
    }
    CHECK_EQ_INT(status, REDLATCH_AGAIN);
    CHECK_EQ_INT(connection_advance(&connection, deadline - 1), REDLATCH_AGAIN);
    CHECK_EQ_INT(connection_advance(&connection, deadline), REDLATCH_NO_REPLY);
}

/* Opens the next address, where nobody listens. */
static void check_refused(int address, int64_t now) {
    CHECK_EQ_INT(connection.address, address);
    int status = connection_open(&connection, now);
    for (int i = 0; i < 200 && connection.state != CONNECTION_CLOSED; i++) {
        connection_wait(&connection, system_now() + 20 * MILLISECOND);
        status = connection_advance(&connection, now);
    }
    CHECK_EQ_INT(status, REDLATCH_UNREACHABLE);
}

static void each_address_has_a_part_of_the_time(void) {
    begin("111");
    check_silent(0, START, START + TIMEOUT / 3);
    CHECK_EQ_INT(connection.retry_at, START + TIMEOUT / 3);
    check_silent(1, START + TIMEOUT / 3, START + TIMEOUT * 2 / 3);
    check_silent(2, START + TIMEOUT * 2 / 3, START + TIMEOUT);
    CHECK_EQ_INT(connection.addresses.count, 0);
    CHECK_EQ_INT(connection.address, 0);
    CHECK(connection.retry_at > START + TIMEOUT);
    end_connection();
}

/* The time that an address does not use is for the others. */
static void a_refused_attempt_costs_no_time(void) {
    begin("0101");
    check_refused(0, START);
    check_silent(1, START, START + TIMEOUT / 3);
    check_refused(2, START + TIMEOUT / 3);
    check_silent(3, START + TIMEOUT / 3, START + TIMEOUT);
    end_connection();
}

/* All of the time again: after the last address, after a connection that stood, after one that was closed, for
 * addresses that were found anew, and if nobody was there when the time was over. */
static void when_the_time_begins_again(void) {
    begin("11");
    check_silent(0, START, START + TIMEOUT / 2);
    check_silent(1, START + TIMEOUT / 2, START + TIMEOUT);
    place(&uri, &connection.addresses, "11");
    check_silent(0, START + SECOND, START + SECOND + TIMEOUT / 2);
    connection_forget_addresses(&connection);
    place(&uri, &connection.addresses, "11");
    check_silent(0, START + SECOND, START + SECOND + TIMEOUT / 2);
    check_silent(1, START + 2 * TIMEOUT, START + 3 * TIMEOUT);
    place(&uri, &connection.addresses, "11");
    CHECK_EQ_INT(connection_open(&connection, START), REDLATCH_OK);
    connection_close(&connection);
    CHECK_EQ_INT(connection_open(&connection, START + SECOND), REDLATCH_OK);
    CHECK_EQ_INT(connection.deadline, START + SECOND + TIMEOUT / 2);
    connection_reject(&connection, "as after it stood", START + SECOND);
    CHECK_EQ_INT(connection.address, 1);
    connection.address = 0;
    connection.state = CONNECTION_READY;
    connection_fail(&connection, "over", START + 2 * SECOND);
    CHECK_EQ_INT(connection.address, 0);
    CHECK_EQ_INT(connection_open(&connection, START + 2 * SECOND), REDLATCH_OK);
    CHECK_EQ_INT(connection.deadline, START + 2 * SECOND + TIMEOUT / 2);
    end_connection();
}

static void begin_search(const char *digits) {
    begin_with("redis+sentinel://127.0.0.1:%d/orders");
    search_init(&search, &uri, NULL, &settings, NULL, &going_on);
    search_begin(&search, START);
    place(&search.where, &search.connection.addresses, digits);
}

static void end_search(void) {
    search_close(&search);
    end();
}

/* Does the steps of the search that are due until `now`, each at its time. The search must not be given up. */
static void step_until(int64_t now) {
    int64_t next = START;
    for (int i = 0; i < 20 && next <= now; i++) {
        CHECK_EQ_INT(search_step(&search, next), REDLATCH_AGAIN);
        CHECK(search_next_time(&search, next) > next); /* else its owner would spin */
        next = search_next_time(&search, next);
    }
    CHECK(next > now);
}

/* The target of a search has a quarter of the time, however many addresses it has. */
static void a_search_tries_all_addresses_of_its_target(void) {
    const int64_t part = TIMEOUT / 4;
    begin_search("11");
    step_until(START + part / 2 - 1);
    CHECK_EQ_INT(search.connection.address, 0);
    CHECK_EQ_INT(search_next_time(&search, START), START + part / 2);
    step_until(START + part / 2);
    CHECK_EQ_INT(search.connection.address, 1);
    CHECK_EQ_INT(search_next_time(&search, START), START + part);
    CHECK_EQ_INT(search_step(&search, START + part - 1), REDLATCH_AGAIN);
    CHECK_EQ_INT(search_step(&search, START + part), REDLATCH_NO_REPLY);
    end_search();
}

/* The time for the lookup of its name is part of that quarter. */
static void a_late_lookup_leaves_less_time(void) {
    const int64_t part = TIMEOUT / 4;
    const int64_t found_at = START + part / 2;
    begin_search("11");
    CHECK_EQ_INT(search_step(&search, found_at), REDLATCH_AGAIN);
    CHECK_EQ_INT(search_next_time(&search, found_at), found_at + part / 4);
    CHECK_EQ_INT(search_step(&search, found_at + part / 4), REDLATCH_AGAIN);
    CHECK_EQ_INT(search_next_time(&search, found_at + part / 4), START + part);
    CHECK_EQ_INT(search_step(&search, START + part), REDLATCH_NO_REPLY);
    end_search();
}

int main(void) {
    RUN(each_address_has_a_part_of_the_time);
    RUN(a_refused_attempt_costs_no_time);
    RUN(when_the_time_begins_again);
    RUN(a_search_tries_all_addresses_of_its_target);
    RUN(a_late_lookup_leaves_less_time);
    return unit_done();
}
