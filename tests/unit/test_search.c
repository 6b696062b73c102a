/* The search for a master or a topology over sockets: what sentinels, candidates and nodes receive, what their replies
 * mean, when the search gives up each of them, and when it ends itself. The clock is the test's own.
 * SPDX-License-Identifier: Apache-2.0 */
#include "search.h"

#include <arpa/inet.h>
#include <poll.h>

#include "fake_server.h"
#include "system.h"
#include "unit.h"

#define GREETED "+OK\r\n$66\r\n# Server\r\nrun_id:" FAKE_RUN_ID "\r\nhz:10\r\n\r\n"
#define MASTER GREETED "$26\r\n# Replication\r\nrole:master\r\n"
#define REPLICA GREETED "$25\r\n# Replication\r\nrole:slave\r\n"
#define NOBODY_ELSE "*0\r\n"

enum { SERVERS = 3 };

static const int64_t START = 1000 * SECOND;
static const int64_t TIMEOUT = 8 * SECOND; /* of the search; each target has a quarter */

/* Each test uses these servers as sentinels, candidates or nodes. */
static struct fake_server servers[SERVERS];
static struct fake_server master;
static struct uri uri;
static struct connection_settings settings;
static struct credentials login, sentinel_login; /* the URI's texts */
static struct search search;
static struct topology topology;
static const _Atomic bool going_on = false;

/* Begins a search of the kind that `scheme` says, with the addresses of all servers in its URL. */
static void begin_with(const char *scheme, const char *credentials, const char *rest) {
    char url[300];
    char why[400];
    fake_open_tcp(&master);
    int used = snprintf(url, sizeof url, "%s://%s", scheme, credentials);
    for (int i = 0; i < SERVERS; i++) {
        fake_open_tcp(&servers[i]);
        used += snprintf(url + used, sizeof url - (size_t)used, "%s127.0.0.1:%d", i ? "," : "", servers[i].port);
    }
    snprintf(url + used, sizeof url - (size_t)used, "%s", rest);
    CHECK_EQ_INT(uri_parse(url, &uri, why, sizeof why), REDLATCH_OK);
    login = (struct credentials){uri.username, uri.password, 1};
    sentinel_login = (struct credentials){uri.sentinel_username, uri.sentinel_password, 1};
    settings = (struct connection_settings){.uri = &uri,
                                            .credentials = &login,
                                            .database = 3,
                                            .name = "redlatch:unit",
                                            .connect_timeout = TIMEOUT,
                                            .dead_peer_timeout = 10 * SECOND,
                                            .master_only = !uri.cluster};
    search_init(&search, &uri, &sentinel_login, &settings, uri.cluster ? &topology : NULL, &going_on);
    CHECK(!search_is_running(&search));
    CHECK(search_next_time(&search, START) == NEVER);
    search_begin(&search, START);
    CHECK(search_is_running(&search));
}

static void begin(void) {
    begin_with("redis+sentinel", "", "/orders");
}

static void end(void) {
    search_close(&search);
    CHECK(!search_is_running(&search));
    CHECK_EQ_INT(search.connection.fd, -1);
    uri_free(&uri);
    topology_free(&topology);
    fake_close(&master);
    for (int i = 0; i < SERVERS; i++) {
        fake_close(&servers[i]);
    }
}

/* Does one step as soon as the socket is ready, or after 20 ms. */
static int step_soon(int64_t now) {
    struct pollfd socket = {.events = 0};
    socket.fd = search_descriptor(&search, &socket.events);
    system_poll(&socket, 1, system_now() + 20 * MILLISECOND);
    return search_step(&search, now);
}

/* Steps until the search goes on to another target, or ends. Returns AGAIN, or the status that it ends with. */
static int step_on(int64_t now) {
    struct endpoint target = search.discovery.target;
    enum discovery_step step = search.discovery.step;
    int tried = search.discovery.tried;
    int64_t until = system_now() + 5 * SECOND;
    int status = search_step(&search, now);
    while (status == REDLATCH_AGAIN && search.discovery.step == step && search.discovery.tried == tried &&
           endpoint_equal(&search.discovery.target, &target) && system_now() < until) {
        status = step_soon(now);
    }
    return status;
}

