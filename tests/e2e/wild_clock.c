/* Loaded before a program: its wall clock is wrong by WRONG_BY seconds, and jumps ahead by STEP with every look.
 * SPDX-License-Identifier: Apache-2.0 */
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifndef WRONG_BY
#define WRONG_BY 1200
#define STEP 60
#endif

static long wrong_by = WRONG_BY;

static long next_error(void) {
    return __atomic_add_fetch(&wrong_by, STEP, __ATOMIC_RELAXED);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int status = (int)syscall(SYS_clock_gettime, clock, now);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += next_error();
    }
    return status;
}

time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) {
        *out = now.tv_sec;
    }
    return now.tv_sec;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec read;
    int status = clock_gettime(CLOCK_REALTIME, &read);
    now->tv_sec = read.tv_sec;
    now->tv_usec = read.tv_nsec / 1000;
    return status;
}
