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

enum { REDLATCH_GROUP_VALUES_MAX = 10000 };

/* A value to lock: any bytes, also none. Since 0.1. */
typedef struct redlatch_value {
    const char *bytes;
    uint64_t size;
} redlatch_value;

/* Makes a handle of a lock on values of a group; nothing is sent. All the values are held, or none: holders of sets that
 * overlap exclude each other, also when they are of one owner, and others do not. It is Redisson's
 * getMultiLock(group, values) with its StringCodec, by the server's time; all other calls are those of any lock.
 *
 * `group` is a name as redlatch_lock_new takes it. `values`: 1 to REDLATCH_GROUP_VALUES_MAX, in any order; one that is
 * there twice counts once. Everything is copied. The handle is the caller's, to be freed by redlatch_lock_free.
 * A release that finds some of the values gone says LOST and leaves none behind.
 * INVALID, BAD_HANDLE, CLOSED, FORKED, NO_MEMORY. Since 0.1. */
REDLATCH_API int redlatch_group_lock_new(redlatch_client *client, const char *group, size_t group_size,
                                         const redlatch_value *values, size_t value_count,
                                         const redlatch_lock_options *options, redlatch_lock **lock_out);

/* bindings: end */

#ifdef __cplusplus
}
#endif

#endif /* REDLATCH_GROUPS_H */
