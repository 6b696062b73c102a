/* Slots of keys.
 * SPDX-License-Identifier: Apache-2.0 */
#include "routes.h"

#include <string.h>

/* CRC-16/XMODEM (polynomial 0x1021, begins with 0), four bits at a time. */
static uint16_t crc16(const char *bytes, size_t size) {
    static const uint16_t of_nibble[16] = {0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
                                           0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef};
    uint16_t crc = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned byte = (unsigned char)bytes[i];
        crc = (uint16_t)(crc << 4 ^ of_nibble[(crc >> 12 ^ byte >> 4) & 15]);
        crc = (uint16_t)(crc << 4 ^ of_nibble[(crc >> 12 ^ byte) & 15]);
    }
    return crc;
}

uint16_t key_slot(const char *key, size_t size) {
    const char *open = memchr(key, '{', size);
    if (open) {
        size_t left = size - (size_t)(open + 1 - key);
        const char *close = memchr(open + 1, '}', left);
        if (close && close > open + 1) {
            key = open + 1;
            size = (size_t)(close - key);
        }
    }
    return crc16(key, size) % SLOT_COUNT;
}
