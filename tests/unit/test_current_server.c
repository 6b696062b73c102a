/* Which server a client is on: what a greeting shows about it, when the client moves to another process, and what a
 * search that found the master changes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "current_server.h"

#include <stdlib.h>

#include "client.h"
#include "unit.h"

static const int64_t START = 1000 * SECOND;

static struct client *client;
static struct search search;

/* Makes a client whose URL names the server, or one that searches for it. */
static void begin(bool searches) {
    client = calloc(1, sizeof *client);
    CHECK(client != NULL);
    client->node.client = client;
    memset(&search, 0, sizeof search);
    client->node.current.search = searches ? &search : NULL;
}

static void end(void) {
    free(client);
}

/* Judges a connection that was begun at `opened_at`. The run id of its server is made of the letter `process`. */
static enum server_change greeted_by(char process, int64_t opened_at, int64_t now) {
    struct connection connection = {.opened_at = opened_at};
    memset(connection.run_id, process, PROCESS_ID_SIZE - 1);
    return current_server_greeted(&client->node, &connection, now);
}

static void the_first_process_is_remembered(void) {
    begin(false);
    struct connection unknown = {.opened_at = START};
    CHECK_EQ_INT(current_server_greeted(&client->node, &unknown, START), SERVER_SAME); /* INFO was denied */
    CHECK_EQ_INT(client->node.current.run_id[0], '\0');
    CHECK_EQ_INT(greeted_by('a', START, START), SERVER_SAME);
    CHECK_EQ_INT(strlen(client->node.current.run_id), PROCESS_ID_SIZE - 1);
    CHECK_EQ_INT(greeted_by('a', START, START), SERVER_SAME);
    CHECK_EQ_INT(current_server_greeted(&client->node, &unknown, START), SERVER_SAME);
    CHECK_EQ_INT(client->node.current.run_id[0], 'a');
    CHECK_EQ_INT(client->node.current.moved_at, 0);
    end();
}

static void another_process_is_a_move(void) {
    begin(false);
    greeted_by('a', START, START);
    CHECK_EQ_INT(greeted_by('b', START + 5, START + 7), SERVER_MOVED);
    CHECK_EQ_INT(client->node.current.run_id[0], 'b');
    CHECK_EQ_INT(greeted_by('a', START + 6, START + 9), SERVER_STALE); /* begun before the move */
    CHECK_EQ_INT(client->node.current.run_id[0], 'b');
    CHECK_EQ_INT(greeted_by('b', START + 6, START + 9), SERVER_SAME);
    CHECK_EQ_INT(greeted_by('a', START + 7, START + 9), SERVER_MOVED);
    CHECK_EQ_INT(client->node.current.moved_at, START + 9);
    end();
}

/* Moves between two processes every `pause`. Returns how many moves were made before SERVER_ALTERNATES, 100 at most. */
static int moves_to_and_fro(int64_t pause) {
    greeted_by('a', START, START);
    for (int i = 1; i <= 100; i++) {
        int64_t now = START + i * pause;
        enum server_change change = greeted_by(i % 2 ? 'b' : 'a', now, now);
        if (change != SERVER_MOVED) {
            CHECK_EQ_INT(change, SERVER_ALTERNATES);
            CHECK_EQ_INT(client->node.current.run_id[0], i % 2 ? 'a' : 'b'); /* the client stays where it is */
            return i - 1;
        }
    }
    return 100;
}

static void a_proxy_that_balances_is_noticed(void) {
    begin(false);
    CHECK_EQ_INT(moves_to_and_fro(SECOND), 5); /* one to b, and four returns */
    end();
    begin(false);
    CHECK_EQ_INT(moves_to_and_fro(4 * SECOND), 100); /* failovers may come as fast */
    end();
    begin(true); /* the search says which server is the master */
    CHECK_EQ_INT(moves_to_and_fro(SECOND), 100);
    end();
}

/* Five returns within ten seconds are too many. If the last one comes later, they are not. */
static void returns_are_counted_for_ten_seconds(void) {
    for (int more = 0; more <= 1; more++) {
        begin(false);
        greeted_by('a', START, START);
        for (int i = 0; i < 5; i++) {
            CHECK_EQ_INT(greeted_by(i % 2 ? 'a' : 'b', START + i, START + i), SERVER_MOVED);
        }
        int64_t last = START + 10 * SECOND + more;
        CHECK_EQ_INT(greeted_by('a', last, last), more ? SERVER_MOVED : SERVER_ALTERNATES);
        CHECK_EQ_INT(client->node.current.returns, more ? 1 : 5);
        CHECK_EQ_INT(client->node.current.returns_from, more ? last : START);
        end();
    }
}

/* Each restart makes a new process. The last four processes that the client left are remembered. */
static void the_last_ones_left_are_remembered(void) {
    begin(false);
    for (int process = 'a'; process <= 'f'; process++) {
        CHECK_EQ_INT(greeted_by((char)process, START, START), process == 'a' ? SERVER_SAME : SERVER_MOVED);
    }
    CHECK_EQ_INT(client->node.current.left_count, SERVERS_LEFT);
    CHECK_EQ_INT(client->node.current.returns, 0);
    for (int i = 0; i < SERVERS_LEFT; i++) {
        CHECK_EQ_INT(client->node.current.left[i][0], 'e' - i);
    }
    CHECK_EQ_INT(greeted_by('a', START, START), SERVER_MOVED); /* forgotten by now */
    CHECK_EQ_INT(client->node.current.returns, 0);
    CHECK_EQ_INT(greeted_by('c', START, START), SERVER_MOVED);
    CHECK_EQ_INT(client->node.current.returns, 1);
    CHECK_EQ_INT(client->node.current.left[0][0], 'f'); /* the list is full and stays as it is, with c */
    CHECK_EQ_INT(client->node.current.left[SERVERS_LEFT - 1][0], 'c');
    end();
}