/* Checks that this server is the target of the search, and lets the search connect to it. */
static void connected(struct fake_server *server, int64_t now) {
    CHECK_EQ_INT(search.discovery.target.port, server->port);
    CHECK_EQ_INT(search_step(&search, now), REDLATCH_AGAIN);
    CHECK(fake_accept(server));
}

/* The search connects to a sentinel, which sends `greeting`, and then sends its requests. */
static void greeted(struct fake_server *sentinel, const char *greeting, int64_t now) {
    int64_t until = system_now() + 5 * SECOND;
    connected(sentinel, now);
    fake_say(sentinel, greeting);
    while (!search.requested && system_now() < until) {
        CHECK_EQ_INT(step_soon(now), REDLATCH_AGAIN);
    }
}

/* The same, and then the sentinel sends `reply`. Returns the status of step_on. */
static int replied(struct fake_server *sentinel, const char *greeting, const char *reply) {
    greeted(sentinel, greeting, START);
    fake_say(sentinel, reply);
    return step_on(START);
}

/* The same, with a reply that announces a master on `port` and has `others` for the other sentinels. */
static int announced(struct fake_server *sentinel, const char *greeting, int port, const char *others) {
    char number[8];
    char reply[1000];
    snprintf(number, sizeof number, "%d", port);
    snprintf(reply, sizeof reply, "*2\r\n$9\r\n127.0.0.1\r\n$%zu\r\n%s\r\n%s", strlen(number), number, others);
    return replied(sentinel, greeting, reply);
}

/* The search connects to a candidate, which sends `greeting`, or closes the connection if that is NULL. */
static int verified(struct fake_server *server, const char *greeting) {
    connected(server, START);
    if (greeting) {
        fake_say(server, greeting);
    } else {
        fake_hang_up(server);
    }
    return step_on(START);
}

static void check_received(struct fake_server *server, const char *expected) {
    char command[200] = "";
    CHECK(fake_hear(server, command, sizeof command));
    CHECK_STR(command, expected);
}

/* All servers from `first` on close their connections: the search ends with this status and this reason. */
static void end_in_failure(int first, int status, const char *why) {
    for (int i = first; i < SERVERS; i++) {
        CHECK_EQ_INT(verified(&servers[i], NULL), i + 1 < SERVERS ? REDLATCH_AGAIN : status);
    }
    CHECK_EQ_INT(search.discovery.step, DISCOVERY_FAILED);
    CHECK_EQ_INT(search_step(&search, START), status); /* it stays failed */
    CHECK(search.refused || status != REDLATCH_AUTHENTICATION);
    if (!strstr(search.discovery.why, why)) {
        CHECK_STR(search.discovery.why, why);
    }
}

static void a_master_is_found(void) {
    begin_with("redis+sentinel", "me:secret@", "/orders?sentinel_username=su&sentinel_password=sp");
    CHECK_EQ_INT(announced(&servers[0], "+OK\r\n" GREETED, master.port, NOBODY_ELSE), REDLATCH_AGAIN);
    CHECK_EQ_INT(search.discovery.step, DISCOVERY_VERIFY);
    CHECK_EQ_INT(verified(&master, "+OK\r\n" MASTER), REDLATCH_OK);
    CHECK_EQ_INT(search.discovery.target.port, master.port);
    CHECK_EQ_INT(search.found.count, 1);
    const struct sockaddr_in *address = (const struct sockaddr_in *)(const void *)&search.found.list[0].storage;
    CHECK_EQ_INT(ntohs(address->sin_port), master.port);
    CHECK(search_next_time(&search, START) == NEVER);
    CHECK_EQ_INT(search.connection.fd, -1); /* nothing stays open */
    check_received(&master, "AUTH me secret");
    check_received(&master, "CLIENT SETNAME redlatch:unit");
    check_received(&master, "INFO server");
    check_received(&master, "INFO replication");
    CHECK(!fake_hear(&master, (char[10]){""}, 10)); /* the search closed it */
    end();
}

