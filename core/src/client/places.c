/* Finding owners in CLIENT LIST: a redlatch client's connections are called redlatch:<host>:<pid>:<uuid>, and an owner
 * is <uuid>:<number>. SPDX-License-Identifier: Apache-2.0 */
#include "places.h"

#include <stdlib.h>
#include <string.h>

enum { UUID_SIZE = 36, VERSION_AT = 14 };

static const char prefix[] = "name=redlatch:";

/* Redisson's uuids are of version 4, and its connections have no such names. */
static bool is_redlatch(const redlatch_party *party) {
    return strlen(party->owner) > UUID_SIZE && party->owner[VERSION_AT] == '8';
}

bool places_wanted(const struct redlatch_report *report) {
    redlatch_party party = {.struct_size = sizeof party};
    for (uint64_t i = 0; i < report->facts.parties; i++) {
        redlatch_report_party(report, i, &party);
        if (is_redlatch(&party)) {
            return true;
        }
    }
    return false;
}

/* A connection's name taken apart; false if it is not one of redlatch's. */
static bool read_name(const char *name, size_t size, struct report_place *place, const char **uuid_out) {
    if (size < UUID_SIZE + 3 || name[size - UUID_SIZE - 1] != ':') {
        return false;
    }
    size_t end = size - UUID_SIZE - 1;
    size_t digits = end;
    int64_t pid = 0;
    int64_t unit = 1;
    while (digits > 0 && end - digits < 10 && name[digits - 1] >= '0' && name[digits - 1] <= '9') {
        pid += unit * (name[--digits] - '0');
        unit *= 10;
    }
    if (digits == end || digits < 2 || name[digits - 1] != ':' || digits > sizeof place->host) {
        return false;
    }
    memset(place, 0, sizeof *place);
    memcpy(place->host, name, digits - 1);
    place->pid = pid;
    *uuid_out = name + size - UUID_SIZE;
    return true;
}

/* Enters a place for every party of this client. */
static void enter(struct redlatch_report *report, const struct report_place *place, const char *uuid) {
    redlatch_party party = {.struct_size = sizeof party};
    for (uint64_t i = 0; i < report->facts.parties; i++) {
        redlatch_report_party(report, i, &party);
        if (is_redlatch(&party) && memcmp(party.owner, uuid, UUID_SIZE) == 0) {
            report->places[i] = *place;
        }
    }
}

int places_find(struct redlatch_report *report, const char *list, size_t size) {
    report->places = calloc(report->facts.parties ? report->facts.parties : 1, sizeof *report->places);
    if (!report->places) {
        return REDLATCH_NO_MEMORY;
    }
    const char *end = list + size;
    for (const char *at = list; at < end;) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end ? line_end : end;
        const char *name = at;
        while ((size_t)(line_end - name) >= sizeof prefix && memcmp(name, prefix, sizeof prefix - 1) != 0) {
            const char *blank = memchr(name, ' ', (size_t)(line_end - name));
            name = blank ? blank + 1 : line_end;
        }
        if ((size_t)(line_end - name) >= sizeof prefix) {
            name += sizeof prefix - 1;
            const char *blank = memchr(name, ' ', (size_t)(line_end - name));
            struct report_place place;
            const char *uuid;
            if (read_name(name, (size_t)((blank ? blank : line_end) - name), &place, &uuid)) {
                enter(report, &place, uuid);
            }
        }
        at = line_end + 1;
    }
    return REDLATCH_OK;
}
