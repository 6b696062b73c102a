/* The system under a schedule: it begins anew with each run, can be made to fail, and counts what it gave.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WRAPPED_SYSTEM_H
#define WRAPPED_SYSTEM_H

#include <stdbool.h>

void wrapped_system_begin(void);

/* The `turn`-th call of a function from now on fails, 1 being the next. NULL: none does. */
void wrapped_system_fail(const char *function, int turn);

/* Counts a call; true if it is the one that fails. */
bool wrapped_system_fails(const char *function);

/* How many allocations the program has made and not freed, without those of shared libraries. */
long wrapped_memory_count(void);

#endif
