/* The child process of `run`: its process group, the terminal, and how it ended.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CHILD_H
#define CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* What child_poll reports. */
enum child_news { CHILD_RUNS, CHILD_STOPPED, CHILD_ENDED };

struct child {
    pid_t pid;       /* also the id of its process group */
    int terminal;    /* descriptor of /dev/tty; -1: there is none */
    bool in_front;   /* its group was put in the terminal's foreground */
    int exit_status; /* once it has ended: its own, or as signals_ending says */
    int stopped_by;  /* the signal that stopped it last */
};

/* Starts a command in a process group of its own. The group gets the terminal if this program had it for itself. If
 * this process dies, the system kills the child (on Linux). Signals must be blocked. Returns 0, or the errno of the
 * failure. */
int child_start(struct child *child, char **command);

/* Returns what happened to the child since the last call. Does not wait. */
enum child_news child_poll(struct child *child);

/* Sends a signal to the child's process group. */
void child_signal(const struct child *child, int number);

/* Returns whether any process of its group is left. */
bool child_group_lives(const struct child *child);

/* child_wants_terminal is called after the child was stopped. If it was stopped for using the terminal and this process
 * has the terminal, the child gets it and goes on; returns true then. child_leave_terminal takes the terminal back if
 * the child's group has it. */
bool child_wants_terminal(struct child *child);
void child_leave_terminal(struct child *child);

/* Called after this process was continued. The child goes on. If it was in the foreground and this process has the
 * terminal, it gets the terminal first. */
void child_continue(struct child *child);

/* Closes the descriptor of the terminal. */
void child_close(struct child *child);

#endif
