/* The values of a group, as they stand in its hash (wire format 2.9, Redisson's FasterMultiLock with its StringCodec).
 * SPDX-License-Identifier: Apache-2.0 */
#include "group.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "highway_hash.h"

void group_value(const void *bytes, size_t size, char text[GROUP_VALUE_SIZE]) {
    static const uint64_t key[4] = {UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xf39cc0605cedc834),
                                    UINT64_C(0x1082276bf3a27251), UINT64_C(0xf86c6a11d0c18e95)};
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint64_t hash[2];
    highway_hash_128(key, bytes, size, hash);
    for (int i = 0; i < GROUP_VALUE_SIZE; i++) { /* six bits each, the highest first; the last one has two */
        int at = 6 * i;
        uint64_t bits = at < 64 ? hash[0] << at : hash[1] << (at - 64);
        if (at < 64 && at > 58) {
            bits |= hash[1] >> (64 - at);
        }
        text[i] = digits[bits >> 58];
    }
}

static int compare(const void *left, const void *right) {
    return memcmp(left, right, GROUP_VALUE_SIZE);
}

size_t group_sort(char *values, size_t count) {
    size_t kept = 0;
    qsort(values, count, GROUP_VALUE_SIZE, compare);
    for (size_t i = 0; i < count; i++) {
        char *value = values + i * GROUP_VALUE_SIZE;
        if (kept == 0 || compare(value, values + (kept - 1) * GROUP_VALUE_SIZE) != 0) {
            memmove(values + kept++ * GROUP_VALUE_SIZE, value, GROUP_VALUE_SIZE);
        }
    }
    return kept;
}
