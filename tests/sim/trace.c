/* The ring buffer of the trace's lines.
 * SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

#include <stdarg.h>

void trace_line(struct trace *trace, int64_t at, const char *format, ...) {
    char *line = trace->lines[trace->count++ % TRACE_LINES];
    int size = snprintf(line, TRACE_LINE_SIZE, "%11.3f ms  ", (double)at / 1000.0);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + size, (size_t)(TRACE_LINE_SIZE - size), format, arguments);
    va_end(arguments);
    if (trace->mode == TRACE_ALL) {
        puts(line);
    }
}

void trace_print(const struct trace *trace, FILE *file) {
    uint64_t first = trace->count > TRACE_LINES ? trace->count - TRACE_LINES : 0;
    for (uint64_t i = first; i < trace->count; i++) {
        fprintf(file, "  %s\n", trace->lines[i % TRACE_LINES]);
    }
}
