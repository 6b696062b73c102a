/* The addresses for connections: a search that all pipelines share, what follows if it fails or finds another master,
 * and addresses that are taken from another pipeline.
 * SPDX-License-Identifier: Apache-2.0 */
#include "find_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdatomic.h>

#include "client_lock.h"
#include "fake_server.h"
#include "handles.h"
#include "pipeline_io.h"
#include "unit.h"

/* The linker redirects the core's calls of system_poll and system_now to these functions. */
int __real_system_poll(struct pollfd *fds, size_t count, int64_t until);
int __wrap_system_poll(struct pollfd *fds, size_t count, int64_t until);
int64_t __real_system_now(void);
int64_t __wrap_system_now(void);

static const int64_t START = 1000 * SECOND;
static _Atomic int polls;
static const struct search *watched; /* no poll may last beyond the deadline of this search; NULL: not checked */

/* The time, if it is not 0. It goes on by a microsecond with each query, and a poll lasts to its end. */
static _Atomic int64_t set_time;

int64_t __wrap_system_now(void) {
    return atomic_load(&set_time) ? atomic_fetch_add(&set_time, 1) : __real_system_now();
}

int __wrap_system_poll(struct pollfd *fds, size_t count, int64_t until) {
    if (atomic_load(&set_time)) {
        atomic_store(&set_time, until);
        return 0;
    }
    atomic_fetch_add(&polls, 1);
    CHECK(!watched || until <= watched->deadline);
    return __real_system_poll(fds, count, until);
}

/* The sentinel, and the masters that it may announce. */
static struct fake_server sentinel;
static struct fake_server masters[2];
static _Atomic int announced;     /* the index of the announced master; -1: the service is unknown, -2: no reply */
static _Atomic int requested;     /* how often the sentinel was asked for the master */
static const char *_Atomic role;  /* the masters' reply to INFO replication */
static _Atomic bool old_received; /* a master has received AUTH with the old password, */
static _Atomic bool old_refused;  /* which it refuses when this is set */
static redlatch_client *handle;
static struct client *client;

static const char *answer_of_sentinel(void *context, int connection, const char *command) {
    static _Thread_local char reply[100];
    (void)context;
    if (strncmp(command, "SENTINEL get-master-addr-by-name ", 33) == 0) {
        int which = atomic_load(&announced);
        atomic_fetch_add(&requested, 1);
        if (which < 0) {
            return which == -1 ? "*-1\r\n" : "";
        }
        char number[8];
        int size = snprintf(number, sizeof number, "%d", masters[which].port);
        snprintf(reply, sizeof reply, "*2\r\n$9\r\n127.0.0.1\r\n$%d\r\n%s\r\n", size, number);
        return reply;
    }
    if (strncmp(command, "SENTINEL sentinels ", 19) == 0) {
        return atomic_load(&announced) == -2 ? "" : "*0\r\n";
    }
    return fake_greeting(connection, command);
}

static const char *answer_of_master(void *context, int connection, const char *command) {
    (void)context;
    if (strcmp(command, "AUTH old") == 0) {
        atomic_store(&old_received, true);
        while (!atomic_load(&old_refused)) {
            poll(NULL, 0, 1);
        }
        return "-WRONGPASS invalid username-password pair or user is disabled.\r\n";
    }
    return strcmp(command, "INFO replication") == 0 ? role : fake_greeting(connection, command);
}

/* As a node of a cluster that serves all slots. It is silent while -2 is announced. */
static const char *answer_of_node(void *context, int connection, const char *command) {
    static _Thread_local char reply[100];
    (void)context;
    if (strcmp(command, "CLUSTER SLOTS") != 0) {
        return fake_greeting(connection, command);
    }
    snprintf(reply, sizeof reply, "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:%d\r\n", sentinel.port);
    return atomic_load(&announced) == -2 ? "" : reply;
}

static void open_client(const char *url) {
    redlatch_client_options options;
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    options.lazy = 1;
    options.connect_timeout_ms = 20000;
    CHECK_EQ_INT(redlatch_client_open(url, &options, &handle), REDLATCH_OK);
    client = handle->client;
    client_lock(client);
}