/* The greeting of a sentinel with a password has one reply more. */
static void sentinels_have_credentials_of_their_own(void) {
    begin_with("redis+sentinel", "me:secret@", "/orders?sentinel_password=sp");
    CHECK(login.password && search.sentinel.credentials == &sentinel_login);
    CHECK_EQ_INT(replied(&servers[0], "+OK\r\n" GREETED, "*-1\r\n"), REDLATCH_AGAIN);
    check_received(&servers[0], "AUTH sp");
    check_received(&servers[0], "CLIENT SETNAME redlatch:unit");
    check_received(&servers[0], "INFO server"); /* no SELECT, no role */
    check_received(&servers[0], "SENTINEL get-master-addr-by-name orders");
    check_received(&servers[0], "SENTINEL sentinels orders");
    end();
    begin_with("redis+sentinel", "me:secret@", "/orders");
    CHECK_EQ_INT(replied(&servers[0], GREETED, "*-1\r\n"), REDLATCH_AGAIN);
    check_received(&servers[0], "CLIENT SETNAME redlatch:unit");
    end();
}

static void replies_may_come_in_pieces(void) {
    begin();
    char number[8];
    snprintf(number, sizeof number, "%d", master.port);
    const char *pieces[] = {"*2\r\n$9\r\n127.0.", "0.1\r\n$5\r\n", number, "\r\n*", "0\r", "\n"};
    greeted(&servers[0], GREETED, START);
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        CHECK_EQ_INT(search.discovery.step, DISCOVERY_ASK);
        fake_say(&servers[0], pieces[i]);
        for (int turn = 0; turn < 3; turn++) {
            CHECK_EQ_INT(step_soon(START), REDLATCH_AGAIN);
        }
    }
    CHECK_EQ_INT(search.discovery.step, DISCOVERY_VERIFY);
    CHECK_EQ_INT(verified(&master, MASTER), REDLATCH_OK);
    end();
}

/* Other sentinels are learned if their entry has a host and a port, at whatever position, unless they are down. */
static void other_sentinels_are_learned(void) {
    begin();
    const char *others = "*8\r\n"
                         "*6\r\n$2\r\nip\r\n$8\r\n10.0.0.7\r\n$4\r\nport\r\n$1\r\n7\r\n"
                         "$5\r\nflags\r\n$15\r\nsentinel,s_down\r\n"
                         "*4\r\n$2\r\nip\r\n$8\r\n10.0.0.1\r\n$4\r\nport\r\n$1\r\n1\r\n"
                         "*7\r\n$4\r\nname\r\n$1\r\nx\r\n$4\r\nport\r\n$1\r\n2\r\n"
                         "$2\r\nip\r\n$8\r\n10.0.0.2\r\n$2\r\nip\r\n"
                         "*2\r\n$2\r\nip\r\n$8\r\n10.0.0.3\r\n"
                         "*4\r\n$2\r\nip\r\n$8\r\n10.0.0.4\r\n$4\r\nport\r\n:4\r\n"
                         "*4\r\n$2\r\nip\r\n$8\r\n10.0.0.5\r\n$4\r\nport\r\n$1\r\n0\r\n"
                         "*4\r\n$2\r\nip\r\n$8\r\n10.0.0.6\r\n$4\r\npart\r\n$1\r\n6\r\n"
                         "$2\r\nip\r\n";
    CHECK_EQ_INT(announced(&servers[0], GREETED, master.port, others), REDLATCH_AGAIN);
    CHECK_EQ_INT(search.discovery.step, DISCOVERY_VERIFY);
    const struct endpoints *known = &search.discovery.sources;
    CHECK_EQ_INT(known->count, SERVERS + 2);
    CHECK_STR(known->list[SERVERS].host, "10.0.0.1");
    CHECK_EQ_INT(known->list[SERVERS].port, 1);
    CHECK_STR(known->list[SERVERS + 1].host, "10.0.0.2");
    CHECK_EQ_INT(known->list[SERVERS + 1].port, 2);
    end();
    begin(); /* an error reply in place of the list */
    CHECK_EQ_INT(announced(&servers[0], GREETED, master.port, "-ERR no\r\n"), REDLATCH_AGAIN);
    CHECK_EQ_INT(search.discovery.step, DISCOVERY_VERIFY);
    CHECK_EQ_INT(search.discovery.sources.count, SERVERS);
    end();
}

