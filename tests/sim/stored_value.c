/* The value of a key: a string, hash, list or sorted set, and the time at which it expires.
 * SPDX-License-Identifier: Apache-2.0 */
#include "stored_value.h"

#include <stdlib.h>

struct stored_value *value_new(enum value_kind kind) {
    struct stored_value *value = allocate(1, sizeof *value);
    memset(value, 0, sizeof *value);
    value->kind = kind;
    value->expires_at = NEVER_EXPIRES;
    return value;
}

static void hash_copy(struct ordered_map *copy, const struct ordered_map *hash) {
    uint32_t cursor = 0;
    for (struct map_entry *entry; (entry = map_next(hash, &cursor)) != NULL;) {
        map_add(copy, text_view(entry->name))->payload = text_store(text_view(entry->payload));
    }
}

struct stored_value *value_copy(const struct stored_value *value) {
    struct stored_value *copy = value_new(value->kind);
    copy->expires_at = value->expires_at;
    switch (value->kind) {
    case VALUE_STRING:
        copy->string = text_store(text_view(value->string));
        break;
    case VALUE_HASH:
        hash_copy(&copy->hash, &value->hash);
        break;
    case VALUE_LIST:
        for (size_t i = 0; i < value->list.count; i++) {
            list_push(&copy->list, false, text_view(list_at(&value->list, i)));
        }
        break;
    case VALUE_SORTED_SET:
        sorted_set_copy(&copy->sorted_set, &value->sorted_set);
        break;
    }
    return copy;
}

void value_free(struct stored_value *value) {
    uint32_t cursor = 0;
    switch (value->kind) {
    case VALUE_STRING:
        free(value->string);
        break;
    case VALUE_HASH:
        for (struct map_entry *entry; (entry = map_next(&value->hash, &cursor)) != NULL;) {
            free(entry->payload);
        }
        map_release(&value->hash);
        break;
    case VALUE_LIST:
        while (value->list.count > 0) {
            free(list_take(&value->list, true));
        }
        free(value->list.ring);
        break;
    case VALUE_SORTED_SET:
        sorted_set_release(&value->sorted_set);
        break;
    }
    free(value);
}

bool value_is_empty(const struct stored_value *value) {
    switch (value->kind) {
    case VALUE_STRING:
        return false;
    case VALUE_HASH:
        return value->hash.live == 0;
    case VALUE_LIST:
        return value->list.count == 0;
    case VALUE_SORTED_SET:
        return value->sorted_set.count == 0;
    }
    abort();
}

bool hash_put(struct ordered_map *hash, struct redis_text field, struct redis_text text) {
    struct map_entry *entry = map_find(hash, field);
    bool is_new = !entry;
    if (is_new) {
        entry = map_add(hash, field);
    }
    struct stored_text *former = entry->payload;
    entry->payload = text_store(text);
    free(former); /* not earlier: `text` may be the former text */
    return is_new;
}

const struct stored_text *hash_get(const struct ordered_map *hash, struct redis_text field) {
    const struct map_entry *entry = map_find(hash, field);
    return entry ? entry->payload : NULL;
}

bool hash_remove(struct ordered_map *hash, struct redis_text field) {
    struct map_entry *entry = map_find(hash, field);
    if (!entry) {
        return false;
    }
    free(entry->payload);
    map_remove(hash, entry);
    return true;
}

static struct stored_text **list_place(const struct text_list *list, size_t position) {
    return &list->ring[(list->head + position) & (list->capacity - 1)];
}

struct stored_text *list_at(const struct text_list *list, size_t position) {
    return *list_place(list, position);
}

/* Doubles the ring, and puts its elements at its start. */
static void list_grow(struct text_list *list) {
    size_t capacity = list->capacity == 0 ? 4 : 2 * list->capacity;
    struct stored_text **ring = allocate(capacity, sizeof *ring);
    for (size_t i = 0; i < list->count; i++) {
        ring[i] = list_at(list, i);
    }
    free(list->ring);
    *list = (struct text_list){ring, 0, list->count, capacity};
}

void list_push(struct text_list *list, bool at_head, struct redis_text text) {
    if (list->count == list->capacity) {
        list_grow(list);
    }
    if (at_head) {
        list->head = (list->head - 1) & (list->capacity - 1);
    }
    *list_place(list, at_head ? 0 : list->count) = text_store(text);
    list->count++;
}

struct stored_text *list_take(struct text_list *list, bool at_head) {
    struct stored_text *text = list_at(list, at_head ? 0 : list->count - 1);
    list->head += at_head;
    list->count--;
    return text;
}

void list_remove_at(struct text_list *list, size_t position) {
    free(list_at(list, position));
    for (size_t i = position; i + 1 < list->count; i++) {
        *list_place(list, i) = list_at(list, i + 1);
    }
    list->count--;
}
