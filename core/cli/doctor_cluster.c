/* What `redlatch doctor` checks of a cluster: its slots, and whether one that is not served stops the others.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"

enum { SLOTS = 16384, TRIES_PER_NODE = 40, FAILURES_MAX = 3 };

/* Returns the index of the node that a name is on, as its report says. Returns -1 if the inspection failed. */
static int node_of(const struct doctor *doctor, const char *name, int *status_out) {
    redlatch_report *report = NULL;
    redlatch_facts facts = {.struct_size = sizeof facts};
    *status_out = redlatch_client_inspect(doctor->client, name, strlen(name), NULL, &report);
    if (*status_out == REDLATCH_OK) {
        redlatch_report_facts(report, &facts);
        redlatch_report_free(report);
    }
    int found = -1;
    for (size_t i = 0; i < doctor->nodes.count; i++) {
        found = strcmp(doctor->nodes.node[i], facts.node) == 0 ? (int)i : found;
    }
    return found;
}

/* Tries names until each node has one. A node whose names the user may not inspect gets none. */
static void find_names(struct doctor *doctor) {
    size_t missing = doctor->nodes.count;
    int failures = 0;
    for (size_t i = 0; missing && failures < FAILURES_MAX && i < doctor->nodes.count * TRIES_PER_NODE; i++) {
        char *name;
        int status;
        if (asprintf(&name, "%s:%zu", doctor->name, i) < 0) {
            return;
        }
        int node = node_of(doctor, name, &status);
        failures += status != REDLATCH_OK && status != REDLATCH_NO_PERMISSION;
        if (node >= 0 && !doctor->probes[node]) {
            doctor->probes[node] = name;
            missing--;
        } else {
            free(name);
        }
    }
}

bool doctor_find_probes(struct doctor *doctor) {
    bool found = false;
    doctor->probes = calloc(doctor->nodes.count + 1, sizeof *doctor->probes);
    if (!doctor->probes) {
        return false;
    }
    if (doctor->cluster) {
        find_names(doctor);
    }
    for (size_t i = 0; i < doctor->nodes.count; i++) {
        found = found || doctor->probes[i];
    }
    for (size_t i = 0; i < doctor->nodes.count && !found; i++) {
        doctor->probes[i] = strdup(doctor->name);
    }
    return true;
}

/* Adds a finding if a URL of a single server leads to a node of a cluster: most names are not there. */
static void check_mode(struct doctor *doctor) {
    long long cluster = 0;
    if (doctor_info_number(doctor, "cluster_enabled", &cluster) && cluster) {
        const char *tls = strncmp(server_url(doctor->server), "rediss", 6) == 0 ? "s" : "";
        const char *node = doctor->node[0] == '/' ? "HOST:PORT" : doctor->node;
        doctor_add(doctor, LEVEL_PROBLEM, "cluster",
                   "Use a URL of the cluster. It names one node or several: redis+cluster://HOST:PORT,HOST:PORT.",
                   "the server is a node of a Redis Cluster, and has only the names in its own slots: expected"
                   " redis%s+cluster://%s",
                   tls, node);
    }
}

static long long number_of(const char *info, const char *field) {
    char text[32] = "0";
    doctor_field(info, field, text, sizeof text);
    return strtoll(text, NULL, 10);
}

static void check_slots(struct doctor *doctor, const char *info) {
    static const char advice[] = "See CLUSTER INFO and CLUSTER NODES: start the masters again, or assign the slots.";
    long long assigned = number_of(info, "cluster_slots_assigned");
    long long failed = number_of(info, "cluster_slots_fail") + number_of(info, "cluster_slots_pfail");
    char state[16] = "?";
    doctor_field(info, "cluster_state", state, sizeof state);
    if (assigned < SLOTS) {
        doctor_add(doctor, LEVEL_PROBLEM, "slots", advice, "nobody serves %lld of %d slots: no lock in them is granted",
                   SLOTS - assigned, SLOTS);
    }
    if (failed > 0) {
        doctor_add(doctor, LEVEL_PROBLEM, "slots", advice, "the masters of %lld slots fail: no lock in them is granted",
                   failed);
    }
    if (strcmp(state, "ok") != 0) {
        doctor_add(doctor, LEVEL_PROBLEM, "slots", advice, "cluster_state is %s: no lock at all is granted", state);
    } else if (assigned == SLOTS && failed == 0) {
        doctor_add(doctor, LEVEL_OK, "slots", NULL, "all %d slots are served", SLOTS);
    }
}

static void check_coverage(struct doctor *doctor) {
    char coverage[8];
    if (!doctor_setting(doctor, "cluster-require-full-coverage", coverage, sizeof coverage)) {
        return;
    }
    if (strcmp(coverage, "yes") == 0) {
        doctor_add(doctor, LEVEL_NOTE, "coverage",
                   "Set cluster-require-full-coverage no, unless all names must stop together.",
                   "while one slot is not served, no lock in the other slots is granted either"
                   " (cluster-require-full-coverage yes)");
    } else {
        doctor_add(doctor, LEVEL_OK, "coverage", NULL, "a slot that nobody serves does not stop the others");
    }
}

void doctor_check_cluster(struct doctor *doctor) {
    char info[4096];
    if (!doctor->cluster) {
        check_mode(doctor);
        return;
    }
    if (doctor_command(doctor, (const char *[]){"CLUSTER", "INFO", NULL}, info, sizeof info) == REDLATCH_OK) {
        check_slots(doctor, info);
    } else {
        doctor_add(doctor, LEVEL_NOTE, "slots", NULL, "whether all are served is unknown: CLUSTER INFO is refused (%s)",
                   redlatch_last_error());
    }
    check_coverage(doctor);
}
