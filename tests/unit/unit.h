/* The little that a unit test needs: checks that go on after a failure, named cases, and a closing count.
 * SPDX-License-Identifier: Apache-2.0
 *
 *     static void counts_levels(void) { CHECK_EQ_INT(levels(), 2); }
 *     int main(void) { RUN(counts_levels); return unit_done(); }
 *
 * A case fails when any of its checks does. Checks may be made on any thread that the case joins before it returns.
 */
#ifndef UNIT_H
#define UNIT_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Of the case that is running. The files of a program share it (weak), so that the checks of a fixture count. */
__attribute__((weak)) atomic_int unit_failed_checks;
static int unit_passed;
static int unit_failed;

static inline void unit_check(int good, const char *file, int line, const char *what) {
    if (!good) {
        fprintf(stderr, "%s:%d: %s\n", file, line, what);
        atomic_fetch_add(&unit_failed_checks, 1);
    }
}

static inline void unit_check_int(int64_t is, int64_t expected, const char *file, int line, const char *what) {
    char text[512];
    snprintf(text, sizeof text, "%s is %lld, expected %lld", what, (long long)is, (long long)expected);
    unit_check(is == expected, file, line, text);
}

static inline void unit_check_str(const char *is, const char *expected, const char *file, int line, const char *what) {
    char text[1024];
    if (is == NULL || expected == NULL) {
        unit_check(is == expected, file, line, what);
        return;
    }
    snprintf(text, sizeof text, "%s is \"%s\", expected \"%s\"", what, is, expected);
    unit_check(strcmp(is, expected) == 0, file, line, text);
}

static inline void unit_run(const char *name, void (*run_case)(void)) {
    atomic_store(&unit_failed_checks, 0);
    run_case();
    if (atomic_load(&unit_failed_checks) == 0) {
        unit_passed++;
        return;
    }
    unit_failed++;
    fprintf(stderr, "FAILED %s\n", name);
}

/* Prints the count; what main returns. A program without cases fails. */
static inline int unit_done(void) {
    printf("%d passed, %d failed\n", unit_passed, unit_failed);
    return unit_failed > 0 || unit_passed == 0;
}

#define CHECK(condition) unit_check((condition) ? 1 : 0, __FILE__, __LINE__, #condition)
#define CHECK_EQ_INT(is, expected) unit_check_int((int64_t)(is), (int64_t)(expected), __FILE__, __LINE__, #is)
#define CHECK_STR(is, expected) unit_check_str((is), (expected), __FILE__, __LINE__, #is)
#define RUN(name) unit_run(#name, name)

#endif
