/* Holds of the parent process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "inherited.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "kinds.h"
#include "wire.h"

struct inherited_hold {
    const struct resource *resource; /* kept by the reference of the hold, which this process never drops */
    uint64_t owner;
    unsigned char permit[PERMIT_SIZE];
    uint8_t lock_kind;
    atomic_bool over; /* its owner was granted the same in this process since */
};

static size_t count_holds(const struct resource_table *table) {
    size_t count = 0;
    for (uint32_t i = 0; i < table->bucket_count; i++) {
        for (const struct resource *resource = table->buckets[i]; resource; resource = resource->next) {
            for (const struct hold *hold = resource->holds; hold; hold = hold->next) {
                count++;
            }
        }
    }
    return count;
}

/* Adds a hold. If its unconfirmed release is in progress, it is left out: its owner has released it. */
static void add(struct client *client, const struct hold *hold) {
    if (hold->unconfirmed) {
        return;
    }
    struct inherited_hold *entry = &client->inherited.list[client->inherited.count++];
    *entry = (struct inherited_hold){.resource = hold->resource, .owner = hold->owner, .lock_kind = hold->lock_kind};
    if (kind_has_permit_ids(hold->lock_kind)) {
        permit_bytes(&client->engine, hold->serial, entry->permit);
    }
}

bool inherited_note(struct client *client) {
    struct resource_table *table = &client->engine.resources;
    size_t more = count_holds(table);
    if (more == 0) {
        return true;
    }
    size_t size = (client->inherited.count + more) * sizeof *client->inherited.list;
    struct inherited_hold *list = realloc(client->inherited.list, size);
    if (!list) {
        return false;
    }
    client->inherited.list = list;
    for (uint32_t i = 0; i < table->bucket_count; i++) {
        for (const struct resource *resource = table->buckets[i]; resource; resource = resource->next) {
            for (const struct hold *hold = resource->holds; hold; hold = hold->next) {
                add(client, hold);
            }
        }
    }
    return true;
}

static bool is_of(const struct inherited_hold *entry, const struct resource *resource, uint8_t lock_kind,
                  uint64_t owner) {
    return entry->resource == resource && entry->lock_kind == lock_kind && entry->owner == owner;
}

bool inherited_has(const struct client *client, const struct resource *resource, uint8_t lock_kind, uint64_t owner) {
    for (size_t i = 0; i < client->inherited.count; i++) {
        const struct inherited_hold *entry = &client->inherited.list[i];
        if (is_of(entry, resource, lock_kind, owner) && !atomic_load(&entry->over)) {
            return true;
        }
    }
    return false;
}

static void end(struct client *client, const struct resource *resource, uint8_t lock_kind, uint64_t owner) {
    for (size_t i = 0; i < client->inherited.count; i++) {
        struct inherited_hold *entry = &client->inherited.list[i];
        if (is_of(entry, resource, lock_kind, owner)) {
            atomic_store(&entry->over, true);
        }
    }
}

void inherited_finished(struct client *client, const struct operation *operation) {
    if (operation->kind != OPERATION_ACQUIRE || operation->status != REDLATCH_OK) {
        return;
    }
    const struct name_set *set = operation->set;
    if (!set) {
        end(client, operation->resource, operation->lock_kind, operation->owner);
    }
    for (uint32_t i = 0; set && i < set->count; i++) {
        end(client, set->members[i].resource, set->members[i].lock_kind, operation->owner);
    }
}

bool inherited_has_permit(const struct client *client, const struct resource *resource,
                          const unsigned char permit[PERMIT_SIZE]) {
    for (size_t i = 0; i < client->inherited.count; i++) {
        const struct inherited_hold *entry = &client->inherited.list[i];
        if (entry->resource == resource && kind_has_permit_ids(entry->lock_kind) &&
            memcmp(entry->permit, permit, PERMIT_SIZE) == 0) {
            return true;
        }
    }
    return false;
}
