/* What is the same on every system: forks, and threads that the host's signals do not reach.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "system.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

static _Atomic uint32_t fork_generation;
static void (*child_hook)(void);

void system_yield(void) {
    sched_yield();
}

void system_signal_close(struct system_signal *signal) {
    if (signal->fd >= 0) {
        close(signal->fd);
    }
    if (signal->write_fd >= 0 && signal->write_fd != signal->fd) {
        close(signal->write_fd);
    }
    *signal = SYSTEM_NO_SIGNAL;
}

uint32_t system_fork_generation(void) {
    return atomic_load_explicit(&fork_generation, memory_order_relaxed);
}

static void in_child(void) {
    system_forget_sleepers();
    atomic_fetch_add_explicit(&fork_generation, 1, memory_order_relaxed);
    child_hook();
}

int system_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void)) {
    child_hook = child;
    return pthread_atfork(before, parent, in_child);
}

bool system_thread_start(pthread_t *thread_out, void *(*run)(void *), void *argument) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(thread_out, NULL, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}
