/* Addresses: numbers and paths need no lookup; a thread looks names up, with a deadline and a way to stop.
 * SPDX-License-Identifier: Apache-2.0 */
#include "resolver.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/un.h>

#include "redlatch.h"
#include "system.h"
#include "records.h"
#include "unit.h"

static const _Atomic bool going_on = false;

/* Looks a name up, and drops the lookup if it does not end in time. */
static int run_lookup(const struct uri *uri, int64_t until, const _Atomic bool *stop, struct addresses *out) {
    struct lookup *lookup = NULL;
    int status = resolve(uri, &lookup, until, stop, out);
    CHECK((lookup != NULL) == (status == REDLATCH_AGAIN));
    lookup_drop(lookup);
    return status;
}

static void paths_are_addresses(void) {
    struct uri uri = {.path = (char[]){"/run/redis.sock"}};
    struct addresses found = {.count = 0};
    CHECK(resolve_at_once(&uri, &found));
    CHECK_EQ_INT(found.count, 1);
    const struct sockaddr_un *name = (const struct sockaddr_un *)(const void *)&found.list[0].storage;
    CHECK_EQ_INT(name->sun_family, AF_UNIX);
    CHECK_STR(name->sun_path, "/run/redis.sock");
    char longest[SOCKET_PATH_MAX + 1];
    memset(longest, 'p', sizeof longest);
    longest[0] = '/';
    longest[SOCKET_PATH_MAX] = '\0';
    uri.path = longest;
    CHECK(resolve_at_once(&uri, &found));
    CHECK_STR(name->sun_path, longest);
}

static void numbers_are_addresses(void) {
    struct uri uri = {.host = (char[]){"127.0.0.1"}, .port = 65535};
    struct addresses found = {.count = 0};
    CHECK(resolve_at_once(&uri, &found));
    CHECK_EQ_INT(found.count, 1);
    const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)&found.list[0].storage;
    CHECK(four->sin_family == AF_INET && four->sin_addr.s_addr == htonl(INADDR_LOOPBACK));
    CHECK_EQ_INT(ntohs(four->sin_port), 65535);
    uri.host = (char[]){"::1"};
    uri.port = 1;
    CHECK(resolve_at_once(&uri, &found));
    CHECK_EQ_INT(found.count, 1);
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)&found.list[0].storage;
    CHECK(six->sin6_family == AF_INET6 && memcmp(&six->sin6_addr, &in6addr_loopback, 16) == 0);
    CHECK_EQ_INT(ntohs(six->sin6_port), 1);
    CHECK_EQ_INT(found.list[0].size, sizeof *six);
}

static void names_need_a_lookup(void) {
    struct uri uri = {.host = (char[]){"localhost"}, .port = 6379};
    struct addresses found = {.count = 0};
    CHECK(!resolve_at_once(&uri, &found));
    CHECK_EQ_INT(run_lookup(&uri, system_now() + 20 * SECOND, &going_on, &found), REDLATCH_OK);
    CHECK(found.count >= 1 && found.count <= ADDRESSES_MAX);
    for (int i = 0; i < found.count; i++) {
        CHECK(found.list[i].storage.ss_family == AF_INET || found.list[i].storage.ss_family == AF_INET6);
    }
}

static void no_such_host(void) {
    struct uri uri = {.host = (char[]){"no-such-host.invalid"}, .port = 6379};
    struct addresses found = {.count = -1};
    int64_t start = system_now();
    int status = run_lookup(&uri, start + SECOND, &going_on, &found);
    CHECK(status == REDLATCH_UNREACHABLE || status == REDLATCH_AGAIN); /* AGAIN where there is no name server */
    CHECK(system_now() - start < 10 * SECOND);                         /* sooner than name servers time out */
    CHECK_EQ_INT(found.count, -1);
    uri.host = (char[]){"not a host name"};
    CHECK_EQ_INT(run_lookup(&uri, system_now() + 20 * SECOND, &going_on, &found), REDLATCH_UNREACHABLE);
    CHECK_EQ_INT(found.count, -1);
}

/* A lookup goes on after the deadline of its call, and a later call finds its result. */
static void goes_on(void) {
    struct uri uri = {.host = (char[]){"localhost"}, .port = 6379};
    struct addresses found = {.count = 0};
    struct lookup *lookup = NULL;
    int status = resolve(&uri, &lookup, 0, &going_on, &found);
    const struct lookup *first = lookup;
    while (status == REDLATCH_AGAIN) {
        CHECK(lookup == first);
        status = resolve(&uri, &lookup, system_now() + 1000, &going_on, &found);
    }
    CHECK_EQ_INT(status, REDLATCH_OK);
    CHECK(found.count >= 1 && lookup == NULL);
}

/* No call waits for a lookup whose time is over or that is to stop. It ends by itself and frees its memory. */
static void deadline_and_stop(void) {
    static const _Atomic bool stopped = true;
    struct uri uri = {.host = (char[]){"localhost"}, .port = 6379};
    struct addresses found = {.count = -1};
    int64_t start = system_now();
    for (int i = 0; i < 20; i++) {
        int status = run_lookup(&uri, start, &going_on, &found);
        CHECK(status == REDLATCH_AGAIN || status == REDLATCH_OK); /* OK if the lookup was quick enough */
        status = run_lookup(&uri, NEVER, &stopped, &found);
        CHECK(status == REDLATCH_AGAIN || status == REDLATCH_OK);
    }
    CHECK(system_now() - start < 10 * SECOND);
}

int main(void) {
    RUN(paths_are_addresses);
    RUN(numbers_are_addresses);
    RUN(names_need_a_lookup);
    RUN(no_such_host);
    RUN(goes_on);
    RUN(deadline_and_stop);
    return unit_done();
}
