/* The process that `run` runs: its own process group, the terminal, how it ended.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* Where the child stands. */
enum child_news { CHILD_RUNS, CHILD_STOPPED, CHILD_ENDED };

struct child {
    pid_t pid;       /* also of its process group */
    int terminal;    /* -1: there is none */
    bool in_front;   /* its group was put in the terminal's foreground */
    int exit_status; /* once it has ended: its own, or as signals_ending says */
    int stopped_by;  /* the signal, while it is stopped */
};

/* Starts a command in a process group of its own; with the terminal if this program had it for itself. Its death is
 * sealed with ours (where the system can do that). Signals must be blocked. 0, or errno: why it can not be run. */
int child_start(struct child *child, char **command);

/* What became of it since the last time, without waiting. */
enum child_news child_poll(struct child *child);

/* To the child and all of its group. */
void child_signal(const struct child *child, int number);

/* Whether any process of its group is left. */
bool child_group_lives(const struct child *child);

/* It was stopped: gives it the terminal if that was what it wanted and we have it (true: it goes on), else takes the
 * terminal back (false). */
bool child_wants_terminal(struct child *child);
void child_leave_terminal(struct child *child);

/* We were continued: the terminal, if we have it, is the child's again, and it goes on. */
void child_continue(struct child *child);

/* Closes what is open for a child that has ended. */
void child_close(struct child *child);

#endif
