/* The ids of permits as they stand on the server.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "wire.h"

static int hex_digit(char digit) {
    return digit <= '9' ? digit - '0' : (digit | 32) - 'a' + 10;
}

void permit_bytes(const struct engine *engine, uint64_t id, unsigned char bytes[PERMIT_SIZE]) {
    const char *digit = engine->uuid;
    for (int i = 0; i < PERMIT_SIZE; i++) {
        digit += *digit == '-';
        bytes[i] = (unsigned char)(hex_digit(digit[0]) << 4 | hex_digit(digit[1]));
        digit += 2;
    }
    for (int i = 0; i < 8; i++) {
        bytes[PERMIT_SIZE - 1 - i] ^= (unsigned char)(id >> (8 * i));
    }
}

uint64_t permit_number(const struct engine *engine, const unsigned char bytes[PERMIT_SIZE]) {
    unsigned char first[PERMIT_SIZE];
    permit_bytes(engine, 0, first);
    uint64_t id = 0;
    for (int i = 8; i < PERMIT_SIZE; i++) {
        id = id << 8 | (uint64_t)(bytes[i] ^ first[i]);
    }
    return memcmp(bytes, first, 8) == 0 && id <= engine->last_id ? id : 0;
}
