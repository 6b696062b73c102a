/* The table of names, each with the kind of lock it is used as: a hash table whose buckets come from the driver. A name
 * stays in it as long as it has references.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOURCES_H
#define RESOURCES_H

#include "records.h"

struct engine;

struct resource_table {
    struct resource **buckets;
    uint32_t bucket_count; /* a power of two, or 0 before the first rehash */
    uint32_t used;
};

uint32_t resource_hash(const char *name, size_t size);

/* Returns the resource of a name and a kind, with one reference more. Returns NULL if there is none. */
struct resource *resource_find(struct resource_table *table, uint8_t kind, const char *name, size_t size,
                               uint32_t hash);

/* Returns the resource with the name, the kind and the values of `like`, with one reference more, or NULL. `like` need
 * not be in the table. */
struct resource *resource_find_like(struct resource_table *table, const struct resource *like);

/* Returns the next resource of a name after `before`, whatever its kind; the first one if `before` is NULL. Adds no
 * reference. */
struct resource *resource_next_named(const struct resource_table *table, const struct resource *before,
                                     const char *name, size_t size, uint32_t hash);

/* Enters a resource whose kind, name, name_size and hash are set; it has one reference. */
void resource_add(struct resource_table *table, struct resource *resource);

/* Returns how many buckets the table should have. Returns 0 if it needs no rehash. */
uint32_t resource_table_wants(const struct resource_table *table);

/* Moves all resources into new, zeroed buckets and returns the old ones for the driver to free. */
struct resource **resource_table_rehash(struct resource_table *table, struct resource **buckets, uint32_t count);

static inline struct resource *resource_keep(struct resource *resource) {
    resource->references++;
    return resource;
}

/* Drops a reference; the last one puts the resource on the engine's list of dead ones. */
void resource_drop(struct engine *engine, struct resource *resource);

/* Returns the hold of an owner as one kind of lock (a name may have two: read and write lock), alive or lost. Returns
 * NULL if there is none, or if it is being released. */
struct hold *resource_hold_of(const struct resource *resource, uint8_t lock_kind, uint64_t owner);

/* Returns a hold of this process whose unconfirmed release is in progress, or NULL. */
const struct hold *resource_unconfirmed_hold(const struct resource *resource);

/* Returns a hold of this process that is alive, or NULL. */
struct hold *resource_live_hold(const struct resource *resource);

/* Returns the hold of an owner as one kind of lock, if it is alive, or NULL. */
struct hold *resource_live_hold_of(const struct resource *resource, uint8_t lock_kind, uint64_t owner);

#endif
