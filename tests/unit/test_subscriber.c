/* The connection for messages: how its end is noticed, what is no message, to which address it connects, and that its
 * successor with new credentials does so, too. The clock is the test's own.
 * SPDX-License-Identifier: Apache-2.0 */
#include "subscriber.h"

#include <poll.h>
#include <sys/socket.h>

#include "fake_server.h"
#include "handles.h"
#include "pools.h"
#include "unit.h"

#define GREETED "+OK\r\n$66\r\n# Server\r\nrun_id:" FAKE_RUN_ID "\r\nhz:10\r\n\r\n"

static const int64_t START = 1000 * SECOND;
static const int64_t QUIET = 10 * SECOND;
static const int64_t DEAD = 3 * SECOND;

static struct fake_server server;
static redlatch_client *handle;
static struct client *client;
static struct subscriber *subscriber;

/* Opens a client that has a subscription. */
static void begin_at(const char *url) {
    redlatch_client_options options;
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    options.lazy = 1;
    options.connect_timeout_ms = 4000;
    options.dead_peer_timeout_ms = DEAD / MILLISECOND;
    CHECK_EQ_INT(redlatch_client_open(url, &options, &handle), REDLATCH_OK);
    client = handle->client;
    subscriber = &client->node.subscriber;
    client->node.server.subscriptions = 1;
}

static void begin(void) {
    fake_open_tcp(&server);
    begin_at(server.url);
}

static void end(void) {
    client->node.server.subscriptions = 0;
    redlatch_client_free(handle);
    fake_close(&server);
}

/* Does one step as soon as bytes have arrived, or after 20 ms. */
static void step_soon(int64_t now) {
    struct pollfd socket = {subscriber->connection.fd, POLLIN, 0};
    poll(&socket, 1, 20);
    subscriber_step(&client->node, now);
}

/* The server accepts the connection that is being made, and answers its greeting. */
static void greet(int64_t now) {
    CHECK(fake_accept(&server));
    fake_say(&server, GREETED);
    for (int i = 0; i < 200 && subscriber->connection.state != CONNECTION_READY; i++) {
        step_soon(now);
    }
    CHECK_EQ_INT(subscriber->connection.state, CONNECTION_READY);
    CHECK_EQ_INT(subscriber_next_time(&client->node), now + QUIET);
}

static void connect_it(int64_t now) {
    subscriber_step(&client->node, now);
    greet(now);
}

static void check_received(const char *expected) {
    char command[200] = "";
    while (fake_hear(&server, command, sizeof command) && strcmp(command, expected) != 0) {
    }
    CHECK_STR(command, expected);
}

/* The next connection has the full time to reply. */
static void a_silent_server_is_left(void) {
    begin();
    connect_it(START);
    int64_t pinged = START + QUIET;
    subscriber_step(&client->node, pinged);
    check_received("PING");
    CHECK_EQ_INT(subscriber_next_time(&client->node), pinged + DEAD);
    subscriber_step(&client->node, pinged + DEAD - 1);
    CHECK_EQ_INT(subscriber->connection.state, CONNECTION_READY);
    subscriber_step(&client->node, pinged + DEAD);
    CHECK(strstr(subscriber->connection.detail, ": no reply for too long"));
    greet(pinged + DEAD); /* it is made again at once */
    subscriber_step(&client->node, pinged + DEAD);
    CHECK_EQ_INT(subscriber->connection.state, CONNECTION_READY);
    end();
}

static void any_reply_is_a_sign_of_life(void) {
    begin();
    connect_it(START);
    subscriber_step(&client->node, START + QUIET);
    fake_say(&server, "+PONG\r\n");
    for (int i = 0; i < 200 && subscriber->pinged_at; i++) {
        step_soon(START + QUIET + 1);
    }
    CHECK_EQ_INT(subscriber_next_time(&client->node), START + QUIET + 1 + QUIET);
    end();
}

/* While a successor subscribes to the same channels, only the PING is written to the old connection. So the PING must
 * notice that it broke. */
static void a_connection_that_breaks_while_it_is_pinged_is_made_again(void) {
    begin();
    connect_it(START);
    CHECK_EQ_INT(shutdown(subscriber->connection.fd, SHUT_WR), 0);
    subscriber->next.connection.state = CONNECTION_READY;
    CHECK(subscriber_ping(&client->node, START + 1));
    subscriber->next.connection.state = CONNECTION_CLOSED;
    CHECK_EQ_INT(subscriber->connection.state, CONNECTION_CLOSED);
    CHECK(strstr(subscriber->connection.detail, ": the connection broke"));
    connect_it(START + 1);
    end();
}

static void what_is_no_message_is_passed_over(void) {
    begin();
    connect_it(START);
    fake_say(&server, ":5\r\n$-1\r\n$7\r\nmessage\r\n*0\r\n*2\r\n:7\r\n$1\r\na\r\n*2\r\n$7\r\nmessage\r\n:1\r\n"
                      "*2\r\n$8\r\nmessages\r\n$1\r\na\r\n*1\r\n$7\r\nmessage\r\n+PONG\r\n");
    for (int i = 0; i < 200 && subscriber->received_at == START; i++) {
        step_soon(START + 1);
    }
    CHECK_EQ_INT(subscriber->received_at, START + 1);
    CHECK_EQ_INT(subscriber->connection.state, CONNECTION_READY);
    CHECK_EQ_INT(client->engine.stats.messages, 0);
    end();
}