static void close_client(void) {
    atomic_store(&client->stopping, false);
    client_unlock(client);
    redlatch_client_free(handle);
}

static void begin(int which) {
    char url[100];
    atomic_store(&announced, which);
    atomic_store(&requested, 0);
    atomic_store(&polls, 0);
    role = "$26\r\n# Replication\r\nrole:master\r\n";
    for (int i = 0; i < 2; i++) {
        fake_open_tcp(&masters[i]);
        fake_serve(&masters[i], answer_of_master, NULL);
    }
    fake_open_tcp(&sentinel);
    fake_serve(&sentinel, answer_of_sentinel, NULL);
    snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d/orders", sentinel.port);
    open_client(url);
}

static void end(void) {
    close_client();
    fake_close(&sentinel);
    fake_close(&masters[0]);
    fake_close(&masters[1]);
}

static int lookup(int pipeline, int64_t time) {
    return io_lookup(&client->node.ios[pipeline], system_now() + time);
}

static void check_leads_to(int pipeline, int which) {
    const struct addresses *addresses = &client->node.ios[pipeline].connection.addresses;
    const struct sockaddr_in *address = (const struct sockaddr_in *)(const void *)&addresses->list[0].storage;
    CHECK_EQ_INT(addresses->count, 1);
    CHECK_EQ_INT(ntohs(address->sin_port), masters[which].port);
}

static void one_search_serves_all(void) {
    begin(0);
    CHECK_EQ_INT(lookup(0, 10 * SECOND), REDLATCH_OK);
    check_leads_to(0, 0);
    CHECK_EQ_INT(client->node.current.endpoint.port, masters[0].port);
    CHECK_EQ_INT(lookup(1, 10 * SECOND), REDLATCH_OK);
    check_leads_to(1, 0);
    client->node.ios[1].connection.addresses.list[0].size = 1;
    CHECK_EQ_INT(lookup(1, 10 * SECOND), REDLATCH_OK); /* this pipeline has addresses */
    CHECK_EQ_INT(client->node.ios[1].connection.addresses.list[0].size, 1);
    CHECK_EQ_INT(atomic_load(&requested), 1);
    end();
}

/* Pipelines for which the addresses were of no use need another search. One search serves them all. */
static void a_search_is_repeated_for_who_needs_it(void) {
    begin(0);
    CHECK_EQ_INT(lookup(0, 10 * SECOND), REDLATCH_OK);
    for (int i = 1; i <= 2; i++) {
        client->node.ios[i].must_lookup = true;
    }
    CHECK_EQ_INT(lookup(1, 10 * SECOND), REDLATCH_OK);
    CHECK_EQ_INT(atomic_load(&requested), 2);
    check_leads_to(1, 0);
    for (int i = 0; i <= 2; i++) {
        CHECK(!client->node.ios[i].must_lookup);
        CHECK_EQ_INT(client->node.ios[i].searched, i > 0);
    }
    CHECK_EQ_INT(lookup(2, 10 * SECOND), REDLATCH_OK);
    CHECK_EQ_INT(atomic_load(&requested), 2);
    check_leads_to(0, 0); /* the same master: nothing moved */
    client->node.ios[3].must_lookup = true;
    CHECK_EQ_INT(lookup(3, 10 * SECOND), REDLATCH_OK);
    CHECK_EQ_INT(atomic_load(&requested), 3);
    CHECK(client->node.ios[1].searched); /* the addresses of the search before are still to be tried */
    end();
}

static void another_master_moves_all(void) {
    begin(0);
    CHECK_EQ_INT(lookup(0, 10 * SECOND), REDLATCH_OK);
    CHECK_EQ_INT(lookup(1, 10 * SECOND), REDLATCH_OK);
    client->node.subscriber.connection.addresses.count = 1;
    atomic_store(&announced, 1);
    client->node.ios[1].must_lookup = true;
    client->node.ios[1].connection.addresses.count = 0;
    CHECK_EQ_INT(lookup(1, 10 * SECOND), REDLATCH_OK);
    check_leads_to(1, 1);
    CHECK_EQ_INT(client->node.ios[0].connection.addresses.count, 0);
    CHECK_EQ_INT(client->node.subscriber.connection.addresses.count, 0);
    CHECK_EQ_INT(lookup(0, 10 * SECOND), REDLATCH_OK);
    check_leads_to(0, 1);
    CHECK_EQ_INT(atomic_load(&requested), 2);
    end();
}

