/* Memory for an engine. Its records are counted, so that the end of a run can tell whether all have come back.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "engine_memory.h"
#include "sim_client.h"
#include "world.h"

void *client_allocate(struct client *client, size_t size) {
    return memory_give(&client->memory, size);
}

void sim_client_preallocate(struct client *client, const struct operation *operation) {
    struct engine_preallocation needed = operation->set ? engine_preallocation_needed_for_set(
                                                              &client->engine, operation->kind, operation->set->count)
                                                        : engine_preallocation_needed(&client->engine, operation->kind);
    client->lines += needed.entries;
    for (; needed.entries > 0; needed.entries--) {
        engine_add_entries(&client->engine, client_allocate(client, sizeof(struct entries)));
    }
    client->commands += needed.commands;
    client->wait_queues += needed.wait_queues;
    client->holds += needed.holds;
    client->batches += needed.batches;
    for (; needed.commands > 0; needed.commands--) {
        engine_add_command(&client->engine, client_allocate(client, sizeof(struct command)));
    }
    for (; needed.wait_queues > 0; needed.wait_queues--) {
        engine_add_wait_queue(&client->engine, client_allocate(client, sizeof(struct wait_queue)));
    }
    for (; needed.holds > 0; needed.holds--) {
        engine_add_hold(&client->engine, client_allocate(client, sizeof(struct hold)));
    }
    for (; needed.batches > 0; needed.batches--) {
        struct renewal *lines = client_allocate(client, RENEWAL_BATCH_SIZE * sizeof *lines);
        engine_add_batch(&client->engine, client_allocate(client, sizeof(struct command)), lines);
    }
}

/* The values of a group lock follow its name in memory. */
static void add_values(struct resource *resource, const char *values) {
    resource->value_count = 2;
    memcpy(resource->name + resource->name_size, values, (size_t)2 * GROUP_VALUE_SIZE);
}

struct resource *client_name(struct client *client, uint32_t number) {
    struct redis_text name = client->world->names[number];
    uint8_t kind = world_kind(client->world, number);
    bool has_values = world_has_values(client->world); /* each name has its own values */
    struct resource_table *table = &client->engine.resources;
    uint32_t hash = resource_hash(name.bytes, name.size);
    struct resource *resource = has_values ? NULL : resource_find(table, kind, name.bytes, name.size, hash);
    if (resource) {
        return resource;
    }
    uint32_t wanted = resource_table_wants(table);
    if (wanted) {
        free(resource_table_rehash(table, calloc(wanted, sizeof(struct resource *)), wanted));
    }
    resource = allocate(1, sizeof *resource + name.size + (size_t)2 * GROUP_VALUE_SIZE);
    memset(resource, 0, sizeof *resource);
    resource->kind = kind;
    resource->hash = hash;
    resource->name_size = (uint32_t)name.size;
    memcpy(resource->name, name.bytes, name.size);
    if (has_values) {
        size_t first = world_first_value(client->world, number);
        add_values(resource, client->world->values + first * GROUP_VALUE_SIZE);
    }
    resource_add(table, resource);
    return resource;
}

void client_free_dead(struct client *client) {
    while (client->engine.dead_resources) {
        struct resource *dead = client->engine.dead_resources;
        client->engine.dead_resources = dead->next;
        free(dead);
    }
}

void client_free(struct client *client) {
    client_free_dead(client);
    struct resource_table *table = &client->engine.resources;
    for (uint32_t i = 0; i < table->bucket_count; i++) {
        while (table->buckets[i]) {
            struct resource *resource = table->buckets[i];
            table->buckets[i] = resource->next;
            free(resource);
        }
    }
    free(table->buckets);
    memory_free(&client->memory);
    free(client);
}
