/* The replaced system: it begins anew with each run, can be made to fail, and counts allocations.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WRAPPED_SYSTEM_H
#define WRAPPED_SYSTEM_H

#include <stdbool.h>

void wrapped_system_begin(void);

/* Makes the `turn`-th call of a function from now on fail; 1 is the next call. NULL: no function fails. */
void wrapped_system_fail(const char *function, int turn);

/* Counts a call. Returns true if it must fail. */
bool wrapped_system_fails(const char *function);

/* Makes the `number`-th allocation from now on fail; 1 is the next one. 0: none fails. */
void wrapped_memory_fail(int number);

/* Returns whether that allocation has been reached. */
bool wrapped_memory_has_failed(void);

/* Between a call with true and one with false, allocations are not the library's: they are not counted and do not fail.
 * Calls may be nested. */
void wrapped_memory_spare(bool spare);

/* How many blocks were freed with a password of the tests in them. */
extern bool wrapped_memory_seeks; /* whether freed blocks are searched */
extern long wrapped_memory_secrets;

/* Returns how many allocations the program has made and not freed, without those of shared libraries. */
long wrapped_memory_count(void);

#endif
