/* Lets the n-th allocation fail. Only for a program that is linked with --wrap for malloc, calloc, realloc and strdup.
 * Allocations of the program itself and of the core are counted, those of other libraries are not.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FAILING_ALLOCATION_H
#define FAILING_ALLOCATION_H

#include <stdbool.h>
#include <stddef.h>

/* The n-th allocation from now on fails, on any thread. The allocations after it succeed. */
void failing_arm(int n);

/* Lets all allocations succeed again. Returns whether one failed. */
bool failing_disarm(void);

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);

#endif
