/* The system calls of POSIX (system.h has the table): poll, pipes, condition variables, a monotonic clock.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Sleepers. A thread that sleeps on a futex is in a table, by the address of the futex. The waking thread finds it
 * there, under the mutex of its bucket, and signals its condition variable. A signal handler may use neither of them.
 * So a thread that a handler may wake polls the pipe of its cancel object instead, and another thread that wakes it
 * writes to that pipe. A sleeper's pipe stays open as long as the sleeper is in the table. */
#define _GNU_SOURCE
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <sys/random.h>
#endif

/* The longest sleep that has an end, in microseconds. */
static const int64_t LONGEST_SLEEP = 1000000;

/* The most that getentropy gives at a time. */
enum { RANDOM_MAX = 256 };

struct sleeper {
    struct sleeper *next;
    const _Atomic uint32_t *word;
    const struct system_signal *signal; /* that it polls; NULL: it waits for the condition */
    pthread_cond_t condition;
    bool woken;
};

struct bucket {
    pthread_mutex_t mutex;
    struct sleeper *first; /* has slept longest */
};

enum { BUCKETS = 16 };
#define FOUR_BUCKETS \
    {PTHREAD_MUTEX_INITIALIZER, NULL}, {PTHREAD_MUTEX_INITIALIZER, NULL}, {PTHREAD_MUTEX_INITIALIZER, NULL}, { \
        PTHREAD_MUTEX_INITIALIZER, NULL \
    }
static struct bucket buckets[BUCKETS] = {FOUR_BUCKETS, FOUR_BUCKETS, FOUR_BUCKETS, FOUR_BUCKETS};

int64_t system_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

/* Returns how long to sleep, in microseconds: 0 if `until` is over, -1 without end. */
static int64_t sleep_time(int64_t until) {
    if (until == INT64_MAX) {
        return -1;
    }
    int64_t left = until - system_now();
    return left < 0 ? 0 : left < LONGEST_SLEEP ? left : LONGEST_SLEEP;
}

/* ------------------------------------------------------------------------------------------------------ sleepers -- */

static struct bucket *bucket_of(const _Atomic uint32_t *word) {
    uintptr_t address = (uintptr_t)word;
    return &buckets[(address >> 4 ^ address >> 12) % BUCKETS];
}

/* Enters the sleeper into the table if its futex is as expected. With the mutex. */
static bool enter(struct bucket *bucket, struct sleeper *self, uint32_t expected) {
    if (atomic_load(self->word) != expected) {
        return false;
    }
    struct sleeper **last = &bucket->first;
    while (*last) {
        last = &(*last)->next;
    }
    *last = self;
    return true;
}

static void leave(struct bucket *bucket, const struct sleeper *self) {
    struct sleeper **link = &bucket->first;
    while (*link != self) {
        link = &(*link)->next;
    }
    *link = self->next;
}

#ifdef __APPLE__
static void condition_init(pthread_cond_t *condition) {
    pthread_cond_init(condition, NULL);
}