/* The undefined-behaviour sanitizer of the stage `address` checks how the number is read. */
static void a_number_beyond_64_bits_is_a_message(void) {
    static struct wait_queue queue;
    redlatch_lock *lock;
    begin();
    CHECK_EQ_INT(redlatch_lock_new(handle, REDLATCH_READ, "a", 1, NULL, &lock), REDLATCH_OK);
    struct operation waiter = {.resource = lock->resource};
    engine_add_wait_queue(&client->engine, &queue);
    CHECK(attach_wait_queue(&client->engine, &waiter) == &queue);
    queue.subscription.state = SUBSCRIPTION_ACTIVE;
    queue.subscription.server = &client->node.server;
    connect_it(START);
    queue.subscription.state = SUBSCRIPTION_ACTIVE;
    fake_say(&server, "*3\r\n$7\r\nmessage\r\n$19\r\nredisson_rwlock:{a}\r\n$19\r\n9999999999999999999\r\n");
    for (int i = 0; i < 200 && client->engine.stats.messages == 0; i++) {
        step_soon(START + 1);
    }
    CHECK_EQ_INT(client->engine.stats.messages, 1);
    CHECK_EQ_INT(queue.sequence, 1);
    CHECK_EQ_INT(subscriber->connection.state, CONNECTION_READY);
    queue.subscription.state = SUBSCRIPTION_NONE;
    detach_wait_queue(&client->engine, &queue);
    list_remove(&queue.link);
    client->engine.wait_queue_pool_size--;
    redlatch_lock_free(lock);
    end();
}

/* The pipelines look a host name up. Until they have, the subscriber checks for its addresses every 100 ms. */
static void where_it_leads(void) {
    fake_open_tcp(&server);
    begin_at("redis://localhost:9");
    subscriber_step(&client->node, START);
    CHECK_EQ_INT(subscriber->connection.state, CONNECTION_CLOSED);
    CHECK_EQ_INT(subscriber_next_time(&client->node), START + SECOND / 10);
    const struct uri uri = {.host = (char[]){"127.0.0.1"}, .port = server.port};
    struct connection *other = &client->node.ios[1].connection;
    CHECK(resolve_at_once(&uri, &other->addresses));
    other->addresses.list[1] = other->addresses
                                   .list[0]; /* the pipeline left the first address, which it did not reach */
    memset(&other->addresses.list[0], 0, sizeof other->addresses.list[0]);
    other->addresses.count = 2;
    other->address = 1;
    subscriber_step(&client->node, START + SECOND / 10 - 1);
    CHECK_EQ_INT(subscriber->connection.state, CONNECTION_CLOSED);
    connect_it(START + SECOND / 10);
    end();
}

/* The kernel may take a command in part only. The rest follows although a successor stands: it waits for the reply. */
static void what_is_left_is_sent_while_a_successor_stands(void) {
    begin();
    connect_it(START);
    CHECK(output_bytes(&subscriber->connection.output, "PING\r\n", 6));
    subscriber->next.connection.state = CONNECTION_READY;
    subscriber_step(&client->node, START);
    CHECK_EQ_INT(output_pending(&subscriber->connection.output), 0);
    subscriber->next.connection.state = CONNECTION_CLOSED;
    end();
}

/* The subscriber was the first connection to reach another process: its own addresses are discarded with those of all
 * other connections. */
static void a_successor_follows_after_a_move(void) {
    begin();
    memcpy(client->node.current.run_id, FAKE_OTHER_RUN_ID, PROCESS_ID_SIZE);
    connect_it(START);
    CHECK_STR(client->node.current.run_id, FAKE_RUN_ID);
    CHECK_EQ_INT(subscriber->connection.addresses.count, 0);
    CHECK(credentials_set(&client->credentials, NULL, "another word"));
    successor_step(&client->node, START + 1);
    CHECK(subscriber->next.connection.state != CONNECTION_CLOSED);
    CHECK(fake_accept(&server));
    fake_say(&server, "+OK\r\n" GREETED);
    for (int i = 0; i < 200 && subscriber->next.connection.state != CONNECTION_READY; i++) {
        struct pollfd socket = {subscriber->next.connection.fd, POLLIN, 0};
        poll(&socket, 1, 20);
        successor_step(&client->node, START + 1);
    }
    CHECK_EQ_INT(subscriber->next.connection.state, CONNECTION_READY);
    check_received("AUTH another word");
    end();
}

int main(void) {
    RUN(a_silent_server_is_left);
    RUN(any_reply_is_a_sign_of_life);
    RUN(a_connection_that_breaks_while_it_is_pinged_is_made_again);
    RUN(what_is_no_message_is_passed_over);
    RUN(a_number_beyond_64_bits_is_a_message);
    RUN(where_it_leads);
    RUN(what_is_left_is_sent_while_a_successor_stands);
    RUN(a_successor_follows_after_a_move);
    return unit_done();
}