static bool found(const char *host, int port, int64_t now) {
    CHECK(endpoint_set(&search.discovery.target, host, strlen(host), port));
    search.found.count = port;
    client->node.current.must_search = true;
    client->node.current.search_from = now;
    bool moved = current_server_found(client, now);
    CHECK(!client->node.current.must_search && client->node.current.search_from == 0);
    CHECK_EQ_INT(client->node.current.addresses.count, port);
    CHECK_STR(client->node.current.endpoint.host, host);
    CHECK_EQ_INT(client->node.current.endpoint.port, port);
    CHECK(client->node.current.where.host == client->node.current.endpoint.host);
    CHECK_EQ_INT(client->node.current.where.port, port);
    return moved;
}

static void a_master_at_another_address_is_a_move(void) {
    begin(true);
    CHECK(!current_server_is_known(&client->node.current));
    CHECK(!found("one", 1, START)); /* the first */
    greeted_by('a', START, START);
    CHECK(!found("one", 1, START + 1));
    CHECK_EQ_INT(client->node.current.run_id[0], 'a');
    CHECK_EQ_INT(client->node.current.moved_at, 0);
    CHECK(found("one", 2, START + 2));
    CHECK_EQ_INT(client->node.current.run_id[0], '\0');
    CHECK_EQ_INT(client->node.current.moved_at, START + 2);
    CHECK(found("two", 2, START + 3));
    CHECK(!client->node.current.moves[LOSS_EVENTS].pending); /* nobody collects events */
    end();
}

/* The host name leads to another server, although the old one still answers. There is no event, because it would name
 * the same address twice. */
static void another_process_at_the_same_address_is_a_move(void) {
    begin(true);
    atomic_store(&client->losses_watched[LOSS_EVENTS], true);
    memset(search.run_id, 'a', PROCESS_ID_SIZE - 1);
    CHECK(!found("name", 1, START));
    CHECK(!found("name", 1, START)); /* no connection has been greeted yet */
    greeted_by('a', START, START);
    CHECK(!found("name", 1, START + 1));
    search.run_id[0] = '\0'; /* the server does not show its run id */
    CHECK(!found("name", 1, START + 2));
    memset(search.run_id, 'b', PROCESS_ID_SIZE - 1);
    CHECK(found("name", 1, START + 3));
    CHECK_EQ_INT(client->node.current.run_id[0], '\0');
    CHECK_EQ_INT(client->node.current.moved_at, START + 3);
    CHECK(!client->node.current.moves[LOSS_EVENTS].pending);
    greeted_by('b', START + 4, START + 4);
    CHECK(!found("name", 1, START + 5));
    end();
}

/* Several moves make one event: it says where the client was before the first, and where it is now. */
static void moves_are_noted_for_who_asks(void) {
    begin(true);
    atomic_store(&client->losses_watched[LOSS_EVENTS], true);
    found("one", 1, START);
    CHECK(!client->node.current.moves[LOSS_EVENTS].pending);
    found("::2", 2, START);
    CHECK(client->node.current.moves[LOSS_EVENTS].pending);
    CHECK_STR(client->node.current.moves[LOSS_EVENTS].from, "one:1");
    CHECK_STR(client->node.current.moves[LOSS_EVENTS].to, "[::2]:2");
    found("three", 3, START);
    CHECK_STR(client->node.current.moves[LOSS_EVENTS].from, "one:1");
    CHECK_STR(client->node.current.moves[LOSS_EVENTS].to, "three:3");
    end();
}

static void a_search_is_requested_for_half_a_minute(void) {
    begin(true);
    client->node.current.search_from = START + 1; /* the last search failed */
    current_server_request_search(client, START);
    CHECK(client->node.current.must_search);
    CHECK_EQ_INT(client->node.current.search_from, 0);
    CHECK_EQ_INT(client->node.current.search_until, START + 30 * SECOND);
    end();
}

/* The name or the address in the URL may lead to another server now. If a lookup finds a replica again, the URL is
 * taken to name that replica for 5 s. */
static void a_replica_may_be_the_wrong_server(void) {
    begin(false);
    CHECK(current_server_may_be_elsewhere(&client->node, START));
    CHECK(!current_server_may_be_elsewhere(&client->node, START + 5 * SECOND - 1));
    CHECK(current_server_may_be_elsewhere(&client->node, START + 5 * SECOND));
    CHECK(!current_server_may_be_elsewhere(&client->node, START + 10 * SECOND - 1));
    end();
    begin(true);
    CHECK(current_server_may_be_elsewhere(&client->node, START));
    CHECK(current_server_may_be_elsewhere(&client->node, START));
    end();
}

int main(void) {
    RUN(the_first_process_is_remembered);
    RUN(another_process_is_a_move);
    RUN(a_proxy_that_balances_is_noticed);
    RUN(returns_are_counted_for_ten_seconds);
    RUN(the_last_ones_left_are_remembered);
    RUN(a_master_at_another_address_is_a_move);
    RUN(another_process_at_the_same_address_is_a_move);
    RUN(moves_are_noted_for_who_asks);
    RUN(a_search_is_requested_for_half_a_minute);
    RUN(a_replica_may_be_the_wrong_server);
    return unit_done();
}
