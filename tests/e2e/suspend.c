/* Loaded before a program: what a suspend of the machine is to it. The clock that counts suspend goes on, with the
 * timers that stand on it; sleeps that count the time awake are as long as before. Compiled with MONOTONIC_COUNTS it is
 * CLOCK_MONOTONIC that counts suspend, as on macOS, and waits for a condition variable stand on it.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { TIMERS = 64 };

#ifdef MONOTONIC_COUNTS
static const clockid_t COUNTING = CLOCK_MONOTONIC;
#else
static const clockid_t COUNTING = CLOCK_BOOTTIME;
#endif

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long suspended; /* seconds, in all */
static struct timer {
    int fd;
    struct itimerspec until; /* on the clock as the program sees it */
} timers[TIMERS];
static int count;

int clock_gettime(clockid_t clock, struct timespec *now) {
    int status = (int)syscall(SYS_clock_gettime, clock, now);
    if (status == 0 && clock == COUNTING) {
        now->tv_sec += __atomic_load_n(&suspended, __ATOMIC_SEQ_CST);
    }
    return status;
}

#ifdef MONOTONIC_COUNTS
/* A time on the clock as the program sees it is that much earlier on the real one. */
int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *held, const struct timespec *until) {
    struct timespec real = *until;
    real.tv_sec -= __atomic_load_n(&suspended, __ATOMIC_SEQ_CST);
    return pthread_cond_clockwait(condition, held, CLOCK_MONOTONIC, &real);
}
#endif

static int set(const struct timer *timer) {
    struct itimerspec real = timer->until;
    if (real.it_value.tv_sec > suspended) {
        real.it_value.tv_sec -= suspended;
    } else if (real.it_value.tv_sec > 0) { /* over */
        real.it_value = (struct timespec){0, 1};
    }
    return (int)syscall(SYS_timerfd_settime, timer->fd, TFD_TIMER_ABSTIME, &real, NULL);
}

/* Timers are absolute, on the clock that counts suspend. */
int timerfd_settime(int fd, int flags, const struct itimerspec *until, struct itimerspec *before) {
    (void)flags;
    (void)before;
    pthread_mutex_lock(&mutex);
    int i = 0;
    while (i < count && timers[i].fd != fd) {
        i++;
    }
    count += i == count && count < TIMERS - 1;
    timers[i] = (struct timer){fd, *until};
    int status = set(&timers[i]);
    pthread_mutex_unlock(&mutex);
    return status;
}

/* The machine was suspended for so long, and goes on. */
void suspend(int seconds) {
    pthread_mutex_lock(&mutex);
    __atomic_add_fetch(&suspended, seconds, __ATOMIC_SEQ_CST);
    for (int i = 0; i < count; i++) {
        set(&timers[i]);
    }
    pthread_mutex_unlock(&mutex);
}