static void condition_wait_for(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t time) {
    struct timespec left = {(time_t)(time / 1000000), (long)(time % 1000000) * 1000};
    pthread_cond_timedwait_relative_np(condition, mutex, &left);
}
#else
static void condition_init(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void condition_wait_for(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t time) {
    int64_t at = system_now() + time;
    struct timespec end = {(time_t)(at / 1000000), (long)(at % 1000000) * 1000};
    pthread_cond_timedwait(condition, mutex, &end);
}
#endif

void system_wait(_Atomic uint32_t *futex, uint32_t expected, int64_t until) {
    int64_t time = sleep_time(until);
    if (time == 0) {
        return;
    }
    struct sleeper self = {.word = futex};
    struct bucket *bucket = bucket_of(futex);
    condition_init(&self.condition);
    pthread_mutex_lock(&bucket->mutex);
    if (enter(bucket, &self, expected)) {
        if (time < 0) {
            pthread_cond_wait(&self.condition, &bucket->mutex);
        } else {
            condition_wait_for(&self.condition, &bucket->mutex, time);
        }
        leave(bucket, &self);
    }
    pthread_mutex_unlock(&bucket->mutex);
    pthread_cond_destroy(&self.condition);
}

void system_wait_interruptible(_Atomic uint32_t *futex, uint32_t expected, int64_t until,
                               const struct system_signal *signal) {
    if (!signal || signal->fd < 0) {
        system_wait(futex, expected, until);
        return;
    }
    struct sleeper self = {.word = futex, .signal = signal};
    struct bucket *bucket = bucket_of(futex);
    pthread_mutex_lock(&bucket->mutex);
    bool sleeps = enter(bucket, &self, expected);
    pthread_mutex_unlock(&bucket->mutex);
    if (!sleeps) {
        return;
    }
    struct pollfd polled = {signal->fd, POLLIN, 0};
    system_poll(&polled, 1, until);
    pthread_mutex_lock(&bucket->mutex);
    leave(bucket, &self);
    pthread_mutex_unlock(&bucket->mutex);
    if (polled.revents || self.woken) {
        system_unsignal(signal->fd);
    }
}

/* Wakes at most `most` of the threads that sleep on a futex. */
static void wake(const _Atomic uint32_t *futex, size_t most) {
    struct bucket *bucket = bucket_of(futex);
    pthread_mutex_lock(&bucket->mutex);
    for (struct sleeper *sleeper = bucket->first; sleeper && most > 0; sleeper = sleeper->next) {
        if (sleeper->word != futex || sleeper->woken) {
            continue;
        }
        sleeper->woken = true;
        most--;
        if (sleeper->signal) {
            system_signal(sleeper->signal);
        } else {
            pthread_cond_signal(&sleeper->condition);
        }
    }
    pthread_mutex_unlock(&bucket->mutex);
}

void system_wake(_Atomic uint32_t *futex) {
    wake(futex, 1);
}

void system_wake_all(_Atomic uint32_t *futex) {
    wake(futex, SIZE_MAX);
}

void system_forget_sleepers(void) {
    static const struct bucket empty = {PTHREAD_MUTEX_INITIALIZER, NULL};
    for (int i = 0; i < BUCKETS; i++) {
        buckets[i] = empty;
    }
}

/* --------------------------------------------------------------------------------------------------- descriptors -- */

bool system_signal_new(struct system_signal *signal_out) {
    int ends[2];
    *signal_out = SYSTEM_NO_SIGNAL;
    if (pipe(ends) != 0) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
        fcntl(ends[i], F_SETFL, O_NONBLOCK);
    }
    *signal_out = (struct system_signal){ends[0], ends[1]};
    return true;
}

void system_signal(const struct system_signal *signal) {
    int saved = errno;
    ssize_t written = write(signal->write_fd, "", 1);
    (void)written; /* full means signalled already */
    errno = saved;
}

void system_unsignal(int fd) {
    char bytes[64];
    while (read(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes) {
    }
}

int system_alarm_new(void) {
    return -1;
}

bool system_alarm_set(int fd, int64_t at) {
    (void)fd;
    (void)at;
    return false;
}

int system_set_new(void) {
    return SYSTEM_NO_SETS;
}

int system_set_add(int set, int fd) {
    (void)set;
    (void)fd;
    return -1;
}

int system_set_remove(int set, int fd) {
    (void)set;
    (void)fd;
    return -1;
}

int system_poll(struct pollfd *fds, size_t count, int64_t until) {
    int64_t time = sleep_time(until);
    return poll(fds, (nfds_t)count, time < 0 ? -1 : (int)((time + 999) / 1000)); /* not before the end */
}

/* --------------------------------------------------------------------------------------------------- the process -- */

bool system_random(void *bytes, size_t size) {
    unsigned char *at = bytes;
    while (size > 0) {
        size_t part = size < RANDOM_MAX ? size : RANDOM_MAX;
        if (getentropy(at, part) != 0) {
            return false;
        }
        at += part;
        size -= part;
    }
    return true;
}

int system_processors(void) {
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (int)count : 1;
}

const char *system_environment(const char *name) {
    bool privileged = getuid() != geteuid() || getgid() != getegid();
    return privileged ? NULL : getenv(name);
}

struct timespec system_changed_at(const struct stat *file) {
#ifdef __APPLE__
    return file->st_mtimespec;
#else
    return file->st_mtim;
#endif
}

void system_thread_name(const char *name) {
#if defined(__APPLE__)
    pthread_setname_np(name);
#elif defined(__linux__)
    pthread_setname_np(pthread_self(), name);
#else
    (void)name;
#endif
}
