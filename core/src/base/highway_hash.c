/* HighwayHash-128 in portable C, by the description of its authors (Alakuijala, Cox, Wassenberg: "Fast keyed
 * hash/pseudo-random function using SIMD multiply and permute", 2016).
 * SPDX-License-Identifier: Apache-2.0 */
#include "highway_hash.h"

#include <string.h>

enum { LANES = 4, PACKET = 32, ROUNDS_AT_THE_END = 6 };

struct state {
    uint64_t v0[LANES], v1[LANES], mul0[LANES], mul1[LANES];
};

static uint64_t swap_halves(uint64_t word) {
    return word >> 32 | word << 32;
}

static void begin(struct state *state, const uint64_t key[LANES]) {
    static const uint64_t first[LANES] = {UINT64_C(0xdbe6d5d5fe4cce2f), UINT64_C(0xa4093822299f31d0),
                                          UINT64_C(0x13198a2e03707344), UINT64_C(0x243f6a8885a308d3)};
    static const uint64_t second[LANES] = {UINT64_C(0x3bd39e10cb0ef593), UINT64_C(0xc0acf169b5f18a8c),
                                           UINT64_C(0xbe5466cf34e90c6c), UINT64_C(0x452821e638d01377)};
    for (int i = 0; i < LANES; i++) {
        state->mul0[i] = first[i];
        state->mul1[i] = second[i];
        state->v0[i] = first[i] ^ key[i];
        state->v1[i] = second[i] ^ swap_halves(key[i]);
    }
}

/* Returns a byte of a word, moved to another position. */
static uint64_t byte_to(uint64_t word, int from, int to) {
    return (word >> (8 * from) & 0xff) << (8 * to);
}

/* Adds the bytes of two words in the order that spreads those which multiplication mixes best. */
static void zipper_merge_add(uint64_t high, uint64_t low, uint64_t *high_out, uint64_t *low_out) {
    *low_out += byte_to(low, 3, 0) | byte_to(high, 4, 1) | byte_to(low, 2, 2) | byte_to(low, 5, 3) |
                byte_to(high, 6, 4) | byte_to(low, 1, 5) | byte_to(high, 7, 6) | byte_to(low, 0, 7);
    *high_out += byte_to(high, 3, 0) | byte_to(low, 4, 1) | byte_to(high, 2, 2) | byte_to(high, 5, 3) |
                 byte_to(high, 1, 4) | byte_to(low, 6, 5) | byte_to(high, 0, 6) | byte_to(low, 7, 7);
}

static void update(struct state *state, const uint64_t pipelines[LANES]) {
    for (int i = 0; i < LANES; i++) {
        state->v1[i] += state->mul0[i] + pipelines[i];
        state->mul0[i] ^= (state->v1[i] & UINT32_MAX) * (state->v0[i] >> 32);
        state->v0[i] += state->mul1[i];
        state->mul1[i] ^= (state->v0[i] & UINT32_MAX) * (state->v1[i] >> 32);
    }
    for (int i = 0; i < LANES; i += 2) {
        zipper_merge_add(state->v1[i + 1], state->v1[i], &state->v0[i + 1], &state->v0[i]);
    }
    for (int i = 0; i < LANES; i += 2) {
        zipper_merge_add(state->v0[i + 1], state->v0[i], &state->v1[i + 1], &state->v1[i]);
    }
}

static void update_packet(struct state *state, const unsigned char packet[PACKET]) {
    uint64_t pipelines[LANES] = {0};
    for (int i = 0; i < PACKET; i++) {
        pipelines[i / 8] |= (uint64_t)packet[i] << (8 * (i % 8));
    }
    update(state, pipelines);
}

static uint32_t rotate_left(uint32_t word, unsigned by) {
    return by == 0 ? word : word << by | word >> (32 - by);
}

/* Takes in the last bytes, fewer than a packet has. */
static void update_rest(struct state *state, const unsigned char *bytes, size_t size) {
    unsigned char packet[PACKET] = {0};
    size_t odd = size & 3;
    const unsigned char *tail = bytes + (size - odd);
    for (int i = 0; i < LANES; i++) {
        state->v0[i] += ((uint64_t)size << 32) + size;
        uint32_t low = rotate_left((uint32_t)state->v1[i], (unsigned)size);
        state->v1[i] = (uint64_t)rotate_left((uint32_t)(state->v1[i] >> 32), (unsigned)size) << 32 | low;
    }
    memcpy(packet, bytes, size - odd);
    if (size & 16) {
        memcpy(packet + PACKET - 4, tail + odd - 4, 4);
    } else if (odd) {
        packet[16] = tail[0];
        packet[17] = tail[odd >> 1];
        packet[18] = tail[odd - 1];
    }
    update_packet(state, packet);
}

void highway_hash_128(const uint64_t key[4], const void *bytes, size_t size, uint64_t hash_out[2]) {
    struct state state;
    const unsigned char *at = bytes;
    begin(&state, key);
    for (; size >= PACKET; size -= PACKET, at += PACKET) {
        update_packet(&state, at);
    }
    if (size > 0) {
        update_rest(&state, at, size);
    }
    for (int i = 0; i < ROUNDS_AT_THE_END; i++) {
        uint64_t permuted[LANES] = {swap_halves(state.v0[2]), swap_halves(state.v0[3]), swap_halves(state.v0[0]),
                                    swap_halves(state.v0[1])};
        update(&state, permuted);
    }
    hash_out[0] = state.v0[0] + state.mul0[0] + state.v1[2] + state.mul1[2];
    hash_out[1] = state.v0[1] + state.mul0[1] + state.v1[3] + state.mul1[3];
}
