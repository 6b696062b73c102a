/* redlatch: locks of many values at once.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Part of redlatch.h, whose conventions hold here. */
#ifndef REDLATCH_GROUPS_H
#define REDLATCH_GROUPS_H

#include "redlatch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* bindings: begin */

/* ------------------------------------------------------------------------------------- many values of one name -- */

/* The most values of one group lock. */
enum { REDLATCH_GROUP_VALUES_MAX = 10000 };

/* A value of a group lock: any bytes, or none. Since 0.1. */
typedef struct redlatch_value {
    const char *bytes;
    uint64_t size;
} redlatch_value;

/* Makes a handle of a lock on values of a group. Sends nothing.
 *
 * group: 1 to REDLATCH_NAME_SIZE_MAX bytes of any value, the client's prefix included.
 * values: 1 to REDLATCH_GROUP_VALUES_MAX values in any order; repeated values count once.
 * options: NULL for the defaults.
 * lock_out: the handle. The caller owns it and frees it with redlatch_lock_free.
 *
 * The lock holds all its values or none. Locks whose values overlap exclude each other, even of one owner; others do
 * not. The format is that of Redisson's getMultiLock(group, values) with its StringCodec, with leases by the server's
 * clock. A release that finds some of the values gone releases the others and returns LOST. Since 0.1. */
REDLATCH_API int redlatch_group_lock_new(redlatch_client *client, const char *group, size_t group_size,
                                         const redlatch_value *values, size_t value_count,
                                         const redlatch_lock_options *options, redlatch_lock **lock_out);

/* bindings: end */

#ifdef __cplusplus
}
#endif

#endif /* REDLATCH_GROUPS_H */
