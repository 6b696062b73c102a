/* The kinds of locks: in what they differ, where the machines ask. A new kind is a row here and in machines.c, rows of
 * scripts in wire.c, and a machine of its own only where no other's will do.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_H
#define KINDS_H

#include "records.h"

struct kind {
    const char *name;

    /* The channel of a name is `prefix` and the name, in braces unless it has some itself (wire format 1.2); a latch's
     * puts it in braces all the same. */
    const char *channel_prefix;

    bool queues_on_server; /* waiters stand in a queue on the server, by the number they will hold with */
    bool single;           /* a hold has one level: the format has no count */
    bool has_values;       /* what is held is values of a name, not the name */
    bool polls;            /* who waits asks again and again (back_off.c) and listens to nothing */
    bool concurrent;       /* waiters of this kind who stand side by side at the front go at the same time */
    uint8_t shares;        /* it is a side of the names of that kind; 0: its names are its own */
    bool shared; /* many hold it at once: a hold of this process keeps nobody from asking, and is not handed over */
    bool always_braced; /* see channel_prefix */
    char member_type;   /* its letter in the scripts about several names; 0: it can not be a member of a multi lock */
};

/* The kind of a number of enum redlatch_kind; NULL if there is none. */
const struct kind *kind_of_number(int number);

/* The kind that names are entered as when they are used as `lock_kind`. */
static inline uint8_t kind_of_names(uint8_t lock_kind) {
    uint8_t shares = kind_of_number(lock_kind)->shares;
    return shares ? shares : lock_kind;
}
static inline const struct kind *kind_of(const struct resource *resource) {
    return kind_of_number(resource->kind);
}

#endif
