/* Starts the command of `run`, and passes the terminal between this process and the command.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The terminal. A shell with job control puts this process into a process group of its own. Then the child's group
 * gets the foreground, so that the signals of keys reach the child only. In a script or a pipeline, other processes are
 * in our group and would lose the terminal. So our group keeps it there, signals are passed on, and the child gets the
 * terminal only after it was stopped for using it. */
#define _GNU_SOURCE
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "signals.h"

/* Makes a process group the foreground group of the terminal. From the background this stops a process unless it blocks
 * SIGTTOU; signals_block and signals_listen block it. */
static void put_in_front(int terminal, pid_t group) {
    tcsetpgrp(terminal, group);
}

static bool has_terminal(const struct child *child) {
    return child->terminal >= 0 && tcgetpgrp(child->terminal) == getpgrp();
}

static void give_terminal(struct child *child) {
    put_in_front(child->terminal, child->pid);
    child->in_front = true;
}

static _Noreturn void become(char **command, pid_t parent, int terminal, int failure) {
    setpgid(0, 0);
    if (terminal >= 0) {
        put_in_front(terminal, getpid());
    }
    signals_restore();
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
#endif
    if (getppid() == parent) {
        execvp(command[0], command);
    }
    int error = errno;
    ssize_t written = write(failure, &error, sizeof error);
    (void)written;
    _exit(127);
}

/* Waits until the child has executed the command. Returns 0, or the errno of the failure. */
static int read_failure(int failure) {
    int error = 0;
    ssize_t got;
    do {
        got = read(failure, &error, sizeof error);
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof error ? error : 0;
}

int child_start(struct child *child, char **command) {
    memset(child, 0, sizeof *child);
    child->terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    bool alone = getpid() == getpgrp() && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    bool to_front = alone && has_terminal(child);
    int failure[2];
    if (pipe(failure) != 0) {
        return errno;
    }
    fcntl(failure[0], F_SETFD, FD_CLOEXEC);
    fcntl(failure[1], F_SETFD, FD_CLOEXEC);
    pid_t parent = getpid();
    child->pid = fork();
    if (child->pid == 0) {
        become(command, parent, to_front ? child->terminal : -1, failure[1]);
    }
    int error = child->pid < 0 ? errno : 0;
    close(failure[1]);
    if (!error) {
        error = read_failure(failure[0]); /* by then the child has its group and the terminal */
        child->in_front = to_front;
        if (error) {
            waitpid(child->pid, NULL, 0);
            child_leave_terminal(child);
        }
    }
    close(failure[0]);
    return error;
}

enum child_news child_poll(struct child *child) {
    int status;
    pid_t found = waitpid(child->pid, &status, WNOHANG | WUNTRACED);
    if (found != child->pid) {
        return CHILD_RUNS;
    }
    if (WIFSTOPPED(status)) {
        child->stopped_by = WSTOPSIG(status);
        return CHILD_STOPPED;
    }
    child->exit_status = WIFSIGNALED(status) ? signals_ending(WTERMSIG(status)) : WEXITSTATUS(status);
    return CHILD_ENDED;
}

void child_signal(const struct child *child, int number) {
    kill(-child->pid, number);
}

bool child_group_lives(const struct child *child) {
    return kill(-child->pid, 0) == 0 || errno == EPERM;
}

bool child_wants_terminal(struct child *child) {
    bool wants = child->stopped_by == SIGTTIN || child->stopped_by == SIGTTOU;
    if (wants && has_terminal(child)) {
        give_terminal(child);
        child_signal(child, SIGCONT);
        return true;
    }
    return false;
}

void child_leave_terminal(struct child *child) {
    if (child->terminal >= 0 && tcgetpgrp(child->terminal) == child->pid) {
        put_in_front(child->terminal, getpgrp());
    }
}

void child_continue(struct child *child) {
    if (child->in_front && has_terminal(child)) {
        give_terminal(child);
    }
    child_signal(child, SIGCONT);
}

void child_close(struct child *child) {
    if (child->terminal >= 0) {
        close(child->terminal);
        child->terminal = -1;
    }
}
