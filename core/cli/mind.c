/* Minding the command of `run`: its end, its stops, signals to be passed on, and the loss of the lock.
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

struct minding {
    const struct run_options *options;
    redlatch_client *client;
    const struct holding *holding;
    struct child child;
    int64_t kill_at; /* the grace is over then */
    int reason; /* of the loss */
    bool lost;
    bool ended;
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

/* The lock is lost: CMD may do no more. */
static void lose(struct minding *minding, int reason) {
    minding->lost = true;
    minding->reason = reason;
    bool at_once = minding->options->grace_ms == 0;
    child_signal(&minding->child, at_once ? SIGKILL : SIGTERM);
    child_signal(&minding->child, SIGCONT); /* what is stopped would not hear it */
    minding->kill_at = clock_ms() + minding->options->grace_ms;
}

/* Whether the lock is still held, by the clock: a process that slept knows before anybody tells it. */
static void check_hold(struct minding *minding) {
    int reason;
    if (!minding->lost && holding_is_over(minding->holding, &reason)) {
        lose(minding, reason);
    }
}

static void stopped(struct minding *minding) {
    if (minding->lost) {
        child_signal(&minding->child, SIGCONT);
        return;
    }
    bool stopped_alone = minding->child.stopped_by == SIGSTOP && !minding->child.in_front;
    if (child_wants_terminal(&minding->child) || stopped_alone) {
        return;
    }
    child_leave_terminal(&minding->child);
    signals_stop_self(); /* the lease is not renewed until this returns */
}

static void look_at_child(struct minding *minding) {
    enum child_news news = child_look(&minding->child);
    if (news == CHILD_STOPPED) {
        stopped(minding);
    } else if (news == CHILD_ENDED) {
        minding->ended = true;
    }
}

static void take_signals(struct minding *minding) {
    int number;
    while (!minding->ended && (number = signals_next()) != 0) {
        if (number == SIGCHLD) {
            look_at_child(minding);
        } else if (number == SIGCONT) {
            check_hold(minding);
            child_continue(&minding->child);
        } else {
            child_signal(&minding->child, number);
        }
    }
}

/* Events say nothing that check_hold does not see; they only have to be taken. */
static void take_events(struct minding *minding) {
    redlatch_event event = {.struct_size = sizeof event};
    while (redlatch_client_next_event(minding->client, &event) == REDLATCH_OK) {
        event.struct_size = sizeof event;
    }
}

static void wait_for_something(const struct minding *minding, int event_fd) {
    struct pollfd fds[2] = {{signals_fd(), POLLIN, 0}, {event_fd, POLLIN, 0}};
    int64_t until = minding->lost ? minding->kill_at : holding_end(minding->holding);
    int64_t left = until == NEVER_MS ? -1 : until - clock_ms();
    if (until != NEVER_MS && left < 0) {
        left = 0;
    }
    poll(fds, 2, left > 60000 ? 60000 : (int)left);
}

/* CMD has ended after the loss; others of its group may be on their way out still, unless they were killed with it. */
static void end_group(const struct minding *minding) {
    bool killed = minding->kill_at == NEVER_MS;
    while (!killed && child_group_lives(&minding->child) && clock_ms() < minding->kill_at) {
        poll(NULL, 0, (int)GROUP_POLL_MS);
    }
    child_signal(&minding->child, SIGKILL);
}

/* The exit status when there is no child: this machine's fault, or CMD's. */
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

static void mind_until_end(struct minding *minding, int event_fd) {
    while (!minding->ended) {
        wait_for_something(minding, event_fd);
        take_events(minding);
        take_signals(minding);
        if (!minding->ended) {
            check_hold(minding);
        }
        if (minding->lost && clock_ms() >= minding->kill_at) {
            child_signal(&minding->child, SIGKILL);
            minding->kill_at = NEVER_MS;
        }
    }
    child_leave_terminal(&minding->child);
    if (minding->lost) { /* said only now: a full pipe would hold up what has to be done */
        end_group(minding);
        complain(STATUS_LOST, "lost \"%s\": %s; ended %s", minding->holding->shown,
                 holding_lost_words(minding->reason), minding->options->command[0]);
    }
}

struct outcome mind(const struct run_options *options, redlatch_client *client, const struct holding *holding) {
    struct minding minding = {.options = options, .client = client, .holding = holding, .kill_at = NEVER_MS};
    struct outcome outcome = {.ran = false, .lost = false};
    int event_fd;
    int status = redlatch_client_event_fd(client, &event_fd);
    if (status != REDLATCH_OK) {
        outcome.exit_status = complain_of(status);
        return outcome;
    }
    signals_block();
    int error = child_start(&minding.child, options->command);
    signals_listen();
    if (error) {
        outcome.exit_status =
            complain(not_started(error), "'%s' cannot be run: %s", options->command[0], strerror(error));
        return outcome;
    }
    if (options->verbose) {
        complain(0, "runs %s as process %ld", options->command[0], (long)minding.child.pid);
    }
    mind_until_end(&minding, event_fd);
    outcome = (struct outcome){minding.lost ? STATUS_LOST : minding.child.exit_status, true, minding.lost};
    return outcome;
}