/* Nothing is searched before it is time to connect again, nor for a connection that is open or opening. */
static void there_may_be_nothing_to_find(void) {
    begin(0);
    struct connection *connection = &client->node.ios[0].connection;
    connection->retry_at = system_now() + 100 * SECOND;
    CHECK_EQ_INT(lookup(0, 10 * SECOND), REDLATCH_OK);
    CHECK_EQ_INT(connection->addresses.count, 0);
    connection->retry_at = 0;
    connection->state = CONNECTION_OPENING;
    CHECK_EQ_INT(lookup(0, 10 * SECOND), REDLATCH_OK);
    CHECK_EQ_INT(connection->addresses.count, 0);
    connection->state = CONNECTION_CLOSED;
    CHECK_EQ_INT(atomic_load(&requested), 0);
    end();
}

static void a_caller_waits_as_long_as_it_likes(void) {
    begin(-2);
    int64_t start = system_now();
    CHECK_EQ_INT(lookup(0, 0), REDLATCH_AGAIN);
    CHECK_EQ_INT(lookup(0, 50 * MILLISECOND), REDLATCH_AGAIN);
    CHECK(system_now() - start >= 50 * MILLISECOND);
    CHECK(search_is_running(client->node.current.search)); /* for the next caller */
    atomic_store(&polls, 0);                               /* from now on the sentinel sends nothing */
    CHECK_EQ_INT(lookup(0, 300 * MILLISECOND), REDLATCH_AGAIN);
    CHECK(atomic_load(&polls) >= 2 && atomic_load(&polls) <= 17); /* one for each 20 ms, and the last */
    CHECK(pthread_mutex_trylock(&client->mutex) != 0);            /* the caller has the mutex again */
    atomic_store(&client->stopping, true);
    CHECK_EQ_INT(lookup(0, 1000 * SECOND), REDLATCH_AGAIN);
    CHECK(system_now() - start < 20 * SECOND);
    end();
}

/* A thread does not wait beyond the connect timeout of the sentinel. */
static void a_wait_ends_with_the_time_of_the_target(void) {
    begin(-2);
    client->node.current.search->sentinel.connect_timeout = 50 * MILLISECOND;
    watched = client->node.current.search;
    CHECK_EQ_INT(lookup(0, 10 * SECOND), REDLATCH_UNREACHABLE);
    CHECK(strstr(client->node.ios[0].connection.detail, "no reply before the connect timeout"));
    watched = NULL;
    end();
}

static void *find_meanwhile(void *unused) {
    struct search *search = client->node.current.search;
    while (atomic_load(&polls) == 0) { /* until the other thread waits */
        poll(NULL, 0, 1);
    }
    client_lock(client);
    search_close(search);
    CHECK(endpoint_set(&search->discovery.target, "127.0.0.1", 9, masters[1].port));
    search->found = client->node.ios[1].connection.addresses;
    current_server_found(client, system_now());
    client_unlock(client);
    return unused;
}

/* Another thread may step the search and find the master. The thread that waits notices it soon. */
static void what_others_find_is_seen(void) {
    begin(-2);
    pthread_t other;
    struct uri uri = {.host = (char[]){"127.0.0.1"}, .port = masters[1].port};
    CHECK(resolve_at_once(&uri, &client->node.ios[1].connection.addresses));
    CHECK(pthread_create(&other, NULL, find_meanwhile, NULL) == 0);
    int64_t start = system_now();
    CHECK_EQ_INT(lookup(0, 100 * SECOND), REDLATCH_OK);
    CHECK(system_now() - start < 4 * SECOND); /* the search itself would have taken 5 s */
    check_leads_to(0, 1);
    pthread_join(other, NULL);
    end();
}

