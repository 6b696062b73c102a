/* A client on one server process: when a connection leads to another process, all other connections are closed and made
 * again, each by the thread that uses it. Also connections that cannot be made. The clock is the test's own.
 * SPDX-License-Identifier: Apache-2.0 */
#include "pipeline_io.h"

#include <poll.h>

#include "fake_server.h"
#include "handles.h"
#include "subscriber.h"
#include "unit.h"

#define ID "+OK\r\n:7\r\n"
#define INFO "$66\r\n# Server\r\nrun_id:" FAKE_RUN_ID "\r\nhz:10\r\n\r\n"
#define OTHER_INFO "$66\r\n# Server\r\nrun_id:" FAKE_OTHER_RUN_ID "\r\nhz:10\r\n\r\n"
#define MOVED ": the client moved to another server"

static const int64_t START = 1000 * SECOND;

static struct fake_server server;
static redlatch_client *handle;
static struct client *client;

static void begin(void) {
    redlatch_client_options options;
    fake_open_tcp(&server);
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    options.lazy = 1;
    options.connect_timeout_ms = 4000;
    CHECK_EQ_INT(redlatch_client_open(server.url, &options, &handle), REDLATCH_OK);
    client = handle->client;
}

static void end(void) {
    for (int i = 0; i < PIPELINE_COUNT; i++) {
        client->node.ios[i].reader = READER_NONE;
        client->node.ios[i].writing = false;
    }
    client->engine.subscriptions = 0;
    redlatch_client_free(handle);
    fake_close(&server);
}

static struct pipeline_io *io_of(int pipeline) {
    return &client->node.ios[pipeline];
}

static struct connection *of(int pipeline) {
    return &client->node.ios[pipeline].connection;
}

/* Begins the connection of a pipeline, which the server accepts. */
static void open_one(int pipeline, int64_t now) {
    CHECK(resolve_at_once(&client->uri, &of(pipeline)->addresses));
    CHECK_EQ_INT(io_connect(io_of(pipeline), now), REDLATCH_AGAIN);
    CHECK(fake_accept(&server));
}

/* The server sends `greeting`. Returns the status of the connection attempt. */
static int greeted(int pipeline, const char *greeting, int64_t now) {
    int status = REDLATCH_AGAIN;
    fake_say(&server, greeting);
    for (int i = 0; i < 200 && status == REDLATCH_AGAIN && of(pipeline)->state != CONNECTION_CLOSED; i++) {
        struct pollfd socket = {of(pipeline)->fd, POLLIN, 0};
        poll(&socket, 1, 20);
        status = io_connect(io_of(pipeline), now);
    }
    return status;
}

static void connect_one(int pipeline, const char *greeting) {
    open_one(pipeline, START);
    CHECK_EQ_INT(greeted(pipeline, greeting, START), REDLATCH_OK);
    CHECK_EQ_INT(of(pipeline)->state, CONNECTION_READY);
}

/* Checks that a connection was closed for a move, and may be made again at once after another lookup. */
static void check_moved(int pipeline, int64_t now) {
    CHECK_EQ_INT(of(pipeline)->state, CONNECTION_CLOSED);
    CHECK_EQ_INT(of(pipeline)->addresses.count, 0);
    CHECK_EQ_INT(of(pipeline)->address, 0);
    CHECK_EQ_INT(of(pipeline)->retry_at, now);
    CHECK_EQ_INT(of(pipeline)->retry_soon_at, now);
    CHECK_EQ_INT(of(pipeline)->down_since, 0);
    CHECK(!io_of(pipeline)->moves && !io_of(pipeline)->failure);
}

static void one_process_is_no_move(void) {
    begin();
    connect_one(0, ID INFO);
    connect_one(1, ID INFO);
    connect_one(2, ID "-NOPERM no\r\n"); /* this greeting hides the run id */
    CHECK_EQ_INT(of(0)->state, CONNECTION_READY);
    CHECK_EQ_INT(of(1)->state, CONNECTION_READY);
    CHECK_EQ_INT(client->engine.stats.reconnects, 0);
    end();
}

static void another_process_moves_what_nobody_has(void) {
    begin();
    connect_one(0, ID INFO);
    open_one(1, START); /* this connection is still being made */
    client->node.subscriber.connection.addresses.count = 1;
    client->node.subscriber.connection.address = 1;
    connect_one(2, ID OTHER_INFO);
    check_moved(0, START);
    check_moved(1, START);
    check_moved(3, START);
    CHECK(strstr(of(0)->detail, MOVED) && strstr(of(1)->detail, MOVED));
    CHECK_EQ_INT(of(0)->old_id, 7); /* its CLIENT ID at the server that it left */
    CHECK(!client->node.subscriber.moves);
    CHECK_EQ_INT(client->node.subscriber.connection.addresses.count, 0);
    CHECK_EQ_INT(client->node.subscriber.connection.address, 0);
    CHECK_EQ_INT(client->node.subscriber.connection.retry_at, START);
    connect_one(0, ID OTHER_INFO);
    CHECK_EQ_INT(client->engine.stats.reconnects, 1);
    CHECK_EQ_INT(of(2)->state, CONNECTION_READY);
    end();
}

