/* The findings of `redlatch doctor` about a server, and the checks that make them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include "cli.h"
#include "nodes.h"

enum level { LEVEL_OK, LEVEL_NOTE, LEVEL_WARNING, LEVEL_PROBLEM };

/* One result of a check. */
struct finding {
    enum level level;
    const char *subject; /* "memory" */
    char *text;
    const char *advice; /* what to do, or NULL */
    const char **nodes; /* of a cluster: the nodes that it is about */
    size_t node_count;
};

enum { INFO_SIZE = 1 << 17 };

struct doctor {
    const struct server_options *server;
    redlatch_client *client;
    struct nodes nodes; /* examined one after the other */
    bool cluster;       /* the nodes are masters of a cluster */
    const char *node;   /* the address of the node that is examined now */
    char *name;         /* the name of the doctor's own lock */
    char **probes;      /* such a name on each node; NULL where none was found */
    const char *probe;  /* that of the node that is examined now */
    struct finding *findings;
    size_t count;
    char info[INFO_SIZE]; /* the reply to INFO; empty if the server does not allow it */
};

/* Adds a finding behind those of the same subject. In a cluster, a finding that several nodes share is added once. */
void doctor_add(struct doctor *doctor, enum level level, const char *subject, const char *advice, const char *format,
                ...) __attribute__((format(printf, 5, 6)));

/* Sends a command to the node that is examined, and stores the reply. Returns a status of the library. */
int doctor_command(struct doctor *doctor, const char *const *arguments, char *buffer, size_t size);

/* Reads one setting of the server by CONFIG GET. Returns false if that is forbidden, as it often is, or if the server
 * does not have the setting. */
bool doctor_setting(struct doctor *doctor, const char *name, char *value, size_t size);

/* Reads a field of INFO, or of another text of that format. Returns false if the server does not have it. */
bool doctor_field(const char *info, const char *field, char *text, size_t size);
bool doctor_info(const struct doctor *doctor, const char *field, char *text, size_t size);
bool doctor_info_number(const struct doctor *doctor, const char *field, long long *number);

/* doctor_server.c: checks what the server reports of itself. */
void doctor_check_server(struct doctor *doctor);

/* doctor_cluster.c: doctor_find_probes finds a name on each node, for the checks that need one, and returns false if
 * there was no memory. doctor_check_cluster checks what a node reports of its cluster. For the URL of a single server,
 * it checks that the server is no node of a cluster. */
bool doctor_find_probes(struct doctor *doctor);
void doctor_check_cluster(struct doctor *doctor);

/* doctor_probe.c: checks by trying: how long a reply takes, the server's clock, a lock that is acquired and
 * released. */
void doctor_check_time(struct doctor *doctor);
void doctor_check_lock(struct doctor *doctor);

/* doctor_rights.c: checks which commands, keys and channels the user may use. */
void doctor_check_rights(struct doctor *doctor);

#endif
