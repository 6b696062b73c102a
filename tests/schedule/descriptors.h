/* The descriptors of the schedule: sockets that are connected to the model servers, signals, alarms and sets.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SCHEDULE_DESCRIPTORS_H
#define SCHEDULE_DESCRIPTORS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum descriptor_kind { DESCRIPTOR_FREE, DESCRIPTOR_SOCKET, DESCRIPTOR_SIGNAL, DESCRIPTOR_ALARM, DESCRIPTOR_SET };

enum { DESCRIPTORS_MAX = 64, SET_MAX = 8 };

struct line;

struct descriptor {
    enum descriptor_kind kind;
    int failure;          /* of a socket that could not connect: the error */
    struct line *line;    /* of a socket */
    int64_t sleeps_most;  /* of a socket: how long a blocking recv waits at most; 0: not at all */
    uint64_t count;       /* of a signal */
    int64_t at;           /* of an alarm, INT64_MAX: never */
    int members[SET_MAX]; /* of a set */
    int member_count;
};

/* Called before each run. */
void descriptors_begin(void);

/* Returns how many descriptors are open. */
int descriptors_open(void);

/* Returns NULL if the descriptor is closed or not one of the schedule's. */
struct descriptor *descriptor_of(int fd);

/* Returns the lowest free number, as a system does. The first one is 0, as in a daemon without standard streams. */
int descriptor_new(enum descriptor_kind kind);

/* Returns those of `events` that are true now. */
short descriptor_events(int fd, short events);

#endif
