/* The search for a master as a state machine.
 * SPDX-License-Identifier: Apache-2.0 */
#include "discovery.h"

#include <stdio.h>
#include <string.h>

#include "redlatch.h"

void discovery_init(struct discovery *discovery, const struct endpoints *sources, const char *service,
                    bool of_cluster) {
    memset(discovery, 0, sizeof *discovery);
    discovery->sources = *sources;
    discovery->given = sources->count;
    discovery->service = service;
    discovery->of_cluster = of_cluster;
}

/* Returns whether the sources are candidates themselves. */
static bool of_servers(const struct discovery *discovery) {
    return !discovery->service && !discovery->of_cluster;
}

static void take_source(struct discovery *discovery) {
    memset(discovery->listed, 0, sizeof discovery->listed);
    discovery->target = discovery->sources.list[discovery->next];
    discovery->step = of_servers(discovery) ? DISCOVERY_VERIFY : DISCOVERY_ASK;
}

/* Keeps the sources of the URL, the one with which the search succeeded, and those that it listed. With a list of
 * servers nothing is listed: this forgets the masters that replicas named, except the one that was found. */
static void forget_unlisted(struct discovery *discovery) {
    struct endpoints *sources = &discovery->sources;
    const int count = sources->count;
    const int right = discovery->next;
    sources->count = discovery->given;
    for (int i = discovery->given; i < count; i++) {
        if (i == right) {
            discovery->next = sources->count;
        }
        if (i == right || discovery->listed[i]) {
            sources->list[sources->count++] = sources->list[i];
        }
    }
}

void discovery_begin(struct discovery *discovery) {
    if (of_servers(discovery)) {
        forget_unlisted(discovery);
    }
    discovery->tried = 0;
    memset(discovery->visited, 0, sizeof discovery->visited);
    discovery->status = REDLATCH_OK;
    discovery->why[0] = '\0';
    take_source(discovery);
}

/* How much a failure says about the cause. A failed search reports the one of the greatest weight. */
enum weight { NOBODY_REACHED, REFUSED, SERVICE_UNKNOWN, CANDIDATE_FAILED };

static enum weight weight_of(int status) {
    return status == REDLATCH_UNREACHABLE || status == REDLATCH_NO_REPLY ? NOBODY_REACHED : REFUSED;
}

/* Returns whether the failure is the one to report so far. */
static bool note(struct discovery *discovery, int status, enum weight weight, const char *why) {
    bool reported = discovery->status == REDLATCH_OK || (int)weight >= discovery->weight;
    if (reported) {
        discovery->status = status;
        discovery->weight = (int)weight;
        snprintf(discovery->why, sizeof discovery->why, "%s", why);
    }
    return reported;
}

static void give_up(struct discovery *discovery) {
    discovery->step = DISCOVERY_FAILED;
    if (discovery->status == REDLATCH_INVALID && discovery->found_before) {
        discovery->status = REDLATCH_UNREACHABLE;
    }
}

/* Goes on to the next source that was not tried. A source that was learned meanwhile comes after the others. */
static void go_on(struct discovery *discovery) {
    int count = discovery->sources.count;
    discovery->tried++;
    discovery->visited[discovery->next] = true;
    discovery->next = (discovery->next + 1) % count;
    for (int i = 0; i < count; i++) {
        int source = (discovery->next + i) % count;
        if (!discovery->visited[source]) {
            discovery->next = source;
            take_source(discovery);
            return;
        }
    }
    give_up(discovery);
}

void discovery_give_up(struct discovery *discovery, const char *why) {
    note(discovery, REDLATCH_UNREACHABLE, NOBODY_REACHED, why);
    discovery->next = (discovery->next + 1) % discovery->sources.count;
    give_up(discovery);
}

void discovery_announced(struct discovery *discovery, const struct endpoint *master) {
    discovery->target = *master;
    discovery->step = DISCOVERY_VERIFY;
}

void discovery_service_unknown(struct discovery *discovery) {
    char sentinel[ENDPOINT_TEXT_SIZE];
    char why[DISCOVERY_WHY_SIZE];
    endpoint_text(&discovery->target, sentinel);
    snprintf(why, sizeof why, "service \"%.100s\": unknown to the sentinel %s; expected the name of a monitored master",
             discovery->service, sentinel);
    note(discovery, REDLATCH_INVALID, SERVICE_UNKNOWN, why);
    go_on(discovery);
}

void discovery_learned(struct discovery *discovery, const struct endpoint *sentinel) {
    struct endpoints *sources = &discovery->sources;
    endpoints_add(sources, sentinel);
    for (int i = 0; i < sources->count; i++) {
        discovery->listed[i] = discovery->listed[i] || endpoint_equal(&sources->list[i], sentinel);
    }
}

void discovery_replica_of(struct discovery *discovery, const struct endpoint *master) {
    if (of_servers(discovery)) { /* else the sentinels announce the master */
        endpoints_add(&discovery->sources, master);
    }
}

bool discovery_is_followed(const struct discovery *discovery) {
    return of_servers(discovery) && discovery->next >= discovery->given;
}

void discovery_topology_known(struct discovery *discovery, const struct endpoint *masters, int count) {
    struct endpoints *sources = &discovery->sources;
    discovery->step = DISCOVERY_FOUND;
    discovery->found_before = true;
    sources->count = discovery->given; /* the masters of the last search may have left the cluster */
    for (int i = 0; i < count; i++) {
        endpoints_add(sources, &masters[i]);
    }
    discovery->next = 0;
    for (int i = 0; i < sources->count; i++) { /* the next search begins with the node that replied */
        if (endpoint_equal(&sources->list[i], &discovery->target)) {
            discovery->next = i;
        }
    }
}

void discovery_verified(struct discovery *discovery, enum server_role role) {
    if (role != ROLE_REPLICA) {
        discovery->step = DISCOVERY_FOUND;
        discovery->found_before = true;
        if (discovery->service) {
            forget_unlisted(discovery);
        }
        return;
    }
    char candidate[ENDPOINT_TEXT_SIZE];
    char why[DISCOVERY_WHY_SIZE];
    endpoint_text(&discovery->target, candidate);
    snprintf(why, sizeof why, "%s is a replica: expected the master", candidate);
    note(discovery, REDLATCH_UNREACHABLE, CANDIDATE_FAILED, why);
    go_on(discovery);
}

bool discovery_target_failed(struct discovery *discovery, int status, const char *why) {
    bool candidate = discovery->service && discovery->step == DISCOVERY_VERIFY;
    bool reported = note(discovery, status, candidate ? CANDIDATE_FAILED : weight_of(status), why);
    go_on(discovery);
    return reported;
}