static void what_is_refused_is_reported(void) {
    static const struct {
        const char *reply;
        int status;
        const char *why;
    } rows[] = {
        {"*-1\r\n", REDLATCH_INVALID, "service \"orders\": unknown to the sentinel 127.0.0.1:"},
        {"-NOAUTH Authentication\trequired.\r\n", REDLATCH_AUTHENTICATION, ": NOAUTH Authentication.required."},
        {"-ERR unknown command\r\n", REDLATCH_NO_PERMISSION, ": ERR unknown command"},
        {":1\r\n", REDLATCH_PROTOCOL, ": the peer is not a sentinel"},
        {"*1\r\n$1\r\nh\r\n", REDLATCH_PROTOCOL, ": the peer is not a sentinel"},
        {"*3\r\n$1\r\nh\r\n$1\r\n1\r\n$1\r\n1\r\n", REDLATCH_PROTOCOL, ": the peer is not a sentinel"},
        {"*2\r\n$1\r\nh\r\n:1\r\n", REDLATCH_PROTOCOL, ": the peer is not a sentinel"},
        {"*2\r\n:1\r\n$1\r\n1\r\n", REDLATCH_PROTOCOL, ": the peer is not a sentinel"},
        {"*2\r\n$1\r\nh\r\n$1\r\nx\r\n", REDLATCH_PROTOCOL, ": the peer is not a sentinel"},
        {"*2\r\n$1\r\nh\r\n$5\r\n65536\r\n", REDLATCH_PROTOCOL, ": the peer is not a sentinel"},
        {"*2\r\n$0\r\n\r\n$1\r\n1\r\n", REDLATCH_PROTOCOL, ": the peer is not a sentinel"},
        {"?\r\n", REDLATCH_PROTOCOL, ": the peer is not a sentinel"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin();
        CHECK_EQ_INT(replied(&servers[0], GREETED, rows[i].reply), REDLATCH_AGAIN);
        end_in_failure(1, rows[i].status, rows[i].why);
        end();
    }
}

/* An error reply that is too long is not shown in part. */
static void an_endless_error_is_not_shown(void) {
    for (int size = 198; size <= 199; size++) {
        char reply[300];
        snprintf(reply, sizeof reply, "-NOAUTH %0*d\r\n", size - 7, 0);
        begin();
        CHECK_EQ_INT(replied(&servers[0], GREETED, reply), REDLATCH_AGAIN);
        end_in_failure(1, REDLATCH_AUTHENTICATION, size == 198 ? ": NOAUTH 000" : ": the peer is not a sentinel");
        end();
    }
}

static void a_sentinel_that_is_gone_is_passed_over(void) {
    begin();
    fake_close(&servers[0]); /* nobody listens */
    CHECK_EQ_INT(step_on(START), REDLATCH_AGAIN);
    greeted(&servers[1], GREETED, START);
    fake_hang_up(&servers[1]);
    CHECK_EQ_INT(step_on(START), REDLATCH_AGAIN);
    CHECK(strstr(search.discovery.why, ": the server closed the connection"));
    CHECK_EQ_INT(announced(&servers[2], GREETED, master.port, NOBODY_ELSE), REDLATCH_AGAIN);
    CHECK_EQ_INT(verified(&master, MASTER), REDLATCH_OK);
    fake_open_tcp(&servers[0]);
    end();
}

/* Each target has a quarter of the time. */
static void a_silent_sentinel_is_given_up(void) {
    const int64_t first = START + TIMEOUT / 4;
    const int64_t second = START + TIMEOUT / 2;
    begin();
    greeted(&servers[0], GREETED, START);
    CHECK_EQ_INT(search_next_time(&search, START), first);
    CHECK_EQ_INT(search_step(&search, first - 1), REDLATCH_AGAIN);
    CHECK_EQ_INT(search.discovery.tried, 0);
    CHECK_EQ_INT(search_step(&search, first), REDLATCH_AGAIN);
    CHECK_EQ_INT(search.discovery.tried, 1);
    CHECK(strstr(search.discovery.why, ": no reply before the connect timeout"));
    CHECK_EQ_INT(search_next_time(&search, first), second);
    connected(&servers[1], first); /* this one does not even greet */
    CHECK_EQ_INT(search_step(&search, second - 1), REDLATCH_AGAIN);
    CHECK_EQ_INT(search.discovery.tried, 1);
    CHECK_EQ_INT(search_step(&search, second), REDLATCH_AGAIN);
    CHECK_EQ_INT(search.discovery.tried, 2);
    end();
}

/* The search ends when its time is over, however many sentinels were not asked yet. */
static void the_search_is_given_up(void) {
    const int64_t late = START + TIMEOUT * 7 / 8;
    const int64_t last = START + TIMEOUT;
    begin();
    greeted(&servers[0], GREETED, START);
    CHECK_EQ_INT(search_step(&search, START + TIMEOUT / 4), REDLATCH_AGAIN);
    greeted(&servers[1], GREETED, START + TIMEOUT / 4);
    CHECK_EQ_INT(search_step(&search, late), REDLATCH_AGAIN);
    greeted(&servers[2], GREETED, late);
    CHECK_EQ_INT(search_next_time(&search, late), last);
    CHECK_EQ_INT(search_step(&search, last - 1), REDLATCH_AGAIN);
    CHECK_EQ_INT(search_step(&search, last), REDLATCH_UNREACHABLE);
    CHECK_STR(search.discovery.why, "no master was found before the connect timeout");
    CHECK_EQ_INT(search.connection.fd, -1);
    search_begin(&search, last); /* begins with the next sentinel */
    CHECK_EQ_INT(search.discovery.target.port, servers[0].port);
    CHECK_EQ_INT(search_step(&search, last), REDLATCH_AGAIN); /* the new search has its own time */
    end();
}

static void candidates_are_verified(void) {
    begin();
    CHECK_EQ_INT(announced(&servers[0], GREETED, master.port, NOBODY_ELSE), REDLATCH_AGAIN);
    CHECK_EQ_INT(verified(&master, REPLICA), REDLATCH_AGAIN);
    CHECK(strstr(search.discovery.why, "is a replica: expected the master"));
    CHECK_EQ_INT(search.discovery.step, DISCOVERY_ASK);
    CHECK_EQ_INT(announced(&servers[1], GREETED, master.port, NOBODY_ELSE), REDLATCH_AGAIN);
    CHECK_EQ_INT(verified(&master, NULL), REDLATCH_AGAIN); /* hangs up */
    CHECK(strstr(search.discovery.why, "the server closed the connection"));
    CHECK_EQ_INT(announced(&servers[2], GREETED, master.port, NOBODY_ELSE), REDLATCH_AGAIN);
    CHECK_EQ_INT(verified(&master, "-NOPERM no\r\n$1\r\nx\r\n-NOPERM no\r\n"), REDLATCH_NO_PERMISSION); /* no role */
    CHECK(strstr(search.discovery.why, "expected a user with +info"));
    end();
}

static void servers_are_candidates_themselves(void) {
    begin_with("redis+replicas", "", "");
    CHECK_EQ_INT(verified(&servers[0], REPLICA), REDLATCH_AGAIN);
    CHECK_EQ_INT(verified(&servers[1], MASTER), REDLATCH_OK);
    CHECK_EQ_INT(search.discovery.target.port, servers[1].port);
    CHECK_STR(search.run_id, FAKE_RUN_ID);
    CHECK_EQ_INT(search_step(&search, START), REDLATCH_OK);
    search_begin(&search, START); /* begins with the one that was the master */
    CHECK_EQ_INT(search.discovery.target.port, servers[1].port);
    end();
}

#define HISTORY "0123456789abcdef0123456789abcdef01234567"
#define OTHER_HISTORY "0123456789abcdef0123456789abcdef01234560"

/* Returns the greeting of a server with these fields in its INFO replication. */
static const char *replicating(const char *role, const char *more, const char *history) {
    static char replies[500];
    char info[200];
    int size = snprintf(info, sizeof info, "\r\nrole:%s\r\n%smaster_replid:%s\r\n", role, more, history);
    snprintf(replies, sizeof replies, GREETED "$%d\r\n%s\r\n", size, info);
    return replies;
}

/* The address map translates the address of the master that the replica announces. The candidate must have the history
 * of the replica. */
static void the_master_of_a_replica_is_a_candidate(void) {
    char follows[80];
    static const struct {
        const char *replies;
        int status;
    } rows[] = {{HISTORY, REDLATCH_OK}, {OTHER_HISTORY, REDLATCH_UNREACHABLE}, {"", REDLATCH_UNREACHABLE}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin_with("redis+replicas", "", "?address_map=announced.test=127.0.0.1");
        snprintf(follows, sizeof follows, "master_host:announced.test\r\nmaster_port:%d\r\n", master.port);
        CHECK_EQ_INT(verified(&servers[0], replicating("slave", follows, HISTORY)), REDLATCH_AGAIN);
        CHECK_EQ_INT(verified(&servers[1], NULL), REDLATCH_AGAIN);
        CHECK_EQ_INT(verified(&servers[2], REPLICA), REDLATCH_AGAIN);
        CHECK_STR(search.discovery.target.host, "127.0.0.1");
        CHECK_EQ_INT(verified(&master, replicating("master", "", rows[i].replies)), rows[i].status);
        CHECK(rows[i].status != REDLATCH_OK || search.discovery.target.port == master.port);
        end();
    }
}

/* A host name may have several addresses. */
static void further_addresses_are_tried(void) {
    begin();
    struct uri nobody = {.host = (char[]){"127.0.0.1"}, .port = servers[2].port};
    struct addresses *addresses = &search.connection.addresses;
    fake_close(&servers[2]);
    CHECK(resolve_at_once(&nobody, addresses));
    struct addresses right;
    CHECK(resolve_at_once(&search.where, &right));
    addresses->list[1] = right.list[0];
    addresses->count = 2;
    CHECK_EQ_INT(replied(&servers[0], GREETED, "*-1\r\n"), REDLATCH_AGAIN);
    CHECK_EQ_INT(search.discovery.tried, 1);
    CHECK(strstr(search.discovery.why, "unknown to the sentinel"));
    fake_open_tcp(&servers[2]);
    end();
}

/* A forked child forgets a search: only the descriptor is closed. */
static void a_search_is_forgotten(void) {
    begin();
    CHECK_EQ_INT(search_step(&search, START), REDLATCH_AGAIN);
    short events = 0;
    CHECK(search_descriptor(&search, &events) >= 0 && events != 0);
    search_forget(&search);
    CHECK_EQ_INT(search_descriptor(&search, &events), -1);
    CHECK(search_is_running(&search));
    CHECK_EQ_INT(search_next_time(&search, START), START + 10 * MILLISECOND); /* there is nothing to poll */
    end();
}

/* ------------------------------------------------------------------------------------------------- of a cluster -- */

#define NO_SLOTS ": the peer tells no slots: expected a node of a cluster"

static void begin_cluster(void) {
    begin_with("redis+cluster", "", "");
}

/* A node that replies that the master has all slots, with nil for the master's host. */
static int knows_slots(struct fake_server *node, const char *greeting) {
    char reply[200];
    snprintf(reply, sizeof reply, "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$-1\r\n:%d\r\n$2\r\nid\r\n", master.port);
    return replied(node, greeting, reply);
}

static void a_topology_is_found(void) {
    begin_with("redis+cluster", "me:secret@", "");
    CHECK_EQ_INT(knows_slots(&servers[0], "+OK\r\n" GREETED), REDLATCH_OK);
    CHECK_EQ_INT(search.discovery.step, DISCOVERY_FOUND);
    CHECK(search_next_time(&search, START) == NEVER);
    CHECK_EQ_INT(search.connection.fd, -1);
    CHECK_EQ_INT(topology.count, 1);
    CHECK_EQ_INT(topology.master_of[SLOT_COUNT - 1], 0);
    CHECK_STR(topology.masters[0].host, "127.0.0.1"); /* the host of the node that replied */
    CHECK_EQ_INT(topology.masters[0].port, master.port);
    check_received(&servers[0], "AUTH me secret"); /* not a sentinel's credentials */
    check_received(&servers[0], "CLIENT SETNAME redlatch:unit");
    check_received(&servers[0], "INFO server"); /* no SELECT, no role */
    check_received(&servers[0], "CLUSTER SLOTS");
    CHECK(!fake_hear(&servers[0], (char[10]){""}, 10)); /* the search closed it */
    search_begin(&search, START);                       /* begins with the node that replied */
    CHECK_EQ_INT(search.discovery.target.port, servers[0].port);
    end();
}

/* The nodes of the URL may not exist for ever. */
static void masters_are_sources_of_the_next_search(void) {
    begin_cluster();
    CHECK_EQ_INT(knows_slots(&servers[0], GREETED), REDLATCH_OK);
    CHECK_EQ_INT(search.discovery.sources.count, SERVERS + 1);
    search_begin(&search, START);
    for (int i = 0; i < SERVERS; i++) {
        CHECK_EQ_INT(verified(&servers[i], NULL), REDLATCH_AGAIN);
    }
    CHECK_EQ_INT(knows_slots(&master, GREETED), REDLATCH_OK);
    end();
}

static void a_topology_may_come_in_pieces(void) {
    begin_cluster();
    const char *pieces[] = {"*1\r\n*3\r\n:0\r\n:1", "6383\r\n*4\r\n$4\r\nho",
                            "st\r\n:7001\r\n$2\r\nid\r\n*2\r\n$2\r\nip\r", "\n$7\r\n1.2.3.4\r", "\n"};
    greeted(&servers[0], GREETED, START);
    int status = REDLATCH_AGAIN;
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        CHECK_EQ_INT(search.discovery.step, DISCOVERY_ASK);
        fake_say(&servers[0], pieces[i]);
        for (int turn = 0; turn < 3; turn++) {
            status = step_soon(START);
        }
    }
    CHECK_EQ_INT(status, REDLATCH_OK);
    CHECK_STR(topology.masters[topology.master_of[0]].host, "host");
    end();
}

