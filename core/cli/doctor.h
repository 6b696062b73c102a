/* What `redlatch doctor` finds out about a server, and how it is said.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include "cli.h"

enum level { LEVEL_OK, LEVEL_NOTE, LEVEL_WARNING, LEVEL_PROBLEM };

/* One thing that was found out. */
struct finding {
    enum level level;
    const char *subject; /* "memory" */
    char *text;
    const char *advice; /* what to do; NULL */
};

enum { FINDINGS_MAX = 64, INFO_SIZE = 1 << 17 };

struct doctor {
    const struct server_options *server;
    redlatch_client *client;
    char *probe; /* the name of a lock that nobody else has */
    struct finding findings[FINDINGS_MAX];
    size_t count;
    char info[INFO_SIZE]; /* the reply to INFO; empty if the server does not allow it */
};

/* Adds a finding. */
void doctor_add(struct doctor *doctor, enum level level, const char *subject, const char *advice, const char *format,
                ...) __attribute__((format(printf, 5, 6)));

/* Sends a command and takes its reply: a status of the library. */
int doctor_command(struct doctor *doctor, const char *const *arguments, char *buffer, size_t size);

/* A number or a word of INFO; false if the server does not have it. */
bool doctor_info(const struct doctor *doctor, const char *field, char *text, size_t size);
bool doctor_info_number(const struct doctor *doctor, const char *field, long long *number);

/* doctor_server.c: what the server tells of itself. */
void doctor_check_server(struct doctor *doctor);

/* doctor_probe.c: what is tried: how long a reply takes, the server's clock, a lock that is acquired and released. */
void doctor_check_time(struct doctor *doctor);
void doctor_check_lock(struct doctor *doctor);

/* doctor_rights.c: which commands, keys and channels the user may use. */
void doctor_check_rights(struct doctor *doctor);

#endif
