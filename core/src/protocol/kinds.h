/* The kinds of locks: in what they differ, where the machines ask. The rows are in kinds.def.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_H
#define KINDS_H

#include "records.h"

/* How a lock is stored on the server: kinds that are stored alike are used by the same scripts (command_templates.c).
 */
enum storage {
    STORAGE_HASH, /* owners and their hold counts; the next is the same with a counter of tokens */
    STORAGE_FENCED,
    STORAGE_FAIR, /* beside the hash a list of waiters and their time-outs */
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

    /* The channel of a name is `prefix` and the name, in braces unless it has some itself (wire format 1.2); a latch's
     * puts it in braces all the same. */
    const char *channel_prefix;

    uint8_t storage;
    uint8_t detected_kind; /* what an inspection finds; a fenced or fair lock may look like a mutex */
    uint8_t resource_kind; /* it is a mode of the names of that kind; 0: its names are its own */
    char member_type;   /* its letter in the scripts about several names; 0: it can not be a member of a multi lock */
    bool always_braced; /* see channel_prefix */
    bool queues_on_server;    /* waiters stand in a queue on the server, by the number they will hold with */
    bool not_reentrant;       /* a hold has one level */
    bool has_tokens;          /* a grant has a fencing token */
    bool has_key_template;    /* the key may be made of the name by the options of the lock */
    bool has_values;          /* what is held is values of a name, not the name */
    bool polls;               /* who waits asks again and again (back_off.c) and listens to nothing */
    bool waiters_go_together; /* those of this kind who are next to each other at the front go at the same time */
    bool is_counted;          /* a count and no lock: its handles are of their own type */
    bool has_permits;         /* many hold some at once: a hold of this process keeps nobody from asking, and is not
                                 handed over */
    bool has_permit_ids;      /* each permit is a hold of its own, which need not be released */
};

/* One more than the highest number: a row for each, and no numbers between them are free. */
enum {
    NO_KIND,
#define KIND(constant, ...) KIND_##constant,
#include "kinds.def"
    KIND_NUMBERS
};

/* The kind of a number of enum redlatch_kind; NULL if there is none. */
const struct kind *kind_of_number(int number);

/* The kind that names are entered as when they are used as `lock_kind`. */
static inline uint8_t kind_of_names(uint8_t lock_kind) {
    uint8_t resource_kind = kind_of_number(lock_kind)->resource_kind;
    return resource_kind ? resource_kind : lock_kind;
}
/* Of an operation, too, which may have none. */
static inline bool kind_has_permit_ids(uint8_t lock_kind) {
    const struct kind *kind = kind_of_number(lock_kind);
    return kind && kind->has_permit_ids;
}
static inline const struct kind *kind_of(const struct resource *resource) {
    return kind_of_number(resource->kind);
}

#endif
