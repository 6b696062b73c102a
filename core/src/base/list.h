/* An intrusive doubly linked list: records carry their own links, so linking never allocates.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LIST_H
#define LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list_link {
    struct list_link *next;
    struct list_link *previous;
};

/* A list is a ring through its own link. */
struct list {
    struct list_link ring;
};

#define container_of(pointer, type, member) ((type *)(void *)((char *)(pointer) - offsetof(type, member)))

static inline void list_init(struct list *list) {
    list->ring.next = &list->ring;
    list->ring.previous = &list->ring;
}

static inline bool list_is_empty(const struct list *list) {
    return list->ring.next == &list->ring;
}

static inline void list_insert_before(struct list_link *next, struct list_link *link) {
    link->next = next;
    link->previous = next->previous;
    next->previous->next = link;
    next->previous = link;
}

static inline void list_append(struct list *list, struct list_link *link) {
    list_insert_before(&list->ring, link);
}

static inline void list_prepend(struct list *list, struct list_link *link) {
    list_insert_before(list->ring.next, link);
}

/* A removed link is set to NULL, so that it is safe to remove it again, or to ask whether it is linked. */
static inline void list_remove(struct list_link *link) {
    if (link->next) {
        link->next->previous = link->previous;
        link->previous->next = link->next;
        link->next = NULL;
        link->previous = NULL;
    }
}

static inline bool list_is_linked(const struct list_link *link) {
    return link->next != NULL;
}

/* The first link, or NULL. */
static inline struct list_link *list_first(const struct list *list) {
    return list_is_empty(list) ? NULL : list->ring.next;
}

/* The link after one, or NULL at the end. */
static inline struct list_link *list_next(const struct list *list, const struct list_link *link) {
    return link->next == &list->ring ? NULL : link->next;
}

/* Takes off and returns the first link, or NULL. */
static inline struct list_link *list_pop(struct list *list) {
    struct list_link *first = list->ring.next;
    if (first == &list->ring) {
        return NULL;
    }
    list->ring.next = first->next;
    first->next->previous = &list->ring;
    first->next = NULL;
    first->previous = NULL;
    return first;
}

/* Takes all links off a list. `taken` is set up with them, in their order. */
static inline void list_take_all(struct list *list, struct list *taken) {
    list_init(taken);
    if (!list_is_empty(list)) {
        taken->ring = list->ring;
        taken->ring.next->previous = &taken->ring;
        taken->ring.previous->next = &taken->ring;
        list_init(list);
    }
}

#endif
