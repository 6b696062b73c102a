/* A list of blocks. The last block that was allocated is the first in the list.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_memory.h"

#include <stdlib.h>
#include <string.h>

#include "redis_text.h"

struct memory {
    struct memory *next;
    max_align_t room[];
};

void *memory_give(struct memory **all, size_t size) {
    struct memory *memory = allocate(1, sizeof *memory + size);
    memset(memory->room, 0, size);
    memory->next = *all;
    *all = memory;
    return memory->room;
}

void memory_free(struct memory **all) {
    while (*all) {
        struct memory *memory = *all;
        *all = memory->next;
        free(memory);
    }
}
