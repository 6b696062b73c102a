/* The search for a master or a topology: which source is asked next, which replies are believed, and the error text of
 * a search that failed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "discovery.h"

#include "redlatch.h"
#include "unit.h"

static struct endpoint at(const char *host, int port) {
    struct endpoint endpoint = {"", 0};
    CHECK(endpoint_set(&endpoint, host, strlen(host), port));
    return endpoint;
}

static struct discovery begun(const char *service, bool of_cluster) {
    struct endpoints sources = {.count = 0};
    const char *const hosts[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        struct endpoint source = at(hosts[i], 1);
        CHECK(endpoints_add(&sources, &source));
    }
    struct discovery discovery;
    discovery_init(&discovery, &sources, service, of_cluster);
    CHECK_EQ_INT(discovery.step, DISCOVERY_IDLE);
    discovery_begin(&discovery);
    return discovery;
}

static struct discovery searching(const char *service) {
    return begun(service, false);
}

static void check_step(const struct discovery *discovery, enum discovery_step step, const char *host) {
    CHECK_EQ_INT(discovery->step, step);
    CHECK_STR(discovery->target.host, host);
}

static void announce(struct discovery *discovery, const char *host) {
    struct endpoint master = at(host, 2);
    discovery_announced(discovery, &master);
}

static void first_sentinel_is_right(void) {
    struct discovery discovery = searching("s");
    check_step(&discovery, DISCOVERY_ASK, "a");
    announce(&discovery, "m");
    check_step(&discovery, DISCOVERY_VERIFY, "m");
    discovery_verified(&discovery, ROLE_MASTER);
    check_step(&discovery, DISCOVERY_FOUND, "m");
}

static void a_sentinel_that_is_down_is_passed_over(void) {
    struct discovery discovery = searching("s");
    discovery_target_failed(&discovery, REDLATCH_UNREACHABLE, "a:1: refused");
    check_step(&discovery, DISCOVERY_ASK, "b");
    announce(&discovery, "m");
    discovery_verified(&discovery, ROLE_UNKNOWN); /* it does not say its role */
    check_step(&discovery, DISCOVERY_FOUND, "m");
    discovery_begin(&discovery); /* begins with the source that was right */
    check_step(&discovery, DISCOVERY_ASK, "b");
}

static void a_replica_is_not_believed(void) {
    struct discovery discovery = searching("s");
    announce(&discovery, "r");
    discovery_verified(&discovery, ROLE_REPLICA);
    check_step(&discovery, DISCOVERY_ASK, "b");
    announce(&discovery, "m");
    discovery_verified(&discovery, ROLE_MASTER);
    check_step(&discovery, DISCOVERY_FOUND, "m");
}

static void the_most_telling_failure_is_reported(void) {
    struct discovery discovery = searching("s");
    announce(&discovery, "r");
    discovery_verified(&discovery, ROLE_REPLICA);
    discovery_service_unknown(&discovery);
    discovery_target_failed(&discovery, REDLATCH_UNREACHABLE, "c:1: refused");
    CHECK_EQ_INT(discovery.step, DISCOVERY_FAILED);
    CHECK_EQ_INT(discovery.status, REDLATCH_UNREACHABLE);
    CHECK_STR(discovery.why, "r:2 is a replica: expected the master");
}

static void an_unknown_service_is_an_error_of_the_url(void) {
    struct discovery discovery = searching("nobody");
    discovery_target_failed(&discovery, REDLATCH_AUTHENTICATION, "a:1: NOAUTH");
    discovery_service_unknown(&discovery);
    discovery_target_failed(&discovery, REDLATCH_UNREACHABLE, "c:1: refused");
    CHECK_EQ_INT(discovery.step, DISCOVERY_FAILED);
    CHECK_EQ_INT(discovery.status, REDLATCH_INVALID);
    CHECK_STR(discovery.why,
              "service \"nobody\": unknown to the sentinel b:1; expected the name of a monitored master");
    discovery.found_before = true; /* the sentinels may have forgotten it for a moment */
    discovery_begin(&discovery);
    for (int i = 0; i < 3; i++) {
        discovery_service_unknown(&discovery);
    }
    CHECK_EQ_INT(discovery.step, DISCOVERY_FAILED);
    CHECK_EQ_INT(discovery.status, REDLATCH_UNREACHABLE);
}