static void replicas_are_not_found(void) {
    begin(0);
    role = "$25\r\n# Replication\r\nrole:slave\r\n";
    CHECK_EQ_INT(lookup(0, 10 * SECOND), REDLATCH_UNREACHABLE);
    CHECK(strstr(client->node.ios[0].connection.detail, "is a replica: expected the master"));
    end();
}

static void a_client_is_freed_while_it_searches(void) {
    begin(-2);
    current_server_request_search(client, START);
    server_search_step(client, START);
    end();
}

/* For a moment a failure counts for all pipelines. Then there is another search. */
static void a_failure_is_shared(void) {
    begin(-1);
    CHECK_EQ_INT(lookup(0, 10 * SECOND), REDLATCH_INVALID);
    CHECK(strstr(client->node.ios[0].connection.detail, "service \"orders\": unknown to the sentinel"));
    CHECK(client->node.ios[0].must_lookup && !client->node.ios[0].searched);
    CHECK(client->node.ios[0].connection.retry_at > 0);
    client->node.current.search_from = system_now() + 100 * SECOND; /* prolongs the moment */
    CHECK_EQ_INT(lookup(1, 10 * SECOND), REDLATCH_INVALID);
    CHECK(strstr(client->node.ios[1].connection.detail, "service \"orders\": unknown to the sentinel"));
    CHECK_EQ_INT(atomic_load(&requested), 1);
    client->node.current.search_from = system_now();
    atomic_store(&announced, 0);
    CHECK_EQ_INT(lookup(2, 10 * SECOND), REDLATCH_OK);
    CHECK_EQ_INT(atomic_load(&requested), 2);
    end();
}

static void set_password(const char *password) {
    client_unlock(client);
    CHECK_EQ_INT(redlatch_client_set_credentials(handle, NULL, password), REDLATCH_OK);
    client_lock(client);
}

/* The password changes while the master judges the old one: the new one does not count as refused. */
static void a_search_sends_the_credentials_of_now(void) {
    begin(0);
    set_password("old");
    int64_t until = system_now() + 10 * SECOND;
    while (!atomic_load(&old_received) && system_now() < until) {
        CHECK_EQ_INT(lookup(0, 0), REDLATCH_AGAIN);
        poll(NULL, 0, 1);
    }
    set_password("new");
    atomic_store(&old_refused, true);
    CHECK_EQ_INT(lookup(0, 10 * SECOND), REDLATCH_OK);
    check_leads_to(0, 0);
    CHECK_EQ_INT(client->refused.version, 0);
    end();
}

/* Steps the search as the background thread does, with the same time for each step, until the search has ended. */
static void search_to_its_end(int64_t now) {
    int64_t until = system_now() + 10 * SECOND;
    server_search_step(client, now); /* may be enough, if the replies come as quickly as they are read */
    while (search_is_running(client->node.current.search) && system_now() < until) {
        struct pollfd socket = {.events = 0};
        socket.fd = server_search_descriptor(client, &socket.events);
        CHECK(socket.fd >= 0 && socket.events != 0);
        CHECK(server_search_next_time(client, now) > now);
        poll(&socket, 1, 20);
        server_search_step(client, now);
    }
    CHECK(!search_is_running(client->node.current.search));
}

static void check_idle(int64_t now) {
    short events = 1;
    server_search_step(client, now);
    CHECK(server_search_next_time(client, now) == NEVER);
    CHECK_EQ_INT(server_search_descriptor(client, &events), -1);
}

/* If a search is in progress, its socket is to be polled. */
static void a_search_under_way_is_polled_for(void) {
    begin(-2);
    current_server_request_search(client, START);
    server_search_step(client, START);
    short events = 0;
    CHECK(server_search_descriptor(client, &events) >= 0 && events != 0);
    CHECK_EQ_INT(server_search_next_time(client, START), START + 5 * SECOND); /* a quarter of the connect timeout */
    client->node.current.must_search = false; /* a search for callers goes on without a request, too */
    server_search_step(client, START + 5 * SECOND);
    CHECK(!search_is_running(client->node.current.search));
    end();
}

