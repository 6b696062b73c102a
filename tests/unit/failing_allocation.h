/* Lets the n-th allocation fail. Only for a program linked with --wrap for malloc, calloc, realloc and strdup: its
 * own allocations and those of the core come here, those of the libraries it is linked with do not.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef FAILING_ALLOCATION_H
#define FAILING_ALLOCATION_H

#include <stdbool.h>
#include <stddef.h>

/* From now on the n-th allocation of any thread fails, once. */
void failing_arm(int n);

/* No more failures; whether there was one. */
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
