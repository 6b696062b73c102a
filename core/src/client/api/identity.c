/* Uuids, labels, and names of connections.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "identity.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "errors.h"

/* A random version-8 uuid: Redisson's are version 4, so scripts can tell the two apart. */
static bool make_uuid(char text[37]) {
    unsigned char bytes[16];
    if (!system_random(bytes, sizeof bytes)) {
        return false;
    }
    bytes[6] = (unsigned char)((bytes[6] & 0x0f) | 0x80);
    bytes[8] = (unsigned char)((bytes[8] & 0x3f) | 0x80);
    char *at = text;
    for (int i = 0; i < 16; i++) {
        at += sprintf(at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", bytes[i]);
    }
    return true;
}

int identity_draw(struct identity *identity_out) {
    bool drawn = make_uuid(identity_out->uuid) && system_random(&identity_out->random, sizeof identity_out->random);
    return drawn ? REDLATCH_OK : fail_with(REDLATCH_SYSTEM, "the system has no random bytes");
}

/* Returns whether CLIENT SETNAME allows a byte. */
static bool is_visible(char byte) {
    return byte > ' ' && byte <= '~';
}

int identity_check_label(const char *label) {
    if (!label) {
        return REDLATCH_OK;
    }
    size_t size = strlen(label);
    bool good = size >= 1 && size <= LABEL_SIZE_MAX;
    for (size_t i = 0; good && i < size; i++) {
        good = is_visible(label[i]);
    }
    char shown[64];
    return good ? REDLATCH_OK
                : fail_with(REDLATCH_INVALID,
                            "label \"%s\": expected 1 to %d visible ASCII characters, none of them a blank",
                            shown_name(label, size, shown), LABEL_SIZE_MAX);
}

void identity_name(struct client *client) {
    char host[65] = "";
    gethostname(host, sizeof host - 1);
    for (char *at = host; *at; at++) { /* no @: the last one ends the label */
        *at = is_visible(*at) && *at != '@' ? *at : '_';
    }
    snprintf(client->connection_settings.name, sizeof client->connection_settings.name, "redlatch:%s%s%s:%ld:%s",
             client->label, client->label[0] ? "@" : "", host, (long)getpid(), client->engine.uuid);
}
