/* The kinds of locks, and the properties in which they differ. The rows are in kinds.def.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_H
#define KINDS_H

#include "records.h"

/* How a lock is stored on the server. Kinds that are stored alike use the same scripts (command_templates.c). */
enum storage {
    STORAGE_HASH,   /* owners and their hold counts */
    STORAGE_FENCED, /* the same, with a counter of tokens */
    STORAGE_FAIR,   /* the hash, and a list of waiters with their time-outs */
    STORAGE_READ,
    STORAGE_WRITE,
    STORAGE_STRING, /* the owner */
    STORAGE_GROUP,
    STORAGE_COUNT,
    STORAGE_PERMITS,
    STORAGE_LATCH,
    STORAGES
};

struct kind {
    const char *name;
    const char *with_article;

    /* The channel of a name is this prefix and the name. The name is in braces unless it contains a brace itself (wire
     * format 1.2); with always_braced it is in braces all the same. */
    const char *channel_prefix;

    uint8_t storage;
    uint8_t detected_kind; /* what an inspection finds; a fenced or fair lock may look like a mutex */
    uint8_t resource_kind; /* it is a mode of the names of that kind; 0: it has names of its own */
    char member_type;      /* its letter in the scripts for several names; 0: it cannot be a member of a multi lock */
    bool always_braced;    /* see channel_prefix */
    bool queues_on_server; /* waiters have positions in the server queue, under the numbers that they will hold with */
    bool not_reentrant;    /* the owner of a hold cannot acquire it again */
    bool has_tokens;       /* a grant has a fencing token */
    bool has_key_template; /* an option of the lock may build the key from the name */
    bool has_values;       /* an owner holds values of a name, not the name */
    bool polls;            /* waiters poll (back_off.c) and subscribe to nothing */
    bool waiters_go_together; /* concurrent: adjacent waiters of this kind at the front request at the same time */
    bool is_counted;          /* a count, not a lock: its handles have a type of their own */
    bool has_permits;         /* several owners hold permits at a time: a hold of this process keeps no waiter from
                                 requesting, and is not handed over */
    bool has_permit_ids;      /* each permit is a hold of its own, which need not be released */
};

/* KIND_NUMBERS is one more than the highest number of a kind. The numbers have no gaps. */
enum {
    NO_KIND,
#define KIND(constant, ...) KIND_##constant,
#include "kinds.def"
    KIND_NUMBERS
};

/* Returns the kind with a number of enum redlatch_kind. Returns NULL if there is none. */
const struct kind *kind_of_number(int number);

/* Returns the kind under which the names of a `lock_kind` are in the table of names. */
static inline uint8_t kind_of_names(uint8_t lock_kind) {
    uint8_t resource_kind = kind_of_number(lock_kind)->resource_kind;
    return resource_kind ? resource_kind : lock_kind;
}
/* `lock_kind` may be 0: some operations have none. */
static inline bool kind_has_permit_ids(uint8_t lock_kind) {
    const struct kind *kind = kind_of_number(lock_kind);
    return kind && kind->has_permit_ids;
}
static inline const struct kind *kind_of(const struct resource *resource) {
    return kind_of_number(resource->kind);
}

#endif
