/* Preallocation: the engine's records are allocated before an operation starts, so that nothing in the engine can fail
 * for lack of memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include "preallocate.h"

#include <stdlib.h>
#include <string.h>

#include "channels.h"
#include "group.h"
#include "kinds.h"
#include "routes.h"

/* With this many holds, batches for several renewals at a time take little memory compared to the holds. */
enum { MANY_HOLDS = 1600 };

static bool preallocate_commands(struct engine *engine, uint32_t count) {
    for (; count > 0; count--) {
        struct command *command = malloc(sizeof *command);
        if (!command) {
            return false;
        }
        engine_add_command(engine, command);
    }
    return true;
}

static bool preallocate_batches(struct engine *engine, uint32_t count) {
    for (; count > 0; count--) {
        struct command *command = malloc(sizeof *command);
        struct renewal *entries = calloc(RENEWAL_BATCH_SIZE, sizeof *entries);
        if (!command || !entries) {
            free(command);
            free(entries);
            return false;
        }
        engine_add_batch(engine, command, entries);
    }
    return true;
}

static bool preallocate_entries(struct engine *engine, uint32_t count) {
    for (; count > 0; count--) {
        struct entries *entries = malloc(sizeof *entries);
        if (!entries) {
            return false;
        }
        engine_add_entries(engine, entries);
    }
    return true;
}

/* Fills the pools for one more operation. Returns false if there was no memory; then nothing but the pools has
 * changed. */
bool client_preallocate(struct client *client, uint8_t operation_kind) {
    return client_preallocate_for(client, operation_kind, NULL);
}

bool client_preallocate_for(struct client *client, uint8_t operation_kind, const struct name_set *set) {
    struct engine *engine = &client->engine;
    struct engine_preallocation needed = set ? engine_preallocation_needed_for_set(engine, operation_kind, set->count)
                                             : engine_preallocation_needed(engine, operation_kind);
    for (; needed.wait_queues > 0; needed.wait_queues--) {
        struct wait_queue *queue = malloc(sizeof *queue);
        if (!queue) {
            return false;
        }
        engine_add_wait_queue(engine, queue);
    }
    for (; needed.holds > 0; needed.holds--) {
        struct hold *hold = malloc(sizeof *hold);
        if (!hold) {
            return false;
        }
        engine_add_hold(engine, hold);
    }
    /* At least one batch, or renewals could stop for lack of memory; more once many locks are held. */
    bool many = engine->stats.held >= MANY_HOLDS;
    uint32_t batches = many ? needed.batches : engine->batch_pool_size == 0;
    return preallocate_commands(engine, needed.commands) && preallocate_entries(engine, needed.entries) &&
           preallocate_batches(engine, batches);
}

bool client_preallocate_holds(struct client *client, uint32_t count) {
    struct engine *engine = &client->engine;
    while (engine->hold_pool_size < engine->reserved_holds + count) {
        struct hold *hold = malloc(sizeof *hold);
        if (!hold) {
            return false;
        }
        engine_add_hold(engine, hold);
    }
    return true;
}

static bool grow_table(struct resource_table *table) {
    uint32_t count = resource_table_wants(table);
    if (count == 0) {
        return true;
    }
    struct resource **buckets = calloc(count, sizeof(struct resource *));
    if (!buckets) {
        return table->bucket_count > 0; /* fuller than it should be, but it works */
    }
    free(resource_table_rehash(table, buckets, count));
    return true;
}

/* Returns the resource of a name that is used as a kind of lock, with one more reference; makes it if there is none.
 * Returns NULL if there was no memory. The values of a group lock are stored behind the name, hashed and sorted. */
struct resource *client_group_resource(struct client *client, uint8_t lock_kind, const char *name, size_t size,
                                       const char *values, uint32_t value_count) {
    struct resource_table *table = &client->engine.resources;
    size_t full = client->name_prefix_size + size;
    size_t values_size = (size_t)value_count * GROUP_VALUE_SIZE;
    struct resource *resource = malloc(sizeof *resource + full + values_size);
    if (!resource || !grow_table(table)) {
        free(resource);
        return NULL;
    }
    memset(resource, 0, sizeof *resource);
    if (client->name_prefix_size) {
        memcpy(resource->name, client->name_prefix, client->name_prefix_size);
    }
    memcpy(resource->name + client->name_prefix_size, name, size);
    resource->name_size = (uint32_t)full;
    resource->kind = kind_of_names(lock_kind);
    resource->hash = resource_hash(resource->name, full);
    resource->value_count = value_count;
    if (client->engine.routes) {
        resource->slot = key_slot(resource->name, full);
        resource->server = client->engine.routes[resource->slot];
        resource->channel_in_slot = channel_is_in_slot(resource);
    }
    if (value_count > 0) {
        memcpy(resource->name + full, values, values_size);
    }
    struct resource *known = resource_find_like(table, resource);
    if (known) {
        free(resource);
        return known;
    }
    resource_add(table, resource);
    return resource;
}

struct resource *client_resource(struct client *client, uint8_t lock_kind, const char *name, size_t size) {
    return client_group_resource(client, lock_kind, name, size, NULL, 0);
}