/* The replies that a broken connection left outstanding stay in doubt if the client moves before it has connected
 * again: a greeting that cannot kill the old connection must know of them. */
static void a_move_forgets_no_doubt(void) {
    begin();
    connect_one(0, ID INFO);
    io_of(0)->pipeline->in_flight = 1;
    io_receive(io_of(0), -1, START + 1);
    CHECK(of(0)->unanswered);
    open_one(0, START + 1);
    connect_one(2, ID OTHER_INFO);
    check_moved(0, START);
    CHECK(of(0)->unanswered);
    open_one(0, START + 2);
    CHECK_EQ_INT(greeted(0, ID "-NOPERM no\r\n", START + 2), REDLATCH_OK);
    CHECK_EQ_INT(of(0)->resolution, RESOLUTION_DENIED);
    io_of(0)->reader = READER_AT_SOCKET; /* that thread closes the connection after two moves */
    io_of(0)->pipeline->in_flight = 1;
    io_move_all(&client->node, NULL, START + 3);
    io_move_all(&client->node, NULL, START + 3);
    io_receive(io_of(0), -1, START + 3);
    check_moved(0, START + 3);
    CHECK(of(0)->unanswered);
    end();
}

/* The thread that reads or writes a connection closes it. Bytes that arrive until then are ignored. */
static void what_somebody_has_is_left_to_that_one(void) {
    begin();
    connect_one(0, ID INFO);
    connect_one(1, ID INFO);
    int third = server.peer_count;
    open_one(3, START);
    io_of(0)->reader = READER_AT_SOCKET;
    io_of(1)->writing = true;
    io_of(3)->reader = READER_CALLER;
    connect_one(2, ID OTHER_INFO);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ_INT(io_of(i)->moves, i != 2);
        CHECK_EQ_INT(io_of(i)->failure != NULL, i != 2);
        CHECK(of(i)->state != CONNECTION_CLOSED);
    }
    char byte;
    struct pollfd socket = {server.peers[third].fd, POLLIN, 0}; /* the shutdown wakes the thread that sleeps */
    CHECK_EQ_INT(poll(&socket, 1, 2000), 1);
    CHECK(connection_read(of(0), &byte, 1) == -1);
    memcpy(io_of(0)->staging, "+OK\r\n", 5);
    io_receive(io_of(0), 5, START + 1);
    check_moved(0, START + 1);
    io_of(1)->writing = false;
    io_receive(io_of(1), -1, START + 1);
    check_moved(1, START + 1);
    CHECK_EQ_INT(io_connect(io_of(3), START + 1), REDLATCH_AGAIN);
    check_moved(3, START + 1);
    end();
}

/* Commands are not written to a connection that is to be closed for a move. */
static void nothing_is_written_to_what_moves(void) {
    begin();
    connect_one(0, ID INFO);
    io_of(0)->reader = READER_AT_SOCKET;
    connect_one(2, ID OTHER_INFO);
    CHECK(output_bytes(&of(0)->output, "PING", 4));
    io_flush(io_of(0));
    CHECK_EQ_INT(output_pending(&of(0)->output), 4);
    end();
}

static void a_late_connection_leads_to_where_the_client_was(void) {
    begin();
    connect_one(0, ID INFO);
    connect_one(2, ID OTHER_INFO);
    client->node.current.moved_at = START + 1;
    open_one(3, START); /* begun before the move */
    CHECK_EQ_INT(greeted(3, ID INFO, START + 5), REDLATCH_AGAIN);
    check_moved(3, START + 5);
    CHECK(strstr(of(3)->detail, MOVED));
    CHECK_EQ_INT(of(2)->state, CONNECTION_READY);
    CHECK_STR(client->node.current.run_id, FAKE_OTHER_RUN_ID);
    end();
}

static void a_proxy_that_balances_is_refused(void) {
    begin();
    connect_one(0, ID INFO);
    client->node.current.left_count = 1;
    memcpy(client->node.current.left[0], FAKE_OTHER_RUN_ID, PROCESS_ID_SIZE);
    client->node.current.returns = 4;
    client->node.current.returns_from = START;
    open_one(1, START);
    CHECK_EQ_INT(greeted(1, ID OTHER_INFO, START), REDLATCH_UNSUPPORTED);
    CHECK(strstr(of(1)->detail, "connections reach several server processes in turn: expected one server"));
    CHECK_EQ_INT(of(0)->state, CONNECTION_READY);
    CHECK(io_of(1)->must_lookup);
    end();
}

