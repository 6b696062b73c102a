/* Memory for the engines of a simulated world. It is freed at the end of a run.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_MEMORY_H
#define ENGINE_MEMORY_H

#include <stddef.h>

/* A block in a list of blocks. `*all` is the block that was allocated last, and NULL at first. */
struct memory;

/* Allocates zeroed memory, aligned for every type. */
void *memory_give(struct memory **all, size_t size);
void memory_free(struct memory **all);

#endif
