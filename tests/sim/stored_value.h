/* The value of a key: a string, hash, list or sorted set, and the time at which it expires.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef STORED_VALUE_H
#define STORED_VALUE_H

#include "ordered_map.h"
#include "sorted_set.h"

/* A list as a ring buffer, so that pushing and popping are cheap at both ends. All zero is an empty list. */
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
    int64_t expires_at; /* the last ms of the server's wall clock at which the key exists, or NEVER_EXPIRES */
    union {
        struct stored_text *string;
        struct ordered_map hash; /* payloads are struct stored_text * */
        struct text_list list;
        struct sorted_set sorted_set;
    };
};

/* Returns an empty value that never expires. The caller must set the text of a string before any other use of it. */
struct stored_value *value_new(enum value_kind kind);
struct stored_value *value_copy(const struct stored_value *value);
void value_free(struct stored_value *value);

/* Returns whether a hash, list or sorted set is empty. The key of an empty value is deleted. */
bool value_is_empty(const struct stored_value *value);

/* Sets the text of a field. An existing field keeps its position. Returns whether the field is new. */
bool hash_put(struct ordered_map *hash, struct redis_text field, struct redis_text text);

/* Returns a field's text, or NULL. */
const struct stored_text *hash_get(const struct ordered_map *hash, struct redis_text field);

/* Returns whether the field existed. */
bool hash_remove(struct ordered_map *hash, struct redis_text field);

struct stored_text *list_at(const struct text_list *list, size_t position);
void list_push(struct text_list *list, bool at_head, struct redis_text text);

/* Removes an element of a list that is not empty, and returns it. The caller frees it. */
struct stored_text *list_take(struct text_list *list, bool at_head);
void list_remove_at(struct text_list *list, size_t position);

#endif
