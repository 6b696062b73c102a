/* What every benchmark program needs: clocks, CPU time, resident memory, and a way to give up with a reason.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Include it before any system header: it asks for the interfaces the programs use.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Ends the program with a sentence on stderr. A benchmark that met an error has no figure to give. */
__attribute__((noreturn, format(printf, 1, 2))) static inline void give_up(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

/* The monotonic clock, the same in every process of the machine, so that two processes may compare their readings. */
static inline int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void sleep_ns(int64_t duration_ns) {
    const int64_t until_ns = now_ns() + duration_ns;
    struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000), .tv_nsec = (long)(until_ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0) {
    }
}

static inline double timeval_seconds(struct timeval value) {
    return (double)value.tv_sec + (double)value.tv_usec / 1e6;
}

/* CPU time of all threads of this process, user and system. */
static inline double process_cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return timeval_seconds(usage.ru_utime) + timeval_seconds(usage.ru_stime);
}

static inline int64_t resident_bytes(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    long total_pages = 0;
    long resident_pages = 0;
    if (file == NULL || fscanf(file, "%ld %ld", &total_pages, &resident_pages) != 2) {
        give_up("cannot read /proc/self/statm, where the resident size is");
    }
    fclose(file);
    return (int64_t)resident_pages * sysconf(_SC_PAGESIZE);
}

/* Blocks until the harness writes a line: it looks at the server between two phases of a program. */
static inline void wait_for_go(void) {
    fflush(stdout);
    char line[16];
    if (fgets(line, sizeof line, stdin) == NULL) {
        give_up("the harness closed the standard input before the program was done");
    }
}

#endif
