/* Making group locks: their values are checked, hashed and sorted.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "errors.h"
#include "group.h"
#include "guard.h"
#include "lock.h"
#include "single_lock.h"

static int check_values(const redlatch_value *values, size_t count) {
    if (count == 0 || count > REDLATCH_GROUP_VALUES_MAX) {
        return fail_with(REDLATCH_INVALID, "values are %zu: expected 1 to %d", count, REDLATCH_GROUP_VALUES_MAX);
    }
    if (!values) {
        return fail_with(REDLATCH_INVALID, "values is NULL: expected an array of %zu values", count);
    }
    for (size_t i = 0; i < count; i++) {
        if (!values[i].bytes && values[i].size > 0) {
            return fail_with(REDLATCH_INVALID, "value %zu is NULL: expected %llu bytes", i,
                             (unsigned long long)values[i].size);
        }
    }
    return REDLATCH_OK;
}

int redlatch_group_lock_new(redlatch_client *handle, const char *group, size_t group_size, const redlatch_value *values,
                            size_t value_count, const redlatch_lock_options *given, redlatch_lock **lock_out) {
    int status = guard_client(handle);
    if (status != REDLATCH_OK) {
        return status;
    }
    if (!lock_out) {
        return fail_with(REDLATCH_INVALID, "lock_out is NULL: expected a pointer to set");
    }
    redlatch_lock_options options;
    if ((status = lock_options_of(REDLATCH_GROUP, given, &options)) != REDLATCH_OK ||
        (status = check_name(handle->client, group, group_size)) != REDLATCH_OK ||
        (status = check_values(values, value_count)) != REDLATCH_OK) {
        return status;
    }
    char *hashed = malloc(value_count * GROUP_VALUE_SIZE);
    if (!hashed) {
        return fail_plain(REDLATCH_NO_MEMORY);
    }
    for (size_t i = 0; i < value_count; i++) {
        group_value(values[i].bytes, (size_t)values[i].size, hashed + i * GROUP_VALUE_SIZE);
    }
    struct named named = {group, group_size, hashed, (uint32_t)group_sort(hashed, value_count)};
    status = single_lock_new(handle->client, REDLATCH_GROUP, &named, &options, lock_out);
    free(hashed);
    return status;
}
