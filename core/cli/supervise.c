/* Supervises the command of `run`: its end, its stops, signals to be passed on, and the loss of the lock.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "child.h"
#include "holding.h"
#include "signals.h"

static const int64_t NEVER_MS = INT64_MAX;
static const int64_t GROUP_POLL_MS = 10;

struct supervisor {
    const struct run_options *options;
    redlatch_client *client;
    const struct holding *holding;
    struct child child;
    int64_t kill_at; /* when the grace ends, by clock_ms */
    int reason;      /* of the loss: enum redlatch_reason */
    bool lost;
    bool ended;
    int end_requested; /* the last signal passed on that asks for an end; 0: none */
};

int64_t clock_ms(void) {
    struct timespec now;
#ifdef CLOCK_BOOTTIME
    clock_gettime(CLOCK_BOOTTIME, &now);
#else
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Called when the lock is lost. Ends CMD with TERM, or with KILL if there is no grace. */
static void lose(struct supervisor *supervisor, int reason) {
    supervisor->lost = true;
    supervisor->reason = reason;
    bool at_once = supervisor->options->grace_ms == 0;
    child_signal(&supervisor->child, at_once ? SIGKILL : SIGTERM);
    child_signal(&supervisor->child, SIGCONT); /* a stopped process would not react to TERM */
    supervisor->kill_at = clock_ms() + supervisor->options->grace_ms;
}

/* Checks by the clock whether the lock is still held: after a suspend, the clock shows the loss before any event
 * does. */
static void check_hold(struct supervisor *supervisor) {
    int reason;
    if (!supervisor->lost && holding_is_over(supervisor->holding, &reason)) {
        lose(supervisor, reason);
    }
}

static void stopped(struct supervisor *supervisor) {
    if (supervisor->lost) {
        child_signal(&supervisor->child, SIGCONT);
        return;
    }
    bool stopped_by_itself = supervisor->child.stopped_by == SIGSTOP && !supervisor->child.in_front;
    if (child_wants_terminal(&supervisor->child) || stopped_by_itself) {
        return;
    }
    child_leave_terminal(&supervisor->child);
    signals_stop_self(); /* the lease is not renewed until this returns */
}

static void check_child(struct supervisor *supervisor) {
    enum child_news news = child_poll(&supervisor->child);
    if (news == CHILD_STOPPED) {
        stopped(supervisor);
    } else if (news == CHILD_ENDED) {
        supervisor->ended = true;
    }
}

static void take_signals(struct supervisor *supervisor) {
    int number;
    while (!supervisor->ended && (number = signals_next()) != 0) {
        if (number == SIGCHLD) {
            check_child(supervisor);
        } else if (number == SIGCONT) {
            check_hold(supervisor);
            child_continue(&supervisor->child);
        } else {
            supervisor->end_requested = signals_is_end(number) ? number : supervisor->end_requested;
            child_signal(&supervisor->child, number);
        }
    }
}

/* Discards the events: check_hold sees all that they report. Until they are read, their descriptor stays readable. */
static void take_events(struct supervisor *supervisor) {
    redlatch_event event = {.struct_size = sizeof event};
    while (redlatch_client_next_event(supervisor->client, &event) == REDLATCH_OK) {
        event.struct_size = sizeof event;
    }
}

static void wait_for_something(const struct supervisor *supervisor, int event_fd) {
    struct pollfd fds[2] = {{signals_fd(), POLLIN, 0}, {event_fd, POLLIN, 0}};
    int64_t until = supervisor->lost ? supervisor->kill_at : holding_end(supervisor->holding);
    int64_t left = until == NEVER_MS ? -1 : until - clock_ms();
    if (until != NEVER_MS && left < 0) {
        left = 0;
    }
    poll(fds, 2, left > 60000 ? 60000 : (int)left);
}

/* Called when CMD has ended after a loss. Gives the rest of its group the rest of the grace to end, then kills it. If
 * CMD was killed, its group was killed with it. */
static void end_group(const struct supervisor *supervisor) {
    bool killed = supervisor->kill_at == NEVER_MS;
    while (!killed && child_group_lives(&supervisor->child) && clock_ms() < supervisor->kill_at) {
        poll(NULL, 0, (int)GROUP_POLL_MS);
    }
    child_signal(&supervisor->child, SIGKILL);
}

/* Returns the exit status if the child could not be started. A lack of processes, memory or descriptors is this
 * machine's fault; other failures are CMD's. */
static int not_started(int error) {
    switch (error) {
    case ENOENT:
        return STATUS_NOT_FOUND;
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
        return STATUS_SYSTEM;
    default:
        return STATUS_CANNOT_RUN;
    }
}

static void supervise_until_end(struct supervisor *supervisor, int event_fd) {
    while (!supervisor->ended) {
        wait_for_something(supervisor, event_fd);
        take_events(supervisor);
        take_signals(supervisor);
        if (!supervisor->ended) {
            check_hold(supervisor);
        }
        if (supervisor->lost && clock_ms() >= supervisor->kill_at) {
            child_signal(&supervisor->child, SIGKILL);
            supervisor->kill_at = NEVER_MS;
        }
    }
    child_leave_terminal(&supervisor->child);
    if (supervisor->lost) { /* complains only now: a full pipe would delay all of the above */
        end_group(supervisor);
        complain(STATUS_LOST, "lost \"%s\": %s; ended %s", supervisor->holding->shown,
                 holding_lost_text(supervisor->reason), supervisor->options->command[0]);
    }
}

/* Prints what was expected instead of a command that cannot be run, in the usual cases. */
static void say_what_can_be_run(char *const *command, int error) {
    if (error == ENOENT && strpbrk(command[0], " ;&|")) {
        notice("it is one word: expected a program and its arguments as words of their own, or sh -c '%s'", command[0]);
    } else if (error == ENOENT && !strchr(command[0], '/')) {
        notice("expected a program in PATH, or its path; what is a part of the shell needs sh -c '%s ...'", command[0]);
    } else if (error == EACCES) {
        notice("expected a file that may be executed: chmod +x makes it one, or sh %s runs a script", command[0]);
    }
}

struct outcome supervise(const struct run_options *options, redlatch_client *client, const struct holding *holding) {
    struct supervisor supervisor = {.options = options, .client = client, .holding = holding, .kill_at = NEVER_MS};
    int event_fd;
    int reason;
    int status = redlatch_client_event_fd(client, &event_fd);
    if (status != REDLATCH_OK) {
        return (struct outcome){.exit_status = complain_of(status)};
    }
    if (holding_is_over(holding, &reason)) { /* a loss from here on is an event, one before is not */
        complain(STATUS_LOST, "lost \"%s\": %s; %s was not started", holding->shown, holding_lost_text(reason),
                 options->command[0]);
        return (struct outcome){.exit_status = STATUS_LOST, .lost = true};
    }
    signals_block();
    int error = child_start(&supervisor.child, options->command);
    signals_listen();
    if (error) {
        child_close(&supervisor.child);
        complain(not_started(error), "'%s' cannot be run: %s", options->command[0], strerror(error));
        say_what_can_be_run(options->command, error);
        return (struct outcome){.exit_status = not_started(error)};
    }
    if (options->verbose) {
        notice("runs %s as process %ld", options->command[0], (long)supervisor.child.pid);
    }
    supervise_until_end(&supervisor, event_fd);
    child_close(&supervisor.child);
    return (struct outcome){supervisor.lost ? STATUS_LOST : supervisor.child.exit_status, true, supervisor.lost,
                            supervisor.end_requested};
}
