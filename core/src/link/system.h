/* Every operating-system call that is not a plain socket call, in one place, so that other systems can follow.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SYSTEM_H
#define SYSTEM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Microseconds on a clock that cannot be set and counts the time a machine is suspended. */
int64_t system_now(void);

/* Sleeps while *word == expected, at most until `until` (system_now's clock; INT64_MAX without end). May return
 * early. */
void system_wait(_Atomic uint32_t *futex, uint32_t expected, int64_t until);

/* Lets other threads have the processor first. */
void system_yield(void);

/* Some ten nanoseconds in which another hardware thread of the core has it to itself. */
static inline void system_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* Wakes one sleeper (system_wake_all: all). Async-signal-safe. The word itself is not touched. */
void system_wake(_Atomic uint32_t *futex);
void system_wake_all(_Atomic uint32_t *futex);

/* A descriptor that system_signal makes readable until system_unsignal; -1 on failure. */
int system_signal_new(void);
void system_signal(int fd); /* async-signal-safe */
void system_unsignal(int fd);

/* A descriptor that becomes readable at a time of system_now's clock, also if the machine was suspended meanwhile; -1
 * on failure. It is set to one time after the other (INT64_MAX: never); system_unsignal takes a signal that was given.
 */
int system_alarm_new(void);
bool system_alarm_set(int fd, int64_t at);

/* A pollable set of descriptors; -1 on failure. Adding and removing return 0 or -1. */
int system_set_new(void);
int system_set_add(int set, int fd);
int system_set_remove(int set, int fd);

/* poll(2) with an end in system_now's clock, of which time that the machine is suspended does not count. A descriptor
 * of -1 is ignored. */
struct pollfd;
int system_poll(struct pollfd *fds, size_t count, int64_t until);

/* Fills with random bytes; false on failure. */
bool system_random(void *bytes, size_t size);

/* How many processors this process may run on. */
int system_processors(void);

/* Rises in a child process at every fork, so that handles of the parent are recognised. */
uint32_t system_fork_generation(void);

/* Arranges for `before` / `parent` / `child` to be called around fork; once per process. 0 or an errno. */
int system_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void));

/* Starts a thread in which every signal is blocked from the first moment, so that it never runs a handler of the
 * host's; false if the system refuses. */
bool system_thread_start(pthread_t *thread_out, void *(*run)(void *), void *argument);

/* Names the calling thread for debuggers. */
void system_thread_name(const char *name);

#endif