static void a_refused_password_is_reported(void) {
    struct discovery discovery = searching("s");
    discovery_target_failed(&discovery, REDLATCH_UNREACHABLE, "a:1: refused");
    discovery_target_failed(&discovery, REDLATCH_AUTHENTICATION, "b:1: NOAUTH");
    discovery_target_failed(&discovery, REDLATCH_UNREACHABLE, "c:1: refused");
    CHECK_EQ_INT(discovery.status, REDLATCH_AUTHENTICATION);
    CHECK_STR(discovery.why, "b:1: NOAUTH");
    discovery_begin(&discovery); /* nothing of the last */
    CHECK_EQ_INT(discovery.status, REDLATCH_OK);
    CHECK_STR(discovery.why, "");
}

static void sentinels_are_learned(void) {
    struct discovery discovery = searching("s");
    struct endpoint known = at("b", 1);
    struct endpoint learned = at("d", 1);
    discovery_learned(&discovery, &known);
    discovery_learned(&discovery, &learned);
    CHECK_EQ_INT(discovery.sources.count, 4);
    for (int i = 0; i < 3; i++) {
        discovery_target_failed(&discovery, REDLATCH_UNREACHABLE, "down");
    }
    check_step(&discovery, DISCOVERY_ASK, "d");
    for (int i = 0; i < 2 * ENDPOINTS_MAX; i++) {
        struct endpoint many = at("many", i + 1);
        discovery_learned(&discovery, &many);
    }
    CHECK_EQ_INT(discovery.sources.count, ENDPOINTS_MAX);
}

/* What the sentinel that was right does not list any more is forgotten; not so what the URL names. */
static void sentinels_are_forgotten(void) {
    struct discovery discovery = searching("s");
    const struct endpoint others[] = {at("d", 1), at("e", 1), at("f", 1)};
    for (int i = 0; i < 3; i++) {
        discovery_learned(&discovery, &others[i]);
    }
    for (int i = 0; i < 4; i++) {
        discovery_target_failed(&discovery, REDLATCH_UNREACHABLE, "down");
    }
    check_step(&discovery, DISCOVERY_ASK, "e");
    CHECK_EQ_INT(discovery.sources.count, 6); /* a sentinel that does not answer changes nothing */
    discovery_learned(&discovery, &others[2]);
    announce(&discovery, "m");
    discovery_verified(&discovery, ROLE_MASTER);
    CHECK_EQ_INT(discovery.sources.count, 5);
    CHECK_STR(discovery.sources.list[2].host, "c");
    CHECK_STR(discovery.sources.list[4].host, "f");
    discovery_begin(&discovery);
    check_step(&discovery, DISCOVERY_ASK, "e");
    announce(&discovery, "m");
    discovery_verified(&discovery, ROLE_MASTER);
    CHECK_EQ_INT(discovery.sources.count, 4); /* this time it lists none */
    CHECK_STR(discovery.sources.list[3].host, "e");
}

static void servers_are_candidates_themselves(void) {
    struct discovery discovery = searching(NULL);
    check_step(&discovery, DISCOVERY_VERIFY, "a");
    discovery_verified(&discovery, ROLE_REPLICA);
    discovery_target_failed(&discovery, REDLATCH_UNREACHABLE, "b:1: refused");
    discovery_verified(&discovery, ROLE_MASTER);
    check_step(&discovery, DISCOVERY_FOUND, "c");
}

/* The master that a replica names is a candidate behind those of the list. The next search forgets it unless it was
 * found. */
