/* Memory that engines are given. It is freed at the end of a run.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_MEMORY_H
#define ENGINE_MEMORY_H

#include <stddef.h>

/* A block; `*all`, at first NULL, is the one that was given last. */
struct memory;

/* Zeroed, and aligned for everything. */
void *memory_give(struct memory **all, size_t size);
void memory_free(struct memory **all);

#endif