static void the_background_thread_searches_on_request(void) {
    begin(0);
    check_idle(START);
    current_server_request_search(client, START);
    CHECK_EQ_INT(server_search_next_time(client, START), 0);
    search_to_its_end(START);
    CHECK_EQ_INT(client->node.current.endpoint.port, masters[0].port);
    CHECK(!client->node.current.must_search);
    check_idle(START);
    CHECK_EQ_INT(atomic_load(&requested), 1);
    end();
}

static void a_search_on_request_is_repeated_for_a_while(void) {
    begin(-1);
    current_server_request_search(client, START);
    search_to_its_end(START);
    CHECK(client->node.current.must_search);
    CHECK_EQ_INT(server_search_next_time(client, START), START + 50 * MILLISECOND);
    search_to_its_end(START + 50 * MILLISECOND - 1); /* no search begins */
    CHECK_EQ_INT(atomic_load(&requested), 1);
    search_to_its_end(START + 50 * MILLISECOND);
    CHECK_EQ_INT(atomic_load(&requested), 2);
    search_to_its_end(START + 30 * SECOND - 1);
    CHECK(client->node.current.must_search);
    search_to_its_end(START + 31 * SECOND); /* the last search */
    check_idle(START + 40 * SECOND);
    CHECK_EQ_INT(atomic_load(&requested), 4);
    end();
}

static void begin_failing(int64_t now) {
    begin(-1);
    current_server_request_search(client, now);
    search_to_its_end(now);
}

/* A client that waits requests a search every 5 s, so that its searches do not end while they fail. */
static void searches_become_rare_while_they_fail(void) {
    begin_failing(START);
    search_to_its_end(START + 5 * SECOND - 1);
    CHECK_EQ_INT(server_search_next_time(client, START), START + 5 * SECOND - 1 + 50 * MILLISECOND);
    int64_t now = START + 5 * SECOND;
    while (now < START + 20 * SECOND && atomic_load(&requested) < 25) {
        if (now % (5 * SECOND) == 0) {
            current_server_request_search(client, now); /* is followed at once */
        }
        search_to_its_end(now);
        int64_t next = server_search_next_time(client, now);
        int64_t request = now - now % (5 * SECOND) + 5 * SECOND;
        now = next < request ? next : request;
    }
    CHECK_EQ_INT(now, START + 20 * SECOND);
    CHECK_EQ_INT(atomic_load(&requested), 2 + 15);
    end();
}

/* A caller has its own pauses, and what the search found is the end of the failures. */
static void others_search_while_the_background_thread_pauses(void) {
    begin_failing(system_now() - 10 * SECOND);
    search_to_its_end(system_now());
    CHECK(server_search_next_time(client, 0) > system_now() + 100 * MILLISECOND);
    client->node.current.search_from = system_now();
    atomic_store(&announced, 0);
    CHECK_EQ_INT(lookup(0, 10 * SECOND), REDLATCH_OK);
    CHECK_EQ_INT(atomic_load(&requested), 3);
    atomic_store(&announced, -1);
    current_server_request_search(client, START);
    search_to_its_end(START);
    CHECK_EQ_INT(server_search_next_time(client, START), START + 50 * MILLISECOND);
    end();
}

/* The connections to a node of a cluster wait for the client's search. */
static void a_node_waits_for_the_search(void) {
    char url[100];
    atomic_store(&announced, 0);
    fake_open_tcp(&sentinel);
    fake_serve(&sentinel, answer_of_node, NULL);
    snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d", sentinel.port);
    open_client(url);
    CHECK_EQ_INT(lookup(0, 10 * SECOND), REDLATCH_OK);
    struct pipeline_io *io = &client->node.next->ios[PIPELINE_CALLERS];
    CHECK_EQ_INT(io_next_time(io), NEVER); /* it has nothing to do */
    io->wanted = true;
    CHECK_EQ_INT(io_next_time(io), 0);
    io->must_lookup = true;
    atomic_store(&announced, -2);
    CHECK_EQ_INT(io_lookup(io, 0), REDLATCH_AGAIN);
    CHECK(io_next_time(io) > system_now());
    io->connection.retry_at = system_now() + 1000 * SECOND; /* until then it does not wait for the search */
    CHECK_EQ_INT(io_next_time(io), io->connection.retry_at);
    io->connection.retry_at = 0;
    io->must_lookup = false; /* the addresses of the node are known without the search */
    CHECK_EQ_INT(io_next_time(io), 0);
    close_client();
    fake_close(&sentinel);
}

