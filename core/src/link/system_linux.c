/* The system calls of Linux (system.h has the table): futex, eventfd, timerfd, epoll, CLOCK_BOOTTIME.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "system.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* As in linux/futex.h, which toolchains of musl may lack. */
enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1 };

/* A time as the system call takes it. Where long has 32 bits, the fields of a timespec may be wider. */
struct futex_time {
    long seconds;
    long nanoseconds;
};

int64_t system_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* Sets the time that is left, as a timespec. Returns false if there is no end. */
static bool time_left(int64_t until, struct timespec *left_out) {
    if (until == INT64_MAX) {
        return false;
    }
    int64_t left = until - system_now();
    left = left < 0 ? 0 : left;
    left_out->tv_sec = (time_t)(left / 1000000);
    left_out->tv_nsec = (long)(left % 1000000) * 1000;
    return true;
}

/* Without FUTEX_PRIVATE_FLAG: recent kernels find the sleepers of private futexes in a small hash table of the process,
 * with a few slots for each processor, and with thousands of sleepers a wake-up searches for 20 us and more. The global
 * table costs 0.1 us more with few sleepers. A futex is still found by its address in this process only. */
void system_wait(_Atomic uint32_t *futex, uint32_t expected, int64_t until) {
    struct timespec left = {0, 0};
    bool bounded = time_left(until, &left);
    const struct futex_time time = {left.tv_sec < LONG_MAX ? (long)left.tv_sec : LONG_MAX, left.tv_nsec};
    syscall(SYS_futex, futex, FUTEX_WAIT, expected, bounded ? &time : NULL, NULL, 0);
}

void system_wake(_Atomic uint32_t *futex) {
    syscall(SYS_futex, futex, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void system_wake_all(_Atomic uint32_t *futex) {
    syscall(SYS_futex, futex, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool system_signal_new(struct system_signal *signal_out) {
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    *signal_out = (struct system_signal){fd, fd};
    return fd >= 0;
}

void system_signal(const struct system_signal *signal) {
    int saved = errno;
    uint64_t one = 1;
    ssize_t written = write(signal->write_fd, &one, sizeof one);
    (void)written; /* full means signalled already */
    errno = saved;
}

void system_unsignal(int fd) {
    uint64_t count;
    ssize_t got = read(fd, &count, sizeof count);
    (void)got;
}

int system_alarm_new(void) {
    return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
}

bool system_alarm_set(int fd, int64_t at) {
    struct itimerspec until = {{0, 0}, {0, 0}};
    if (at < INT64_MAX) {
        at = at > 0 ? at : 1; /* all zero: never */
        until.it_value = (struct timespec){(time_t)(at / 1000000), (long)(at % 1000000) * 1000};
    }
    return timerfd_settime(fd, TFD_TIMER_ABSTIME, &until, NULL) == 0;
}

int system_set_new(void) {
    return epoll_create1(EPOLL_CLOEXEC);
}

int system_set_add(int set, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};
    return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
}

int system_set_remove(int set, int fd) {
    struct epoll_event event = {0};
    return epoll_ctl(set, EPOLL_CTL_DEL, fd, &event);
}

int system_poll(struct pollfd *fds, size_t count, int64_t until) {
    struct timespec left;
    bool bounded = time_left(until, &left);
    return ppoll(fds, (nfds_t)count, bounded ? &left : NULL, NULL);
}

bool system_random(void *bytes, size_t size) {
    unsigned char *at = bytes;
    while (size > 0) {
        ssize_t got = getrandom(at, size, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        at += got;
        size -= (size_t)got;
    }
    return true;
}

int system_processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return 1;
    }
    return CPU_COUNT(&set);
}

const char *system_environment(const char *name) {
    return secure_getenv(name);
}

struct timespec system_changed_at(const struct stat *file) {
    return file->st_mtim;
}

void system_forget_sleepers(void) {
    /* nothing to forget: the kernel keeps the sleepers */
}

void system_thread_name(const char *name) {
    pthread_setname_np(pthread_self(), name);
}