/* The longest topology: each slot is a range of its own. No reply of a sentinel is that long. */
static void a_topology_may_be_long(void) {
    char range[200];
    char node[] = "*3\r\n$4\r\nhost\r\n:7001\r\n$40\r\n0123456789012345678901234567890123456789\r\n";
    begin_cluster();
    greeted(&servers[0], GREETED, START);
    fake_say(&servers[0], "*16384\r\n");
    for (int slot = 0; slot < SLOT_COUNT; slot++) {
        snprintf(range, sizeof range, "*4\r\n:%d\r\n:%d\r\n%s%s", slot, slot, node, node);
        fake_say(&servers[0], range);
        if (slot % 10 == 0) { /* before the socket is full */
            CHECK_EQ_INT(search_step(&search, START), REDLATCH_AGAIN);
        }
    }
    CHECK_EQ_INT(step_on(START), REDLATCH_OK);
    CHECK_EQ_INT(topology.count, 1);
    CHECK_EQ_INT(topology.master_of[SLOT_COUNT - 1], 0);
    end();
}

static void a_node_that_tells_no_slots_is_reported(void) {
    static const struct {
        const char *reply;
        int status;
        const char *why;
    } rows[] = {
        {"-ERR This instance has cluster support disabled\r\n", REDLATCH_SERVER, ": ERR This instance has cluster"},
        {"-NOAUTH Authentication\trequired.\r\n", REDLATCH_AUTHENTICATION, ": NOAUTH Authentication.required."},
        {"-NOPERM this user\r\n", REDLATCH_NO_PERMISSION, ": NOPERM this user"},
        {"-ERR unknown command 'CLUSTER'\r\n", REDLATCH_NO_PERMISSION, ": ERR unknown command"},
        {"*0\r\n", REDLATCH_PROTOCOL, NO_SLOTS}, /* it has joined no cluster */
        {"*-1\r\n", REDLATCH_PROTOCOL, NO_SLOTS},
        {"$-1\r\n", REDLATCH_PROTOCOL, NO_SLOTS},
        {":1\r\n", REDLATCH_PROTOCOL, NO_SLOTS},
        {"+OK\r\n", REDLATCH_PROTOCOL, NO_SLOTS},
        {"*1\r\n*0\r\n", REDLATCH_PROTOCOL, NO_SLOTS},
        {"*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\nh\r\n:1\r\n", REDLATCH_PROTOCOL, NO_SLOTS},
        {"*16385\r\n", REDLATCH_PROTOCOL, NO_SLOTS},
        {"?\r\n", REDLATCH_PROTOCOL, NO_SLOTS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin_cluster();
        CHECK_EQ_INT(knows_slots(&servers[0], GREETED), REDLATCH_OK);
        search_begin(&search, START);
        search.discovery.sources.count = SERVERS;
        CHECK_EQ_INT(replied(&servers[0], GREETED, rows[i].reply), REDLATCH_AGAIN);
        end_in_failure(1, rows[i].status, rows[i].why);
        CHECK_EQ_INT(topology.count, 1); /* what was known stays */
        CHECK_EQ_INT(topology.masters[0].port, master.port);
        end();
    }
}

static void silent_nodes_are_given_up(void) {
    const int64_t first = START + TIMEOUT / 4;
    const int64_t last = START + TIMEOUT;
    begin_cluster();
    greeted(&servers[0], GREETED, START);
    CHECK_EQ_INT(search_next_time(&search, START), first);
    CHECK_EQ_INT(search_step(&search, first - 1), REDLATCH_AGAIN);
    CHECK_EQ_INT(search.discovery.tried, 0);
    CHECK_EQ_INT(search_step(&search, first), REDLATCH_AGAIN);
    CHECK_EQ_INT(search.discovery.tried, 1);
    CHECK(strstr(search.discovery.why, ": no reply before the connect timeout"));
    connected(&servers[1], last - 1);
    CHECK_EQ_INT(search_step(&search, last), REDLATCH_UNREACHABLE);
    CHECK_STR(search.discovery.why, "no node of the cluster was found before the connect timeout");
    end();
}

int main(void) {
    RUN(a_master_is_found);
    RUN(sentinels_have_credentials_of_their_own);
    RUN(replies_may_come_in_pieces);
    RUN(other_sentinels_are_learned);
    RUN(what_is_refused_is_reported);
    RUN(an_endless_error_is_not_shown);
    RUN(a_sentinel_that_is_gone_is_passed_over);
    RUN(a_silent_sentinel_is_given_up);
    RUN(the_search_is_given_up);
    RUN(candidates_are_verified);
    RUN(servers_are_candidates_themselves);
    RUN(the_master_of_a_replica_is_a_candidate);
    RUN(further_addresses_are_tried);
    RUN(a_search_is_forgotten);
    RUN(a_topology_is_found);
    RUN(masters_are_sources_of_the_next_search);
    RUN(a_topology_may_come_in_pieces);
    RUN(a_topology_may_be_long);
    RUN(a_node_that_tells_no_slots_is_reported);
    RUN(silent_nodes_are_given_up);
    return unit_done();
}
