/* A map from byte strings to pointers that keeps the order of insertion.
 * SPDX-License-Identifier: Apache-2.0 */
#include "ordered_map.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 4, SEARCHED_CAPACITY = 8 };

#define SLOT_FREE 0
#define SLOT_REMOVED UINT32_MAX

static uint32_t hash_name(struct redis_text name) {
    uint64_t hash = name.size;
    size_t at = 0;
    while (at < name.size) {
        size_t step = name.size - at < sizeof hash ? name.size - at : sizeof hash;
        uint64_t word = 0;
        memcpy(&word, name.bytes + at, step);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 32;
        at += step;
    }
    return (uint32_t)hash;
}

static uint32_t slot_mask(const struct ordered_map *map) {
    return 2 * map->capacity - 1;
}

/* Returns the slot of the named entry, or the free slot at which the search ends. */
static uint32_t find_slot(const struct ordered_map *map, struct redis_text name) {
    uint32_t mask = slot_mask(map);
    uint32_t at = hash_name(name) & mask;
    while (map->slots[at] != SLOT_FREE) {
        if (map->slots[at] != SLOT_REMOVED && text_equal(text_view(map->entries[map->slots[at] - 1].name), name)) {
            return at;
        }
        at = (at + 1) & mask;
    }
    return at;
}

struct map_entry *map_find(const struct ordered_map *map, struct redis_text name) {
    if (map->slots) {
        uint32_t slot = map->slots[find_slot(map, name)];
        return slot == SLOT_FREE ? NULL : &map->entries[slot - 1];
    }
    for (uint32_t i = 0; i < map->used; i++) {
        if (map->entries[i].name && text_equal(text_view(map->entries[i].name), name)) {
            return &map->entries[i];
        }
    }
    return NULL;
}

/* Closes the gaps. Doubles the capacity unless more than half of the entries were gaps. */
static void make_room(struct ordered_map *map) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < map->used; i++) {
        if (map->entries[i].name) {
            map->entries[kept++] = map->entries[i];
        }
    }
    map->used = kept;
    if (kept >= map->capacity / 2) {
        map->capacity = map->capacity == 0 ? FIRST_CAPACITY : 2 * map->capacity;
        map->entries = reallocate(map->entries, map->capacity, sizeof *map->entries);
    }
    if (map->capacity <= SEARCHED_CAPACITY) {
        return;
    }
    free(map->slots);
    map->slots = allocate(2 * (size_t)map->capacity, sizeof *map->slots);
    memset(map->slots, SLOT_FREE, 2 * (size_t)map->capacity * sizeof *map->slots);
    for (uint32_t i = 0; i < map->used; i++) {
        map->slots[find_slot(map, text_view(map->entries[i].name))] = i + 1;
    }
}

struct map_entry *map_add(struct ordered_map *map, struct redis_text name) {
    if (map->used == map->capacity) {
        make_room(map);
    }
    if (map->slots) {
        map->slots[find_slot(map, name)] = map->used + 1;
    }
    struct map_entry *entry = &map->entries[map->used++];
    map->live++;
    entry->name = text_store(name);
    entry->payload = NULL;
    return entry;
}

void map_remove(struct ordered_map *map, struct map_entry *entry) {
    if (map->slots) {
        map->slots[find_slot(map, text_view(entry->name))] = SLOT_REMOVED;
    }
    free(entry->name);
    entry->name = NULL;
    map->live--;
    /* So a small map that is filled and emptied in turn never runs full. With slots the entry stays counted. */
    if (!map->slots && entry == &map->entries[map->used - 1]) {
        map->used--;
    }
}

struct map_entry *map_next(const struct ordered_map *map, uint32_t *cursor) {
    while (*cursor < map->used) {
        struct map_entry *entry = &map->entries[(*cursor)++];
        if (entry->name) {
            return entry;
        }
    }
    return NULL;
}

void map_release(struct ordered_map *map) {
    for (uint32_t i = 0; i < map->used; i++) {
        free(map->entries[i].name);
    }
    free(map->entries);
    free(map->slots);
    *map = (struct ordered_map){0};
}