static void who_cannot_connect_searches_again(void) {
    begin();
    struct addresses right;
    CHECK(resolve_at_once(&client->uri, &right));
    struct uri nobody = {.host = (char[]){"127.0.0.1"}, .port = 1};
    CHECK(resolve_at_once(&nobody, &of(0)->addresses));
    of(0)->addresses.list[1] = right.list[0];
    of(0)->addresses.count = 2;
    for (int i = 0; i < 200 && of(0)->address == 0; i++) {
        CHECK_EQ_INT(io_connect(io_of(0), START), REDLATCH_AGAIN); /* the name has another address */
    }
    CHECK(!io_of(0)->must_lookup);
    CHECK_EQ_INT(io_connect(io_of(0), START), REDLATCH_AGAIN);
    CHECK(fake_accept(&server));
    CHECK_EQ_INT(greeted(0, ID INFO, START), REDLATCH_OK);
    for (int searches = 0; searches <= 2; searches++) { /* no searches; before its search; after its search */
        struct search search;
        struct pipeline_io *io = io_of(1 + searches);
        client->node.current.search = searches ? &search : NULL;
        io->searched = searches == 2;
        CHECK(resolve_at_once(&nobody, &io->connection.addresses));
        int status = REDLATCH_AGAIN;
        for (int i = 0; i < 200 && !io->must_lookup; i++) {
            status = io_connect(io, START);
        }
        CHECK_EQ_INT(status, searches == 1 ? REDLATCH_AGAIN : REDLATCH_UNREACHABLE);
        CHECK(io->must_lookup && !io->searched);
        CHECK_EQ_INT(io->connection.retry_at == START, searches == 1);
        CHECK_EQ_INT(io->connection.addresses.count, 0);
    }
    client->node.current.search = NULL;
    end();
}

/* Connects the subscriber, to which the server sends `greeting`. */
static void greet_subscriber(const char *greeting, int64_t now) {
    subscriber_step(&client->node, now);
    CHECK(fake_accept(&server));
    fake_say(&server, greeting);
    struct connection *connection = &client->node.subscriber.connection;
    for (int i = 0; i < 200 && (connection->state == CONNECTION_OPENING || connection->state == CONNECTION_GREETING);
         i++) {
        struct pollfd socket = {connection->fd, POLLIN, 0};
        poll(&socket, 1, 20);
        subscriber_step(&client->node, now);
    }
}

static void the_subscriber_may_be_the_first_to_move(void) {
    begin();
    connect_one(0, ID INFO);
    client->node.server.subscriptions = 1;
    greet_subscriber("+OK\r\n" OTHER_INFO, START);
    CHECK_EQ_INT(client->node.subscriber.connection.state, CONNECTION_READY);
    CHECK(!client->node.subscriber.moves);
    check_moved(0, START);
    CHECK_EQ_INT(subscriber_next_time(&client->node), START + 10 * SECOND);
    connect_one(2, ID INFO); /* and it follows a move of others */
    CHECK(client->node.subscriber.moves);
    CHECK_EQ_INT(subscriber_next_time(&client->node), 0);
    greet_subscriber("+OK\r\n" INFO, START + 1);
    CHECK_EQ_INT(client->node.subscriber.connection.state, CONNECTION_READY);
    CHECK(!client->node.subscriber.moves);
    CHECK_EQ_INT(client->engine.stats.reconnects, 1);
    end();
}

static void a_subscriber_elsewhere_is_rejected(void) {
    begin();
    connect_one(0, ID INFO);
    connect_one(1, ID OTHER_INFO);
    client->node.server.subscriptions = 1;
    client->node.current.moved_at = START + 1;
    greet_subscriber("+OK\r\n" INFO, START); /* begun before the move */
    CHECK_EQ_INT(client->node.subscriber.connection.state, CONNECTION_CLOSED);
    CHECK_EQ_INT(client->node.subscriber.connection.addresses.count, 0);
    CHECK_EQ_INT(client->node.subscriber.connection.address, 0);
    CHECK(strstr(client->node.subscriber.connection.detail, ": the client is on another server"));
    CHECK_EQ_INT(of(1)->state, CONNECTION_READY);
    end();
}

int main(void) {
    RUN(one_process_is_no_move);
    RUN(another_process_moves_what_nobody_has);
    RUN(a_move_forgets_no_doubt);
    RUN(what_somebody_has_is_left_to_that_one);
    RUN(nothing_is_written_to_what_moves);
    RUN(a_late_connection_leads_to_where_the_client_was);
    RUN(a_proxy_that_balances_is_refused);
    RUN(who_cannot_connect_searches_again);
    RUN(the_subscriber_may_be_the_first_to_move);
    RUN(a_subscriber_elsewhere_is_rejected);
    return unit_done();
}
