/* A map from byte strings to pointers that keeps the order of insertion.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Entries lie in an array in that order; removed ones leave a gap until the array is full. Small maps are searched from
 * front to back, larger ones through a table of hashed slots. Nothing that can be seen depends on addresses or on the
 * hash. */
#ifndef ORDERED_MAP_H
#define ORDERED_MAP_H

#include "redis_text.h"

struct map_entry {
    struct stored_text *name; /* NULL: a gap */
    void *payload;
};

/* All zero is an empty map. */
struct ordered_map {
    struct map_entry *entries;
    uint32_t *slots;   /* position of an entry plus one, SLOT_FREE or SLOT_REMOVED; NULL while the map is small */
    uint32_t used;     /* entries, gaps included */
    uint32_t live;     /* entries without gaps */
    uint32_t capacity; /* power of two; there are twice as many slots */
};

/* The entry, or NULL. It stays where it is until the next map_add. */
struct map_entry *map_find(const struct ordered_map *map, struct redis_text name);

/* Adds an entry with no payload at the end; the name must not be there yet. */
struct map_entry *map_add(struct ordered_map *map, struct redis_text name);

/* Removes an entry and frees its name; the payload is the caller's. */
void map_remove(struct ordered_map *map, struct map_entry *entry);

/* The entries in order: start with *cursor = 0, NULL ends. Entries may be removed on the way. */
struct map_entry *map_next(const struct ordered_map *map, uint32_t *cursor);

/* Frees names and arrays and leaves an empty map; payloads are the caller's. */
void map_release(struct ordered_map *map);

#endif