static void the_master_of_a_replica_is_a_candidate(void) {
    struct discovery discovery = searching(NULL);
    const struct endpoint listed = at("b", 1);
    const struct endpoint other = at("m", 1);
    const struct endpoint further = at("n", 1);
    discovery_replica_of(&discovery, &listed);
    discovery_verified(&discovery, ROLE_REPLICA);
    discovery_replica_of(&discovery, &other);
    discovery_verified(&discovery, ROLE_REPLICA);
    check_step(&discovery, DISCOVERY_VERIFY, "c");
    discovery_target_failed(&discovery, REDLATCH_UNREACHABLE, "c:1: refused");
    check_step(&discovery, DISCOVERY_VERIFY, "m");
    discovery_replica_of(&discovery, &further); /* the named server is a replica itself */
    discovery_verified(&discovery, ROLE_REPLICA);
    check_step(&discovery, DISCOVERY_VERIFY, "n");
    discovery_verified(&discovery, ROLE_MASTER);
    check_step(&discovery, DISCOVERY_FOUND, "n");
    discovery_begin(&discovery);
    check_step(&discovery, DISCOVERY_VERIFY, "n");
    CHECK_EQ_INT(discovery.sources.count, 4);
    discovery_target_failed(&discovery, REDLATCH_UNREACHABLE, "n:1: refused");
    check_step(&discovery, DISCOVERY_VERIFY, "a");
    discovery_verified(&discovery, ROLE_MASTER);
    discovery_begin(&discovery);
    CHECK_EQ_INT(discovery.sources.count, 3);
    discovery.next = 1; /* the search begins with the second source: the first and the named one come last */
    discovery_begin(&discovery);
    discovery_target_failed(&discovery, REDLATCH_UNREACHABLE, "b:1: refused");
    discovery_target_failed(&discovery, REDLATCH_UNREACHABLE, "c:1: refused");
    check_step(&discovery, DISCOVERY_VERIFY, "a");
    discovery_replica_of(&discovery, &other);
    CHECK(!discovery_is_followed(&discovery));
    discovery_verified(&discovery, ROLE_REPLICA);
    check_step(&discovery, DISCOVERY_VERIFY, "m");
    CHECK(discovery_is_followed(&discovery));
    discovery_target_failed(&discovery, REDLATCH_UNREACHABLE, "m:1: refused");
    CHECK_EQ_INT(discovery.step, DISCOVERY_FAILED);
    struct discovery sentinels = searching("s"); /* only sentinels announce candidates */
    announce(&sentinels, "r");
    discovery_replica_of(&sentinels, &other);
    CHECK_EQ_INT(sentinels.sources.count, 3);
}

static void a_node_knows_the_topology(void) {
    struct discovery discovery = begun(NULL, true);
    const struct endpoint masters[] = {at("m", 1), at("b", 1), at("n", 1)};
    check_step(&discovery, DISCOVERY_ASK, "a");
    discovery_target_failed(&discovery, REDLATCH_UNREACHABLE, "a:1: refused");
    check_step(&discovery, DISCOVERY_ASK, "b"); /* no node is verified */
    discovery_topology_known(&discovery, masters, 3);
    check_step(&discovery, DISCOVERY_FOUND, "b");
    CHECK_EQ_INT(discovery.sources.count, 5);
    discovery_begin(&discovery); /* begins with the source that was right */
    const char *const order[] = {"b", "c", "m", "n", "a"};
    for (int i = 0; i < 5; i++) {
        check_step(&discovery, DISCOVERY_ASK, order[i]);
        discovery_target_failed(&discovery, i == 1 ? REDLATCH_AUTHENTICATION : REDLATCH_UNREACHABLE, order[i]);
    }
    CHECK_EQ_INT(discovery.step, DISCOVERY_FAILED);
    CHECK_EQ_INT(discovery.status, REDLATCH_AUTHENTICATION); /* the failure of the greatest weight */
    CHECK_STR(discovery.why, "c");
}

/* Nodes that are no longer masters are not asked. Nodes of the URL are. */
static void masters_are_sources_as_long_as_they_are(void) {
    struct discovery discovery = begun(NULL, true);
    const struct endpoint before[] = {at("m", 1), at("n", 1)};
    const struct endpoint after[] = {at("o", 1), at("n", 1)};
    discovery_topology_known(&discovery, before, 2);
    discovery_begin(&discovery);
    for (int i = 0; i < 4; i++) {
        discovery_target_failed(&discovery, REDLATCH_UNREACHABLE, "refused");
    }
    check_step(&discovery, DISCOVERY_ASK, "n");
    discovery_topology_known(&discovery, after, 2);
    CHECK_EQ_INT(discovery.sources.count, 5);
    discovery_begin(&discovery);
    check_step(&discovery, DISCOVERY_ASK, "n");
    discovery_topology_known(&discovery, after, 1);
    discovery_begin(&discovery); /* the source that was right is no longer among them */
    check_step(&discovery, DISCOVERY_ASK, "a");
    CHECK_EQ_INT(discovery.sources.count, 4);
    CHECK_STR(discovery.sources.list[3].host, "o");
}

