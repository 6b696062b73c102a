/* Opens clients of sentinels and of TLS, lets clients search, and makes them anew after a fork, again and again. In the
 * n-th run the n-th allocation fails, until a run has no failure. The status must say so, and nothing may leak; after a
 * fork, no descriptor.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client_lock.h"
#include "failing_allocation.h"
#include "fake_server.h"
#include "find_server.h"
#include "handles.h"
#include "reopen.h"
#include "unit.h"

enum { RUNS_MAX = 500, DESCRIPTORS_MAX = 256 };

static int open_descriptors(void) {
    int count = 0;
    for (int fd = 0; fd < DESCRIPTORS_MAX; fd++) {
        count += fcntl(fd, F_GETFD) != -1;
    }
    return count;
}

static int open_client(const char *url, redlatch_client **handle_out) {
    redlatch_client_options options;
    *handle_out = NULL;
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    options.lazy = 1;
    options.sentinel_username = strstr(url, "sentinel") ? "other" : NULL;
    options.tls_min_version = strstr(url, "rediss") ? "1.3" : NULL;
    return redlatch_client_open(url, &options, handle_out);
}

/* Opens a client with the n-th allocation failing. The status must be NO_MEMORY if one failed, else `usual`. Returns
 * whether one failed. */
static bool open_with_failure(const char *url, int usual, int n) {
    redlatch_client *handle;
    int descriptors = open_descriptors();
    failing_arm(n);
    int status = open_client(url, &handle);
    bool failed = failing_disarm();
    CHECK_EQ_INT(status, failed ? REDLATCH_NO_MEMORY : usual);
    CHECK_EQ_INT(handle != NULL, status == REDLATCH_OK);
    redlatch_client_free(handle);
    CHECK_EQ_INT(open_descriptors(), descriptors);
    return failed;
}

/* Searches for the master with the n-th allocation failing. Nobody listens at the ports. Returns whether one failed. */
static bool search_with_failure(const char *url, int n) {
    redlatch_client *handle;
    CHECK_EQ_INT(open_client(url, &handle), REDLATCH_OK);
    client_lock(handle->client);
    failing_arm(n);
    int status = io_lookup(&handle->client->node.ios[0], system_now() + 20 * SECOND);
    bool failed = failing_disarm();
    CHECK(status == REDLATCH_UNREACHABLE || (failed && status == REDLATCH_NO_MEMORY));
    CHECK(handle->client->node.ios[0].connection.detail[0] != '\0');
    client_unlock(handle->client);
    redlatch_client_free(handle);
    return failed;
}

static int runs_until_all_is_well(const char *url, int usual) {
    int n = 1;
    while (n < RUNS_MAX && open_with_failure(url, usual, n)) {
        n++;
    }
    CHECK(n < RUNS_MAX);
    for (int i = 1; usual == REDLATCH_OK && i < RUNS_MAX && search_with_failure(url, i); i++) {
    }
    return n;
}

static void clients_of_sentinels(void) {
    CHECK(runs_until_all_is_well("redis+sentinel://u:p@127.0.0.1:1,127.0.0.1:2/orders/3?sentinel_password=sp"
                                 "&sentinel_username=su&name_prefix=x&label=x",
                                 REDLATCH_OK) > 15);
}

static void clients_over_tls(void) {
    static const char url[] = "rediss+sentinel://127.0.0.1:1/orders?tls_verify=none&tls_server_name=here";
    redlatch_client *handle;
    int usual = open_client(url, &handle); /* UNSUPPORTED in a build without TLS */
    CHECK(usual == REDLATCH_OK || usual == REDLATCH_UNSUPPORTED);
    redlatch_client_free(handle);
    CHECK(runs_until_all_is_well(url, usual) > 10);
}

/* In the child of a fork, whose parent holds a lock. A client that could not be made anew is made by the next call. */
static void make_anew_with_failures(struct redlatch_lock *lock) {
    struct client *client = lock->client;
    client->unread_until = NEVER; /* of the parent, as the count below */
    client->host_watch.reconnects = 7;
    int failures = 0;
    for (bool failed = true; failed && failures < RUNS_MAX; failures += failed) {
        int descriptors = open_descriptors();
        struct hold *hold = calloc(1, sizeof *hold);
        *hold = (struct hold){.resource = lock->resource, .lock_kind = REDLATCH_MUTEX, .owner = 1};
        lock->resource->holds = hold;
        failing_arm(failures + 1);
        int status = client_reopen(client);
        failed = failing_disarm();
        CHECK_EQ_INT(status, failed ? REDLATCH_NO_MEMORY : REDLATCH_OK);
        CHECK(!failed || open_descriptors() <= descriptors);
    }
    CHECK(failures > 0 && failures < RUNS_MAX);
    CHECK_EQ_INT(client->unread_until, 0);
    CHECK_EQ_INT(client->host_watch.reconnects, 0);
}

