/* What a key holds: a string, hash, list or sorted set, and when it expires.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef STORED_VALUE_H
#define STORED_VALUE_H

#include "ordered_map.h"
#include "sorted_set.h"

/* A ring of elements, so that both ends are cheap. All zero is an empty list. */
struct text_list {
    struct stored_text **ring;
    size_t head;
    size_t count;
    size_t capacity; /* power of two */
};

enum value_kind { VALUE_STRING, VALUE_HASH, VALUE_LIST, VALUE_SORTED_SET };

#define NEVER_EXPIRES INT64_MIN

struct stored_value {
    enum value_kind kind;
    int64_t expires_at; /* ms of the server's wall clock, the last at which the key is there; or NEVER_EXPIRES */
    union {
        struct stored_text *string;
        struct ordered_map hash; /* payloads are struct stored_text * */
        struct text_list list;
        struct sorted_set sorted_set;
    };
};

/* An empty value that never expires. A string must be given its text before anything else is done with it. */
struct stored_value *value_new(enum value_kind kind);
struct stored_value *value_copy(const struct stored_value *value);
void value_free(struct stored_value *value);

/* Whether a hash, list or sorted set has nothing in it; its key goes then. */
bool value_is_empty(const struct stored_value *value);

/* Gives a field its text; a field that is there keeps its place. Returns whether it is new. */
bool hash_put(struct ordered_map *hash, struct redis_text field, struct redis_text text);

/* A field's text, or NULL. */
const struct stored_text *hash_get(const struct ordered_map *hash, struct redis_text field);

/* Returns whether the field was there. */
bool hash_remove(struct ordered_map *hash, struct redis_text field);

struct stored_text *list_at(const struct text_list *list, size_t position);
void list_push(struct text_list *list, bool at_head, struct redis_text text);

/* Takes an element out of a list that is not empty; the caller frees it. */
struct stored_text *list_take(struct text_list *list, bool at_head);
void list_remove_at(struct text_list *list, size_t position);

#endif
