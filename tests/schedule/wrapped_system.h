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

/* The `number`-th allocation from now on fails, 1 being the next; 0: none does. */
void wrapped_memory_fail(int number);

/* Whether that allocation was made. */
bool wrapped_memory_has_failed(void);

/* From true to false allocations are not the library's: none is counted, or fails. May be nested. */
void wrapped_memory_spare(bool spare);

/* How many blocks were freed in which a password of the tests stood. */
extern bool wrapped_memory_seeks; /* whether they are looked for */
extern long wrapped_memory_secrets;

/* How many allocations the program has made and not freed, without those of shared libraries. */
long wrapped_memory_count(void);

#endif