/* If the URL names the server itself, a pipeline looks up the host, or takes the addresses of a connected pipeline. */
static void addresses_are_borrowed(void) {
    open_client("redis://localhost:6379");
    check_idle(START);
    struct connection *connection = &client->node.ios[1].connection;
    struct connection *other = &client->node.ios[3].connection;
    other->addresses.count = 7;
    CHECK_EQ_INT(lookup(1, 20 * SECOND), REDLATCH_OK); /* a lookup: the other pipeline is not connected */
    CHECK(connection->addresses.count > 0 && connection->addresses.count < 7);
    connection->addresses.count = 1;
    other->state = CONNECTION_READY;
    other->address = 2;
    CHECK_EQ_INT(lookup(1, 20 * SECOND), REDLATCH_OK);
    CHECK_EQ_INT(connection->addresses.count, 1); /* nothing is taken: the pipeline has an address */
    connection->addresses.count = 0;
    CHECK_EQ_INT(lookup(1, 20 * SECOND), REDLATCH_OK);
    CHECK_EQ_INT(connection->addresses.count, 7);
    CHECK_EQ_INT(connection->address, 2);                    /* that one works */
    client->node.ios[0].connection.state = CONNECTION_READY; /* the first that is connected */
    client->node.ios[0].connection.addresses.count = 6;
    connection->addresses.count = 0;
    CHECK_EQ_INT(lookup(1, 20 * SECOND), REDLATCH_OK);
    CHECK_EQ_INT(connection->addresses.count, 6);
    client->node.ios[0].connection.state = CONNECTION_CLOSED;
    connection_forget_addresses(connection);
    client->node.ios[1].must_lookup = true; /* the addresses were of no use */
    CHECK_EQ_INT(lookup(1, 20 * SECOND), REDLATCH_OK);
    CHECK(connection->addresses.count > 0 && connection->addresses.count < 7);
    other->state = CONNECTION_CLOSED;
    close_client();
}

/* The search begins a little later than the call, and so its time ends a little later, too. */
static void an_open_ends_with_its_search(void) {
    static struct fake_server silent[4];
    for (int i = 0; i < 4; i++) {
        fake_open_tcp(&silent[i]);
    }
    char url[100];
    snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d", silent[0].port,
             silent[1].port, silent[2].port, silent[3].port);
    atomic_store(&set_time, START);
    CHECK_EQ_INT(redlatch_client_open(url, NULL, &handle), REDLATCH_NO_REPLY);
    atomic_store(&set_time, 0);
    CHECK(strstr(redlatch_last_error(), ": connected, but no reply before the connect timeout"));
    for (int i = 0; i < 4; i++) {
        fake_close(&silent[i]);
    }
}

int main(void) {
    RUN(an_open_ends_with_its_search);
    RUN(one_search_serves_all);
    RUN(a_search_is_repeated_for_who_needs_it);
    RUN(another_master_moves_all);
    RUN(there_may_be_nothing_to_find);
    RUN(a_caller_waits_as_long_as_it_likes);
    RUN(a_wait_ends_with_the_time_of_the_target);
    RUN(what_others_find_is_seen);
    RUN(replicas_are_not_found);
    RUN(a_client_is_freed_while_it_searches);
    RUN(a_failure_is_shared);
    RUN(a_search_sends_the_credentials_of_now);
    RUN(a_search_under_way_is_polled_for);
    RUN(the_background_thread_searches_on_request);
    RUN(a_search_on_request_is_repeated_for_a_while);
    RUN(searches_become_rare_while_they_fail);
    RUN(others_search_while_the_background_thread_pauses);
    RUN(a_node_waits_for_the_search);
    RUN(addresses_are_borrowed);
    return unit_done();
}
