/* Writes the history.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "soak_journal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LINE_SIZE = 700 };

static int history = -1;

void give_up(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    _Exit(3);
}

void journal_open(const char *path) {
    history = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (history < 0) {
        give_up("cannot write %s", path);
    }
}

int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void say_at(int64_t at, const char *what, const char *id, const char *format, ...) {
    char line[LINE_SIZE];
    int begin = snprintf(line, sizeof line, "{\"t\":%" PRId64 ",\"do\":\"%s\",\"id\":\"%s\"", at, what, id);
    va_list arguments;
    va_start(arguments, format);
    int more = vsnprintf(line + begin, sizeof line - (size_t)begin, format, arguments);
    va_end(arguments);
    int size = begin + more;
    if (begin < 0 || more < 0 || size + 2 > LINE_SIZE) {
        give_up("a line of %d bytes; expected at most %d", size, LINE_SIZE);
    }
    line[size++] = '}';
    line[size++] = '\n';
    if (write(history, line, (size_t)size) != size) {
        give_up("cannot write the history");
    }
}
