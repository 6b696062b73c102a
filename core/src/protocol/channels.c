/* Which names and waiters a channel serves, by the text of the channel.
 * SPDX-License-Identifier: Apache-2.0 */
#include "channels.h"

#include <string.h>

#include "kinds.h"
#include "wire.h"

uint64_t channel_waiter(const struct engine *engine, const char *channel, size_t *size) {
    size_t digits = 0;
    uint64_t number = 0;
    uint64_t unit = 1;
    while (digits < *size && digits < 19 && channel[*size - 1 - digits] >= '0' && channel[*size - 1 - digits] <= '9') {
        number += unit * (uint64_t)(channel[*size - 1 - digits] - '0');
        unit *= 10;
        digits++;
    }
    size_t suffix = 1 + 36 + 1 + digits;
    if (digits == 0 || *size < suffix) {
        return 0;
    }
    const char *at = channel + *size - suffix;
    if (at[0] != ':' || memcmp(at + 1, engine->uuid, 36) != 0 || at[37] != ':') {
        return 0;
    }
    *size -= suffix;
    return number;
}

bool channel_is_of(const struct resource *resource, const char *channel, size_t size) {
    struct argument_part parts[4];
    channel_parts(resource, parts);
    for (int i = 0; i < 4; i++) {
        if (size < parts[i].size || memcmp(channel, parts[i].text, parts[i].size) != 0) {
            return false;
        }
        channel += parts[i].size;
        size -= parts[i].size;
    }
    return size == 0;
}

bool channel_is_in_slot(const struct resource *resource) {
    struct argument_part parts[4];
    channel_parts(resource, parts);
    const char *name = resource->name;
    bool braced = parts[1].size > 0;
    const char *open = braced ? NULL : memchr(name, '{', resource->name_size);
    size_t skipped = open ? (size_t)(open + 1 - name) : 0;
    const char *close = memchr(name + skipped, '}', resource->name_size - skipped);
    return braced ? !close : open && close > open + 1;
}

/* A name follows the first colon, because a channel prefix has one colon, at its end. The prefix of latches has none;
 * there the name follows in braces. */
size_t channel_names(const char *channel, size_t size, struct argument_part names[CHANNEL_NAMES_MAX]) {
    const char *latches = kind_of_number(REDLATCH_LATCH)->channel_prefix;
    size_t skip = strlen(latches);
    if (size > skip + 2 && memcmp(channel, latches, skip) == 0) {
        names[0] = (struct argument_part){channel + skip + 1, size - skip - 2};
        return 1;
    }
    const char *colon = memchr(channel, ':', size);
    if (!colon) {
        return 0;
    }
    const char *name = colon + 1;
    size -= (size_t)(name - channel);
    size_t count = 0;
    if (size > 2 && name[0] == '{' && name[size - 1] == '}' && !memchr(name + 1, '{', size - 2)) {
        names[count++] = (struct argument_part){name + 1, size - 2};
    }
    if (memchr(name, '{', size)) {
        names[count++] = (struct argument_part){name, size};
    }
    return count;
}
