/* An in-memory Redis: keys with their expiry, and the shortcuts for tests.
 * SPDX-License-Identifier: Apache-2.0 */
#include "keyspace.h"

#include <stdlib.h>

#include "redis_commands.h"

struct keyspace {
    struct ordered_map keys; /* payloads are struct stored_value * */
    int64_t now_ms;
    uint64_t changes;
    enum slot_side side;
    keyspace_publish_handler *on_publish;
    void *publish_context;
};

static bool is_expired(const struct keyspace *keyspace, const struct stored_value *value) {
    return value->expires_at != NEVER_EXPIRES && keyspace->now_ms > value->expires_at;
}

struct keyspace *keyspace_new(void) {
    struct keyspace *keyspace = allocate(1, sizeof *keyspace);
    memset(keyspace, 0, sizeof *keyspace);
    return keyspace;
}

void keyspace_free(struct keyspace *keyspace) {
    if (keyspace) {
        keyspace_clear(keyspace);
        free(keyspace);
    }
}

struct keyspace *keyspace_copy(const struct keyspace *keyspace) {
    struct keyspace *copy = keyspace_new();
    *copy = *keyspace;
    copy->keys = (struct ordered_map){0};
    uint32_t cursor = 0;
    for (struct map_entry *entry; (entry = map_next(&keyspace->keys, &cursor)) != NULL;) {
        map_add(&copy->keys, text_view(entry->name))->payload = value_copy(entry->payload);
    }
    return copy;
}

void keyspace_on_publish(struct keyspace *keyspace, keyspace_publish_handler *handler, void *context) {
    keyspace->on_publish = handler;
    keyspace->publish_context = context;
}

int keyspace_publish(struct keyspace *keyspace, bool sharded, struct redis_text channel, struct redis_text message) {
    return keyspace->on_publish ? keyspace->on_publish(keyspace->publish_context, sharded, channel, message) : 0;
}

void keyspace_set_time(struct keyspace *keyspace, int64_t now_ms) {
    keyspace->now_ms = now_ms;
}

void keyspace_note_change(struct keyspace *keyspace) {
    keyspace->changes++;
}

uint64_t keyspace_changes(const struct keyspace *keyspace) {
    return keyspace->changes;
}

void keyspace_set_side(struct keyspace *keyspace, enum slot_side side) {
    keyspace->side = side;
}

enum slot_side keyspace_side(const struct keyspace *keyspace) {
    return keyspace->side;
}

int64_t keyspace_time(const struct keyspace *keyspace) {
    return keyspace->now_ms;
}

static void remove_entry(struct keyspace *keyspace, struct map_entry *entry) {
    value_free(entry->payload);
    map_remove(&keyspace->keys, entry);
}

/* Returns the entry of a key. If the key has expired, removes it and returns NULL. */
static struct map_entry *find_entry(struct keyspace *keyspace, struct redis_text key) {
    struct map_entry *entry = map_find(&keyspace->keys, key);
    if (entry && is_expired(keyspace, entry->payload)) {
        remove_entry(keyspace, entry);
        return NULL;
    }
    return entry;
}

struct stored_value *keyspace_find(struct keyspace *keyspace, struct redis_text key) {
    struct map_entry *entry = find_entry(keyspace, key);
    return entry ? entry->payload : NULL;
}

void keyspace_put(struct keyspace *keyspace, struct redis_text key, struct stored_value *value) {
    struct map_entry *entry = find_entry(keyspace, key);
    if (!entry) {
        entry = map_add(&keyspace->keys, key);
    } else {
        value_free(entry->payload);
    }
    entry->payload = value;
}

void keyspace_clear(struct keyspace *keyspace) {
    uint32_t cursor = 0;
    for (struct map_entry *entry; (entry = map_next(&keyspace->keys, &cursor)) != NULL;) {
        value_free(entry->payload);
    }
    map_release(&keyspace->keys);
}

bool keyspace_next_key(const struct keyspace *keyspace, uint32_t *cursor, struct redis_text *key_out) {
    for (struct map_entry *entry; (entry = map_next(&keyspace->keys, cursor)) != NULL;) {
        if (!is_expired(keyspace, entry->payload)) {
            *key_out = text_view(entry->name);
            return true;
        }
    }
    return false;
}

bool keyspace_delete(struct keyspace *keyspace, struct redis_text key) {
    struct map_entry *entry = find_entry(keyspace, key);
    if (entry) {
        remove_entry(keyspace, entry);
    }
    return entry != NULL;
}

bool keyspace_exists(struct keyspace *keyspace, struct redis_text key) {
    return find_entry(keyspace, key) != NULL;
}

int64_t keyspace_pttl(struct keyspace *keyspace, struct redis_text key) {
    const struct stored_value *value = keyspace_find(keyspace, key);
    if (!value) {
        return -2;
    }
    return value->expires_at == NEVER_EXPIRES ? -1 : value->expires_at - keyspace->now_ms;
}

bool keyspace_pexpireat(struct keyspace *keyspace, struct redis_text key, int64_t at_ms) {
    struct stored_value *value = keyspace_find(keyspace, key);
    if (value) {
        value->expires_at = at_ms;
    }
    return value != NULL;
}

void keyspace_set(struct keyspace *keyspace, struct redis_text key, struct redis_text text) {
    struct stored_value *value = value_new(VALUE_STRING);
    value->string = text_store(text);
    keyspace_put(keyspace, key, value);
}

bool keyspace_get(struct keyspace *keyspace, struct redis_text key, struct redis_text *text_out) {
    const struct stored_value *value = keyspace_find(keyspace, key);
    bool there = value && value->kind == VALUE_STRING;
    if (there) {
        *text_out = text_view(value->string);
    }
    return there;
}

void keyspace_hset(struct keyspace *keyspace, struct redis_text key, struct redis_text field, struct redis_text text) {
    struct stored_value *value = keyspace_find(keyspace, key);
    if (!value || value->kind != VALUE_HASH) {
        value = value_new(VALUE_HASH);
        keyspace_put(keyspace, key, value);
    }
    hash_put(&value->hash, field, text);
}

bool keyspace_hget(struct keyspace *keyspace, struct redis_text key, struct redis_text field,
                   struct redis_text *text_out) {
    const struct stored_value *value = keyspace_find(keyspace, key);
    const struct stored_text *text = value && value->kind == VALUE_HASH ? hash_get(&value->hash, field) : NULL;
    if (text) {
        *text_out = text_view(text);
    }
    return text != NULL;
}
