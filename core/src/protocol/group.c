/* The values of a group lock, as they are stored in its hash (wire format 2.9). Redisson's FasterMultiLock stores the
 * same with its StringCodec.
 * SPDX-License-Identifier: Apache-2.0 */
#include "group.h"

#include <stdint.h>
#include <string.h>

#include "highway_hash.h"

void group_value(const void *bytes, size_t size, char text[GROUP_VALUE_SIZE]) {
    static const uint64_t key[4] = {UINT64_C(0x9e3779b97f4a7c15), UINT64_C(0xf39cc0605cedc834),
                                    UINT64_C(0x1082276bf3a27251), UINT64_C(0xf86c6a11d0c18e95)};
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint64_t hash[2];
    highway_hash_128(key, bytes, size, hash);
    for (int i = 0; i < GROUP_VALUE_SIZE; i++) { /* six bits each, the highest first; the last character has two */
        int at = 6 * i;
        uint64_t bits = at < 64 ? hash[0] << at : hash[1] << (at - 64);
        if (at < 64 && at > 58) {
            bits |= hash[1] >> (64 - at);
        }
        text[i] = digits[bits >> 58];
    }
}

static char *value_at(char *values, size_t index) {
    return values + index * GROUP_VALUE_SIZE;
}

static int compare(char *values, size_t left, size_t right) {
    return memcmp(value_at(values, left), value_at(values, right), GROUP_VALUE_SIZE);
}

static void swap(char *values, size_t left, size_t right) {
    char kept[GROUP_VALUE_SIZE];
    memcpy(kept, value_at(values, left), sizeof kept);
    memcpy(value_at(values, left), value_at(values, right), sizeof kept);
    memcpy(value_at(values, right), kept, sizeof kept);
}

/* Lets a value sink in the heap of `count` values until none below it is greater. */
static void sink(char *values, size_t parent, size_t count) {
    for (size_t child; (child = 2 * parent + 1) < count; parent = child) {
        child += child + 1 < count && compare(values, child, child + 1) < 0;
        if (compare(values, parent, child) >= 0) {
            return;
        }
        swap(values, parent, child);
    }
}

/* Heap sort, in place: qsort may allocate, which nothing on this layer does. */
size_t group_sort(char *values, size_t count) {
    for (size_t i = count / 2; i > 0; i--) {
        sink(values, i - 1, count);
    }
    for (size_t left = count; left > 1; left--) {
        swap(values, 0, left - 1);
        sink(values, 0, left - 1);
    }
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || compare(values, i, kept - 1) != 0) {
            memmove(value_at(values, kept++), value_at(values, i), GROUP_VALUE_SIZE);
        }
    }
    return kept;
}