static void clients_after_a_fork(void) {
    static const char *const urls[] = {"redis://127.0.0.1:1", "redis+sentinel://127.0.0.1:1/orders",
                                       "redis+cluster://127.0.0.1:1"};
    for (size_t i = 0; i < sizeof urls / sizeof urls[0]; i++) {
        redlatch_client *handle;
        redlatch_lock *lock;
        CHECK_EQ_INT(open_client(urls[i], &handle), REDLATCH_OK);
        CHECK_EQ_INT(redlatch_lock_new(handle, REDLATCH_MUTEX, "x", 1, NULL, &lock), REDLATCH_OK);
        pid_t child = fork();
        if (child == 0) {
            make_anew_with_failures(lock);
            _exit(atomic_load(&unit_failed_checks) != 0);
        }
        int how = -1;
        CHECK(child > 0 && waitpid(child, &how, 0) == child);
        CHECK_EQ_INT(how, 0);
        redlatch_lock_free(lock);
        redlatch_client_free(handle);
    }
}

/* A sentinel is reached, but there is no memory for the question. The search says so. */
static void questions_to_a_sentinel(void) {
    static const _Atomic bool going_on = false;
    static struct search search;
    struct fake_server sentinel;
    struct uri uri;
    char url[4000];
    char why[100];
    fake_open_tcp(&sentinel);
    snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d/%03900d", sentinel.port, 0); /* for a long question */
    CHECK_EQ_INT(uri_parse(url, &uri, why, sizeof why), REDLATCH_OK);
    const struct connection_settings settings = {.uri = &uri, .name = "unit", .connect_timeout = 80 * SECOND};
    int failures = 0;
    for (bool failed = true; failed && failures < FAKE_PEERS - 1; failures += failed) {
        search_init(&search, &uri, NULL, &settings, NULL, &going_on);
        search_begin(&search, SECOND);
        CHECK_EQ_INT(search_step(&search, SECOND), REDLATCH_AGAIN);
        CHECK(fake_accept(&sentinel));
        fake_say(&sentinel, "+OK\r\n$1\r\nx\r\n");
        failing_arm(failures + 1);
        int status = REDLATCH_AGAIN;
        for (int i = 0; i < 200 && status == REDLATCH_AGAIN && !search.requested; i++) {
            struct pollfd socket = {search.connection.fd, POLLIN, 0};
            poll(&socket, 1, 20);
            status = search_step(&search, SECOND);
        }
        failed = failing_disarm();
        CHECK_EQ_INT(status, failed ? REDLATCH_NO_MEMORY : REDLATCH_AGAIN);
        CHECK(!failed || strstr(search.discovery.why, ": out of memory"));
        search_close(&search);
    }
    CHECK(failures > 0);
    uri_free(&uri);
    fake_close(&sentinel);
}

/* A node sends its slots, but there is no memory to take them in. The search says so. */
static void topologies_of_a_cluster(void) {
    static const _Atomic bool going_on = false;
    static struct search search;
    static struct topology topology;
    struct fake_server node;
    struct uri uri;
    char url[100];
    char why[100];
    fake_open_tcp(&node);
    snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d", node.port);
    CHECK_EQ_INT(uri_parse(url, &uri, why, sizeof why), REDLATCH_OK);
    const struct connection_settings settings = {.uri = &uri, .name = "unit", .connect_timeout = 80 * SECOND};
    int failures = 0;
    for (bool failed = true; failed && failures < FAKE_PEERS - 1; failures += failed) {
        search_init(&search, &uri, NULL, &settings, &topology, &going_on);
        search_begin(&search, SECOND);
        CHECK_EQ_INT(search_step(&search, SECOND), REDLATCH_AGAIN);
        CHECK(fake_accept(&node));
        fake_say(&node, "+OK\r\n$1\r\nx\r\n");
        failing_arm(failures + 1);
        int status = REDLATCH_AGAIN;
        bool replied = false;
        for (int i = 0; i < 200 && status == REDLATCH_AGAIN; i++) {
            if (search.requested && !replied) {
                fake_say(&node, "*1\r\n*3\r\n:0\r\n:9\r\n*2\r\n$1\r\nh\r\n:1\r\n");
                replied = true;
            }
            struct pollfd socket = {search.connection.fd, POLLIN, 0};
            poll(&socket, 1, 20);
            status = search_step(&search, SECOND);
        }
        failed = failing_disarm();
        CHECK_EQ_INT(status, failed ? REDLATCH_NO_MEMORY : REDLATCH_OK);
        CHECK(!failed || strstr(search.discovery.why, ": out of memory"));
        CHECK_EQ_INT(topology.count, !failed);
        search_close(&search);
    }
    CHECK(failures >= 2); /* for the topology, and for its master */
    topology_free(&topology);
    uri_free(&uri);
    fake_close(&node);
}

int main(void) {
    RUN(clients_of_sentinels);
    RUN(clients_over_tls);
    RUN(clients_after_a_fork);
    RUN(questions_to_a_sentinel);
    RUN(topologies_of_a_cluster);
    return unit_done();
}
