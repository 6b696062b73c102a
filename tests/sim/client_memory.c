/* Memory for an engine, kept account of so that the end of a run can tell whether all came back.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "sim_client.h"
#include "world.h"

struct memory {
    struct memory *next;
    max_align_t room[];
};

void *client_allocate(struct client *client, size_t size) {
    struct memory *memory = allocate(1, sizeof *memory + size);
    memset(memory->room, 0, size);
    memory->next = client->memory;
    client->memory = memory;
    return memory->room;
}

void client_supply(struct client *client, const struct operation *operation) {
    struct engine_lack lack = operation->set
                                  ? engine_lacks_for_set(&client->engine, operation->kind, operation->set->count)
                                  : engine_lacks(&client->engine, operation->kind);
    client->lines += lack.lines;
    for (; lack.lines > 0; lack.lines--) {
        engine_supply_lines(&client->engine, client_allocate(client, sizeof(struct lines)));
    }
    client->commands += lack.commands;
    client->contests += lack.contests;
    client->holds += lack.holds;
    client->batches += lack.batches;
    for (; lack.commands > 0; lack.commands--) {
        engine_supply_command(&client->engine, client_allocate(client, sizeof(struct command)));
    }
    for (; lack.contests > 0; lack.contests--) {
        engine_supply_contest(&client->engine, client_allocate(client, sizeof(struct contest)));
    }
    for (; lack.holds > 0; lack.holds--) {
        engine_supply_hold(&client->engine, client_allocate(client, sizeof(struct hold)));
    }
    for (; lack.batches > 0; lack.batches--) {
        struct renewal *lines = client_allocate(client, RENEWAL_BATCH_SIZE * sizeof *lines);
        engine_supply_batch(&client->engine, client_allocate(client, sizeof(struct command)), lines);
    }
}

/* The values of a group stand behind its name. */
static void add_values(struct resource *resource, const char *values) {
    resource->value_count = 2;
    memcpy(resource->name + resource->name_size, values, (size_t)2 * GROUP_VALUE_SIZE);
}

struct resource *client_name(struct client *client, uint32_t number) {
    struct redis_text name = client->world->names[number];
    bool has_values = world_has_values(client->world); /* each name has others */
    struct resource_table *table = &client->engine.resources;
    uint32_t hash = resource_hash(name.bytes, name.size);
    struct resource *resource =
        has_values ? NULL : resource_find(table, client->world->plan.lock_kind, name.bytes, name.size, hash);
    if (resource) {
        return resource;
    }
    uint32_t wanted = resource_table_wants(table);
    if (wanted) {
        free(resource_table_rehash(table, calloc(wanted, sizeof(struct resource *)), wanted));
    }
    resource = allocate(1, sizeof *resource + name.size + (size_t)2 * GROUP_VALUE_SIZE);
    memset(resource, 0, sizeof *resource);
    resource->kind = client->world->plan.lock_kind;
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
    while (client->memory) {
        struct memory *memory = client->memory;
        client->memory = memory->next;
        free(memory);
    }
    free(client);
}
