/* A process's history file. Each line is written by one call, so that no line is lost when the process is killed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SOAK_JOURNAL_H
#define SOAK_JOURNAL_H

#include <stdint.h>

/* Prints the reason to the standard error, which the run keeps, and ends the process. */
_Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));

void journal_open(const char *path);

/* Nanoseconds of CLOCK_MONOTONIC. */
int64_t now_ns(void);

/* Writes {"t": at, "do": what, "id": id} and the members in `format`, which begins with a comma or is empty. */
void say_at(int64_t at, const char *what, const char *id, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Writes a line with the current time. */
#define say(what, id, ...) say_at(now_ns(), what, id, __VA_ARGS__)

#endif
