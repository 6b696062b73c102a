/* Catches signals and writes them to a pipe.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#ifdef __linux__
#include <sys/prctl.h>
#else
#include <sys/resource.h>
#endif
#include <unistd.h>

#include "cli.h"

/* The signals that are passed on to CMD, and SIGCHLD, which reports the end of CMD. */
static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGUSR1, SIGUSR2, SIGCHLD};
enum { CAUGHT = sizeof caught / sizeof caught[0] };

static struct sigaction before[CAUGHT];
static bool replaced[CAUGHT];
static struct sigaction pipe_before;
static sigset_t mask_before;
static int ends[2] = {-1, -1};
static redlatch_cancel *volatile cancelled;
static volatile sig_atomic_t end_requested;

bool signals_is_end(int number) {
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

static void note(int number) {
    int error = errno;
    if (!cancelled) {
        unsigned char byte = (unsigned char)number;
        ssize_t written = write(ends[1], &byte, 1); /* dropped if the pipe is full */
        (void)written;
    } else if (signals_is_end(number)) {
        end_requested = number;
        redlatch_cancel_fire(cancelled);
    } /* other signals are for CMD, which does not run yet; delivered later, they could kill it before it is ready */
    errno = error;
}

static bool handle(int number, void (*handler)(int)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    return sigaction(number, &action, NULL) == 0;
}

bool signals_catch(redlatch_cancel *cancel) {
    if (pipe(ends) != 0) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
        fcntl(ends[i], F_SETFL, O_NONBLOCK);
    }
    cancelled = cancel;
    sigprocmask(SIG_SETMASK, NULL, &mask_before);
    sigaction(SIGPIPE, NULL, &pipe_before);
    handle(SIGPIPE, SIG_IGN); /* the reader of our messages may be gone; CMD is supervised all the same */
    for (int i = 0; i < CAUGHT; i++) {
        sigaction(caught[i], NULL, &before[i]);
        bool needed = caught[i] == SIGCHLD || caught[i] == SIGCONT;
        bool stops = caught[i] == SIGTSTP; /* until CMD runs, it just stops this program */
        if ((before[i].sa_handler != SIG_IGN || needed) && !stops) {
            replaced[i] = handle(caught[i], note);
        }
    }
    return true;
}

void signals_stop_cancelling(void) {
    cancelled = NULL;
    for (int i = 0; i < CAUGHT; i++) {
        if (caught[i] == SIGTSTP && before[i].sa_handler != SIG_IGN) {
            replaced[i] = handle(SIGTSTP, note);
        }
    }
}

void signals_resume_cancelling(redlatch_cancel *cancel) {
    for (int i = 0; i < CAUGHT; i++) {
        if (caught[i] == SIGTSTP && replaced[i]) {
            sigaction(SIGTSTP, &before[i], NULL);
            replaced[i] = false;
        }
    }
    cancelled = cancel;
    int number;
    while ((number = signals_next()) != 0) { /* not read before the command ended */
        note(number);
    }
}

int signals_fd(void) {
    return ends[0];
}

int signals_next(void) {
    unsigned char byte;
    ssize_t got;
    do {
        got = read(ends[0], &byte, 1);
    } while (got < 0 && errno == EINTR);
    return got == 1 ? byte : 0;
}

int signals_end_requested(void) {
    return end_requested;
}

void signals_block(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
}

void signals_listen(void) {
    sigset_t mask = mask_before;
    sigdelset(&mask, SIGCHLD); /* if the parent blocked it, CMD's end would go unnoticed */
    sigaddset(&mask, SIGTTOU); /* with `stty tostop` a message from the background would stop us */
    sigprocmask(SIG_SETMASK, &mask, NULL);
}

void signals_restore(void) {
    for (int i = 0; i < CAUGHT; i++) {
        if (replaced[i]) {
            sigaction(caught[i], &before[i], NULL);
        }
    }
    sigaction(SIGPIPE, &pipe_before, NULL);
    sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

void signals_stop_self(void) {
    handle(SIGTSTP, SIG_DFL);
    kill(0, SIGTSTP); /* the whole group, as the key does: a script around us stops, too, and gives the terminal back */
    handle(SIGTSTP, note);
}

int signals_ending(int number) {
    return number == SIGINT || number == SIGQUIT ? -number : STATUS_BY_SIGNAL + number;
}

int signals_die(int number) {
    /* CMD has dumped core if it had to. A dump of this process would say nothing. */
#ifdef __linux__
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* unlike RLIMIT_CORE, also stops a dump that is piped to a program */
#else
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
#endif
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    for (int i = 0; i < CAUGHT; i++) {
        if (caught[i] == number && replaced[i]) {
            sigaction(number, &before[i], NULL);
        }
    }
    raise(number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    return STATUS_BY_SIGNAL + number;
}
