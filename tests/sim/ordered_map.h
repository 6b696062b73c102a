/* A map from byte strings to pointers that keeps the order of insertion.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The entries are in an array, in order of insertion. A removed entry leaves a gap until the array is full. Small maps
 * are searched from front to back, larger ones through a hash table. No visible behaviour depends on addresses or on
 * the hash. */
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

/* Returns the entry, or NULL. The entry stays at its address until the next map_add. */
struct map_entry *map_find(const struct ordered_map *map, struct redis_text name);

/* Adds an entry without a payload at the end. The name must not be in the map. */
struct map_entry *map_add(struct ordered_map *map, struct redis_text name);

/* Removes an entry and frees its name. The payload stays the caller's. */
void map_remove(struct ordered_map *map, struct map_entry *entry);

/* Iterates over the entries in order. Start with *cursor = 0; returns NULL at the end. Entries may be removed
 * meanwhile. */
struct map_entry *map_next(const struct ordered_map *map, uint32_t *cursor);

/* Frees names and arrays and leaves an empty map. The payloads stay the caller's. */
void map_release(struct ordered_map *map);

#endif
