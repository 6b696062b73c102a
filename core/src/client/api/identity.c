/* Uuids, and names of connections.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "identity.h"

#include <stdio.h>
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

void identity_name(struct client *client) {
    char host[65] = "";
    gethostname(host, sizeof host - 1);
    for (char *at = host; *at; at++) { /* CLIENT SETNAME takes no blanks */
        *at = *at > ' ' && *at <= '~' ? *at : '_';
    }
    snprintf(client->connection_settings.name, sizeof client->connection_settings.name, "redlatch:%s:%ld:%s", host,
             (long)getpid(), client->engine.uuid);
}
