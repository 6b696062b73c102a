/* Random contents of the keys that a script uses: locks of each kind with their further keys, held, free, expired,
 * incomplete, of another shape or type. There are few owners, times and counts, so that values equal to a bound occur.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef RANDOM_STATE_H
#define RANDOM_STATE_H

#include "keyspace.h"

/* The server's clock in ms; not a whole second, so that both numbers of TIME count. */
#define STATE_NOW INT64_C(1700000000637)

enum { STATE_OWNERS = 5, STATE_VALUES = 3, STATE_PERMITS = 4 };

/* Owners: two of our client, one of another, two of Redisson, the last in a transaction. */
extern const char *const state_owners[STATE_OWNERS];
extern const char *const state_values[STATE_VALUES];   /* of a group, hashed */
extern const char *const state_permits[STATE_PERMITS]; /* ids */

struct random_draw {
    uint64_t state;
};

uint32_t draw_below(struct random_draw *draw, uint32_t bound);
bool draw_percent(struct random_draw *draw, uint32_t chance);

/* Returns one of some texts, as in DRAW_ONE(draw, "a", "b"). */
const char *draw_one(struct random_draw *draw, const char *const *texts, size_t count);
#define DRAW_ONE(draw, ...) \
    draw_one(draw, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* Fills the keys of a name. The form says with what: h a hash with one owner, t the same with a counter of tokens, f
 * the same with a server queue, s a string (plain), w a read-write lock, g a group, c a count, p permits with leases,
 * r an operation's record, i data that are nearly a lock, l a hash of many fields or long ones. */
void state_fill(struct random_draw *draw, struct keyspace *keyspace, char form, const char *name);

#endif
