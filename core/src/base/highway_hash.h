/* HighwayHash-128, by which Redisson names the values of a group (wire format 2.9).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef HIGHWAY_HASH_H
#define HIGHWAY_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Computes the hash of some bytes with a key of four words, as two words. */
void highway_hash_128(const uint64_t key[4], const void *bytes, size_t size, uint64_t hash_out[2]);

#endif
