/* Every operating-system call that is not a plain socket call. What differs between systems is here and in socket.c.
 * SPDX-License-Identifier: Apache-2.0
 *
 * system_linux.c is for Linux. system_portable.c needs POSIX.1-2008 and is for all other systems; REDLATCH_PORTABLE
 * builds it on Linux, too, where it is tested. system.c is the same everywhere.
 *
 *   what is needed              Linux                           elsewhere
 *   clock                       CLOCK_BOOTTIME                  CLOCK_MONOTONIC, which counts suspend on macOS
 *   sleep on a futex, wake      futex                           table of sleepers, a condition variable for each
 *   wake from a signal handler  futex                           poll of the cancel object's pipe
 *   signal descriptor           eventfd                         pipe
 *   alarm descriptor            timerfd                         none: sleeps end after a second at the latest
 *   set of descriptors          epoll                           none: the background thread reads for the host
 *   poll until a time           ppoll                           poll, in milliseconds
 *   end of a peer, by poll      POLLRDHUP                       POLLIN, while nothing else is expected
 *   random bytes                getrandom                       getentropy
 *   processors                  sched_getaffinity               sysconf, of the machine
 *   environment                 secure_getenv                   getenv, unless the process is setuid or setgid
 *   when a file changed         st_mtim                         the same, or st_mtimespec on macOS
 *   thread name                 pthread_setname_np              the same by macOS' arguments; none
 *   socket, close-on-exec       SOCK_CLOEXEC, SOCK_NONBLOCK     fcntl, after which a fork may slip in
 *   reads that sleep            SO_RCVTIMEO                     none: poll comes before each read
 *   dead peers                  TCP_KEEPIDLE, TCP_USER_TIMEOUT  TCP_KEEPALIVE, TCP_RXT_CONNDROPTIME on macOS
 *   no SIGPIPE                  MSG_NOSIGNAL                    the same, or SO_NOSIGPIPE
 *   reset of a connection       connect to AF_UNSPEC            SO_LINGER of 0 s
 *
 * A sleep of system_portable.c that has an end lasts a second at most, since it does not count the time that the
 * machine is suspended. The caller then reads the clock again. */
#ifndef SYSTEM_H
#define SYSTEM_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Microseconds on a clock that cannot be set and counts the time a machine is suspended. */
int64_t system_now(void);

/* Sleeps while *futex == expected, at most until `until` (system_now's clock; INT64_MAX: without end). May return
 * early. */
void system_wait(_Atomic uint32_t *futex, uint32_t expected, int64_t until);

/* Lets other threads have the processor first. */
void system_yield(void);

/* Pauses for some ten nanoseconds, in which the other hardware thread of the core runs alone. */
static inline void system_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* Wakes one sleeper (system_wake_all: all). The futex itself is not read or written: its memory may be gone. */
void system_wake(_Atomic uint32_t *futex);
void system_wake_all(_Atomic uint32_t *futex);

/* A descriptor that system_signal makes readable until system_unsignal. */
struct system_signal {
    int fd;       /* to poll and to unsignal; -1: none */
    int write_fd; /* the same, or the other end of a pipe */
};
#define SYSTEM_NO_SIGNAL ((struct system_signal){-1, -1})
bool system_signal_new(struct system_signal *signal_out); /* false, with none and errno set, on failure */
void system_signal(const struct system_signal *signal);   /* async-signal-safe */
void system_unsignal(int fd);
void system_signal_close(struct system_signal *signal); /* calls close(2) only; SYSTEM_NO_SIGNAL is allowed */

/* As system_wait, but system_interrupt also ends it. system_interrupt is async-signal-safe. The wait may take the
 * signal, so the caller changes the futex word before it calls system_interrupt. If the signal is NULL or
 * SYSTEM_NO_SIGNAL, this is system_wait. */
#ifdef REDLATCH_PORTABLE
void system_wait_interruptible(_Atomic uint32_t *futex, uint32_t expected, int64_t until,
                               const struct system_signal *signal);
#else
static inline void system_wait_interruptible(_Atomic uint32_t *futex, uint32_t expected, int64_t until,
                                             const struct system_signal *signal) {
    (void)signal;
    system_wait(futex, expected, until);
}
#endif

/* Wakes the thread that sleeps in system_wait_interruptible or polls the signal. */
static inline void system_interrupt(_Atomic uint32_t *futex, const struct system_signal *signal) {
#ifdef REDLATCH_PORTABLE
    (void)futex;
#else
    system_wake(futex);
#endif
    system_signal(signal);
}

/* An alarm is a descriptor that becomes readable at a time of system_now's clock, even if the machine was suspended
 * meanwhile. It is -1 on failure, and on systems where no sleep is long. It can be set to one time after the other
 * (INT64_MAX: never). system_unsignal makes it unreadable again. */
int system_alarm_new(void);
bool system_alarm_set(int fd, int64_t at);

/* A pollable set of descriptors; -1 on failure, SYSTEM_NO_SETS where there is no such thing. Adding and removing return
 * 0 or -1. */
enum { SYSTEM_NO_SETS = -2 };
int system_set_new(void);
int system_set_add(int set, int fd);
int system_set_remove(int set, int fd);

/* poll(2) until a time of system_now's clock. If the machine is suspended meanwhile, the poll lasts longer by that
 * time. A descriptor of -1 is ignored. May return 0 early. */
int system_poll(struct pollfd *fds, size_t count, int64_t until);

/* The event to poll for to see that a peer closed a connection. With POLLIN, replies end the poll as well. */
#ifdef REDLATCH_PORTABLE
#define SYSTEM_POLL_END POLLIN
#else
#define SYSTEM_POLL_END POLLRDHUP
#endif

/* Fills with random bytes; false on failure. */
bool system_random(void *bytes, size_t size);

/* How many processors this process may run on. */
int system_processors(void);

/* Returns a variable of the environment. Returns NULL if it is not set, or if the process has more rights than the user
 * who set it. */
const char *system_environment(const char *name);

/* When the contents of a file changed last, by what stat says of it. */
struct stat;
struct timespec system_changed_at(const struct stat *file);

/* Returns a number that each fork raises in the child, so that handles of the parent are recognised. */
uint32_t system_fork_generation(void);

/* Arranges for `before` / `parent` / `child` to be called around fork; once per process. Returns 0 or an errno. */
int system_at_fork(void (*before)(void), void (*parent)(void), void (*child)(void));

/* Called in a child before any other function here: forgets the sleeping threads, which are the parent's. */
void system_forget_sleepers(void);

/* Starts a thread in which every signal is blocked from the first moment, so that it never runs a handler of the
 * host's; false if the system refuses. */
bool system_thread_start(pthread_t *thread_out, void *(*run)(void *), void *argument);

/* Names the calling thread for debuggers. */
void system_thread_name(const char *name);

#endif
