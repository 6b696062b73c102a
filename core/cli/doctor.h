/* What `redlatch doctor` finds out about a server, and how it is said.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include "cli.h"
#include "nodes.h"

enum level { LEVEL_OK, LEVEL_NOTE, LEVEL_WARNING, LEVEL_PROBLEM };

/* One thing that was found out. */
struct finding {
    enum level level;
    const char *subject; /* "memory" */
    char *text;
    const char *advice; /* what to do; NULL */
    const char **nodes; /* of which it was found out, if they are of a cluster */
    size_t node_count;
};

enum { INFO_SIZE = 1 << 17 };

struct doctor {
    const struct server_options *server;
    redlatch_client *client;
    struct nodes nodes; /* which are examined one after the other */
    bool cluster;       /* they are masters of one */
    const char *node;   /* the address of the node that is examined now */
    char *name;         /* a lock that nobody else has */
    char **probes;      /* the same, on each node; NULL where none was found */
    const char *probe;  /* of the node that is examined now */
    struct finding *findings;
    size_t count;
    char info[INFO_SIZE]; /* the reply to INFO; empty if the server does not allow it */
};

/* Adds a finding behind those of its subject. One that was found of another node, too, is added once. */
void doctor_add(struct doctor *doctor, enum level level, const char *subject, const char *advice, const char *format,
                ...) __attribute__((format(printf, 5, 6)));

/* Sends a command to the node and takes its reply: a status of the library. */
int doctor_command(struct doctor *doctor, const char *const *arguments, char *buffer, size_t size);

/* One setting of the server by CONFIG GET, which is often forbidden; false without. */
bool doctor_setting(struct doctor *doctor, const char *name, char *value, size_t size);

/* A number or a word of INFO, or of another text of that form; false if the server does not have it. */
bool doctor_field(const char *info, const char *field, char *text, size_t size);
bool doctor_info(const struct doctor *doctor, const char *field, char *text, size_t size);
bool doctor_info_number(const struct doctor *doctor, const char *field, long long *number);

/* doctor_server.c: what the server tells of itself. */
void doctor_check_server(struct doctor *doctor);

/* doctor_cluster.c: finds a name on each node, for what is tried there; false without memory. What a node tells of its
 * cluster; of a client of a single server, that the server is a node of one. */
bool doctor_find_probes(struct doctor *doctor);
void doctor_check_cluster(struct doctor *doctor);

/* doctor_probe.c: what is tried: how long a reply takes, the server's clock, a lock that is acquired and released. */
void doctor_check_time(struct doctor *doctor);
void doctor_check_lock(struct doctor *doctor);

/* doctor_rights.c: which commands, keys and channels the user may use. */
void doctor_check_rights(struct doctor *doctor);

#endif