static void more_masters_than_sources(void) {
    struct discovery discovery = begun(NULL, true);
    struct endpoint masters[2 * ENDPOINTS_MAX];
    for (int i = 0; i < 2 * ENDPOINTS_MAX; i++) {
        masters[i] = at("many", i + 1);
    }
    discovery_topology_known(&discovery, masters, 2 * ENDPOINTS_MAX);
    CHECK_EQ_INT(discovery.sources.count, ENDPOINTS_MAX);
    CHECK_STR(discovery.sources.list[0].host, "a");
    CHECK_EQ_INT(discovery.sources.list[ENDPOINTS_MAX - 1].port, ENDPOINTS_MAX - 3);
}

static void a_search_for_a_topology_ends_with_its_time(void) {
    struct discovery discovery = begun(NULL, true);
    discovery_give_up(&discovery, "too late");
    CHECK_EQ_INT(discovery.step, DISCOVERY_FAILED);
    CHECK_EQ_INT(discovery.status, REDLATCH_UNREACHABLE);
    CHECK_STR(discovery.why, "too late");
    discovery_begin(&discovery);
    check_step(&discovery, DISCOVERY_ASK, "b");
}

static void endpoints_are_checked(void) {
    struct endpoint endpoint;
    char host[ENDPOINT_HOST_SIZE + 1];
    memset(host, 'h', sizeof host);
    CHECK(endpoint_set(&endpoint, host, ENDPOINT_HOST_SIZE - 1, 1));
    CHECK(!endpoint_set(&endpoint, host, ENDPOINT_HOST_SIZE, 1));
    CHECK(!endpoint_set(&endpoint, "", 0, 1));
    CHECK(!endpoint_set(&endpoint, "h", 1, 0));
    CHECK(!endpoint_set(&endpoint, "h", 1, 65536));
    CHECK(!endpoint_set(&endpoint, "a b", 3, 1));
    CHECK(!endpoint_set(&endpoint, "a\n", 2, 1));
    char text[ENDPOINT_TEXT_SIZE];
    endpoint = at("::1", 7);
    endpoint_text(&endpoint, text);
    CHECK_STR(text, "[::1]:7");
}

static void lists_of_endpoints(void) {
    struct endpoints list = {.count = 0};
    for (int i = 0; i < ENDPOINTS_MAX; i++) {
        struct endpoint one = at("h", i + 1);
        CHECK(endpoints_add(&list, &one));
        CHECK(!endpoints_add(&list, &one));
        CHECK_EQ_INT(list.count, i + 1);
    }
    struct endpoint more = at("g", 1);
    CHECK(!endpoints_add(&list, &more)); /* the list is full */
    CHECK_EQ_INT(list.count, ENDPOINTS_MAX);
    CHECK(!endpoint_equal(&more, &list.list[0]) && !endpoint_equal(&list.list[1], &list.list[0]));
}

int main(void) {
    RUN(first_sentinel_is_right);
    RUN(a_sentinel_that_is_down_is_passed_over);
    RUN(a_replica_is_not_believed);
    RUN(the_most_telling_failure_is_reported);
    RUN(an_unknown_service_is_an_error_of_the_url);
    RUN(a_refused_password_is_reported);
    RUN(sentinels_are_learned);
    RUN(sentinels_are_forgotten);
    RUN(servers_are_candidates_themselves);
    RUN(the_master_of_a_replica_is_a_candidate);
    RUN(a_node_knows_the_topology);
    RUN(masters_are_sources_as_long_as_they_are);
    RUN(more_masters_than_sources);
    RUN(a_search_for_a_topology_ends_with_its_time);
    RUN(endpoints_are_checked);
    RUN(lists_of_endpoints);
    return unit_done();
}
