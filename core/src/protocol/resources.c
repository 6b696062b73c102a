/* Names and their holds.
 * SPDX-License-Identifier: Apache-2.0 */
#include "resources.h"

#include <string.h>

#include "engine.h"
#include "group.h"

/* FNV-1a: names are short and the table is private to the process. */
uint32_t resource_hash(const char *name, size_t size) {
    uint32_t hash = UINT32_C(2166136261);
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ (unsigned char)name[i]) * UINT32_C(16777619);
    }
    return hash;
}

struct resource *resource_next_named(const struct resource_table *table, const struct resource *before,
                                     const char *name, size_t size, uint32_t hash) {
    if (table->bucket_count == 0) {
        return NULL;
    }
    struct resource *resource = before ? before->next : table->buckets[hash & (table->bucket_count - 1)];
    for (; resource; resource = resource->next) {
        if (resource->hash == hash && resource->name_size == size && memcmp(resource->name, name, size) == 0) {
            return resource;
        }
    }
    return NULL;
}

struct resource *resource_find(struct resource_table *table, uint8_t kind, const char *name, size_t size,
                               uint32_t hash) {
    struct resource *resource = resource_next_named(table, NULL, name, size, hash);
    while (resource && resource->kind != kind) {
        resource = resource_next_named(table, resource, name, size, hash);
    }
    return resource ? resource_keep(resource) : NULL;
}

struct resource *resource_find_like(struct resource_table *table, const struct resource *like) {
    size_t values_size = (size_t)like->value_count * GROUP_VALUE_SIZE;
    struct resource *resource = NULL;
    while ((resource = resource_next_named(table, resource, like->name, like->name_size, like->hash))) {
        if (resource->kind == like->kind && resource->value_count == like->value_count &&
            memcmp(resource->name + resource->name_size, like->name + like->name_size, values_size) == 0) {
            return resource_keep(resource);
        }
    }
    return NULL;
}

void resource_add(struct resource_table *table, struct resource *resource) {
    struct resource **bucket = &table->buckets[resource->hash & (table->bucket_count - 1)];
    resource->next = *bucket;
    *bucket = resource;
    resource->references = 1;
    table->used++;
}

uint32_t resource_table_wants(const struct resource_table *table) {
    if (table->bucket_count == 0) {
        return 16;
    }
    return table->used >= table->bucket_count && table->bucket_count < UINT32_C(1) << 28 ? table->bucket_count * 2 : 0;
}

struct resource **resource_table_rehash(struct resource_table *table, struct resource **buckets, uint32_t count) {
    for (uint32_t i = 0; i < table->bucket_count; i++) {
        struct resource *resource = table->buckets[i];
        while (resource) {
            struct resource *next = resource->next;
            struct resource **bucket = &buckets[resource->hash & (count - 1)];
            resource->next = *bucket;
            *bucket = resource;
            resource = next;
        }
    }
    struct resource **old = table->buckets;
    table->buckets = buckets;
    table->bucket_count = count;
    return old;
}

void resource_drop(struct engine *engine, struct resource *resource) {
    if (--resource->references > 0) {
        return;
    }
    struct resource_table *table = &engine->resources;
    struct resource **link = &table->buckets[resource->hash & (table->bucket_count - 1)];
    while (*link != resource) {
        link = &(*link)->next;
    }
    *link = resource->next;
    table->used--;
    resource->next = engine->dead_resources;
    engine->dead_resources = resource;
}

struct hold *resource_hold_of(const struct resource *resource, uint8_t lock_kind, uint64_t owner) {
    struct hold *hold = resource->holds;
    while (hold && (hold->owner != owner || hold->lock_kind != lock_kind || hold->stage == HOLD_RELEASING)) {
        hold = hold->next;
    }
    return hold;
}

const struct hold *resource_unconfirmed_hold(const struct resource *resource) {
    const struct hold *hold = resource->holds;
    while (hold && !hold->unconfirmed) {
        hold = hold->next;
    }
    return hold;
}

struct hold *resource_live_hold(const struct resource *resource) {
    struct hold *hold = resource->holds;
    while (hold && hold->stage != HOLD_ALIVE) {
        hold = hold->next;
    }
    return hold;
}

struct hold *resource_live_hold_of(const struct resource *resource, uint8_t lock_kind, uint64_t owner) {
    struct hold *hold = resource_hold_of(resource, lock_kind, owner);
    return hold && hold->stage == HOLD_ALIVE ? hold : NULL;
}
