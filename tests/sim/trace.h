/* The trace of a run. It is kept only if somebody will read it: the last lines of a seed that may fail, or all lines of
 * a seed that is run again.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TRACE_H
#define TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum trace_mode { TRACE_OFF, TRACE_LAST, TRACE_ALL };
enum { TRACE_LINES = 60, TRACE_LINE_SIZE = 240 };

struct trace {
    enum trace_mode mode;
    uint64_t count;
    char lines[TRACE_LINES][TRACE_LINE_SIZE];
};

void trace_line(struct trace *trace, int64_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Prints the kept lines, oldest first. */
void trace_print(const struct trace *trace, FILE *file);

#define TRACE(world, ...) \
    do { \
        if ((world)->trace.mode != TRACE_OFF) { \
            trace_line(&(world)->trace, (world)->now, __VA_ARGS__); \
        } \
    } while (0)

#endif
