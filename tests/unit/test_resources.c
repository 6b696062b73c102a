/* The table of names: finding, growing, counting the references to a name.
 * SPDX-License-Identifier: Apache-2.0 */
#include "engine_fixture.h"

#include <stdlib.h>

#include "group.h"

enum { NAMES = 1000 };

static struct resource *find(const char *name, size_t size) {
    return resource_find(&rig.engine.resources, REDLATCH_MUTEX, name, size, resource_hash(name, size));
}

static void tells_kinds_of_a_name_apart(void) {
    rig_open();
    struct resource *mutex = rig_name("orders");
    rig.lock_kind = REDLATCH_FENCED;
    struct resource *fenced = rig_name("orders");
    CHECK(mutex != fenced && mutex->kind == REDLATCH_MUTEX && fenced->kind == REDLATCH_FENCED);
    struct resource_table *table = &rig.engine.resources;
    struct resource *one = resource_next_named(table, NULL, "orders", 6, mutex->hash);
    struct resource *other = resource_next_named(table, one, "orders", 6, mutex->hash);
    CHECK((one == mutex && other == fenced) || (one == fenced && other == mutex));
    CHECK(resource_next_named(table, other, "orders", 6, mutex->hash) == NULL);
    RIG_CLOSE();
}

static struct resource *make_group(const char *value) {
    struct resource *resource = calloc(1, sizeof *resource + 1 + GROUP_VALUE_SIZE);
    resource->kind = REDLATCH_GROUP;
    resource->name_size = 1;
    resource->value_count = 1;
    resource->name[0] = 'g';
    memcpy(resource->name + 1, value, GROUP_VALUE_SIZE);
    resource->hash = resource_hash("g", 1);
    return resource;
}

static void tells_values_of_a_group_apart(void) {
    struct resource *buckets[16] = {NULL};
    struct resource_table table = {0};
    struct resource *one = make_group("aaaaaaaaaaaaaaaaaaaaaa");
    struct resource *same = make_group("aaaaaaaaaaaaaaaaaaaaaa");
    struct resource *other = make_group("aaaaaaaaaaaaaaaaaaaaab");
    resource_table_rehash(&table, buckets, 16);
    CHECK(resource_find_like(&table, one) == NULL);
    resource_add(&table, one);
    CHECK(resource_find_like(&table, other) == NULL);
    resource_add(&table, other);
    CHECK(resource_find_like(&table, same) == one);
    CHECK(resource_find_like(&table, other) == other);
    CHECK_EQ_INT(one->references, 2);
    same->kind = REDLATCH_MUTEX;
    CHECK(resource_find_like(&table, same) == NULL);
    free(one);
    free(same);
    free(other);
}

static void finds_nothing_in_an_empty_table(void) {
    rig_open();
    CHECK_EQ_INT(resource_table_wants(&rig.engine.resources), 16);
    CHECK(find("a", 1) == NULL);
    RIG_CLOSE();
}

static void hashes_as_fnv_1a(void) {
    CHECK_EQ_INT(resource_hash("", 0), 2166136261u);
    CHECK_EQ_INT(resource_hash("a", 1), 0xe40c292cu);
    CHECK_EQ_INT(resource_hash("foobar", 6), 0xbf9cf968u);
}

static void tells_names_apart_by_every_byte(void) {
    rig_open();
    struct resource *one = rig_name("orders");
    struct resource *other = rig_name("order");
    CHECK(one != other);
    CHECK(rig_name("orders") == one);
    CHECK(find("orders\0", 7) == NULL);
    uint32_t references = one->references;
    CHECK(find("orders", 6) == one);
    CHECK_EQ_INT(one->references, references + 1);
    resource_drop(&rig.engine, one);
    RIG_CLOSE();
}

static void keeps_every_name_while_it_grows(void) {
    static struct resource *resources[NAMES];
    char name[32];
    rig_open();
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "name-%d", i);
        resources[i] = rig_name(name);
    }
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "name-%d", i);
        CHECK(rig_name(name) == resources[i]);
    }
    CHECK_EQ_INT(rig.engine.resources.used, NAMES);
    CHECK_EQ_INT(rig.engine.resources.bucket_count, 1024);
    CHECK_EQ_INT(resource_table_wants(&rig.engine.resources), 0);
    RIG_CLOSE();
}

static void the_last_reference_puts_a_name_among_the_dead(void) {
    struct resource *resources[64];
    rig_open();
    rig_name("another");
    for (int i = 0; i < 64; i++) { /* some share a bucket */
        resources[i] = calloc(1, sizeof *resources[i]);
        resources[i]->hash = (uint32_t)i;
        resource_add(&rig.engine.resources, resources[i]);
    }
    resource_keep(resources[7]);
    resource_drop(&rig.engine, resources[7]);
    CHECK(rig.engine.dead_resources == NULL);
    for (int i = 0; i < 64; i++) {
        resource_drop(&rig.engine, resources[i]);
        CHECK(rig.engine.dead_resources == resources[i]);
    }
    CHECK_EQ_INT(rig.engine.resources.used, 1);
    rig_turn();
    RIG_CLOSE();
}

static void finds_holds_by_owner_and_stage(void) {
    struct resource *resource = calloc(1, sizeof *resource);
    struct hold leaving = {.owner = 1, .lock_kind = REDLATCH_MUTEX, .stage = HOLD_RELEASING};
    struct hold gone = {.owner = 2, .lock_kind = REDLATCH_MUTEX, .stage = HOLD_GONE};
    struct hold alive = {.owner = 1, .lock_kind = REDLATCH_MUTEX, .stage = HOLD_ALIVE};
    CHECK(resource_live_hold(resource) == NULL);
    resource->holds = &leaving;
    leaving.next = &gone;
    CHECK(resource_hold_of(resource, REDLATCH_MUTEX, 1) == NULL);  /* being released: the next acquire is a new hold */
    CHECK(resource_hold_of(resource, REDLATCH_MUTEX, 2) == &gone); /* lost, and not yet reported to its owner */
    CHECK(resource_live_hold(resource) == NULL);
    gone.next = &alive;
    CHECK(resource_hold_of(resource, REDLATCH_MUTEX, 1) == &alive);
    CHECK(resource_live_hold(resource) == &alive);
    CHECK(resource_hold_of(resource, REDLATCH_MUTEX, 3) == NULL);
    CHECK(resource_hold_of(resource, REDLATCH_FENCED, 1) == NULL);
    free(resource);
}

int main(void) {
    RUN(tells_kinds_of_a_name_apart);
    RUN(tells_values_of_a_group_apart);
    RUN(finds_nothing_in_an_empty_table);
    RUN(hashes_as_fnv_1a);
    RUN(tells_names_apart_by_every_byte);
    RUN(keeps_every_name_while_it_grows);
    RUN(the_last_reference_puts_a_name_among_the_dead);
    RUN(finds_holds_by_owner_and_stage);
    return unit_done();
}
