/* Finding owners in CLIENT LIST: a redlatch client's connections are called redlatch:[<label>@]<host>:<pid>:<uuid>, and
 * an owner is <uuid>:<number>.
 * SPDX-License-Identifier: Apache-2.0 */
#include "locations.h"

#include <stdlib.h>
#include <string.h>

enum { UUID_SIZE = 36, VERSION_AT = 14 };

static const char prefix[] = "name=redlatch:";

/* Returns whether a redlatch client may own it. Redisson's uuids are of version 4, and its connections have no such
 * names. */
static bool is_redlatch(const redlatch_party *party) {
    return strlen(party->owner) > UUID_SIZE && party->owner[VERSION_AT] == '8';
}

bool locations_wanted(const struct redlatch_report *report) {
    redlatch_party party = {.struct_size = sizeof party};
    for (uint64_t i = 0; i < report->facts.parties; i++) {
        redlatch_report_party(report, i, &party);
        if (is_redlatch(&party)) {
            return true;
        }
    }
    return false;
}

/* Reads `[<label>@]<host>`. A label may contain an @, a host does not. */
static bool read_host(const char *text, size_t size, int64_t pid, struct process_location *location) {
    size_t host = size;
    while (host > 0 && text[host - 1] != '@') {
        host--;
    }
    size_t label_size = host > 0 ? host - 1 : 0;
    if (host == size || size - host >= sizeof location->host || label_size >= sizeof location->label) {
        return false;
    }
    memset(location, 0, sizeof *location);
    memcpy(location->host, text + host, size - host);
    memcpy(location->label, text, label_size);
    location->pid = pid;
    return true;
}

/* Takes a connection's name apart. Returns false if it is not one of redlatch's. */
static bool read_name(const char *name, size_t size, struct process_location *location, const char **uuid_out) {
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
    if (digits == end || digits == 0 || name[digits - 1] != ':') {
        return false;
    }
    *uuid_out = name + size - UUID_SIZE;
    return read_host(name, digits - 1, pid, location);
}

/* A party whose location is wanted, by its uuid. */
struct sought {
    char uuid[UUID_SIZE];
    bool found; /* set in the first of several with the same uuid */
    uint64_t party;
};

static int by_uuid(const void *one, const void *other) {
    return memcmp(((const struct sought *)one)->uuid, ((const struct sought *)other)->uuid, UUID_SIZE);
}

/* Lists the parties of redlatch in the order of their uuids. Returns their number. */
static size_t list_sought(const struct redlatch_report *report, struct sought *sought) {
    redlatch_party party = {.struct_size = sizeof party};
    size_t count = 0;
    for (uint64_t i = 0; i < report->facts.parties; i++) {
        redlatch_report_party(report, i, &party);
        if (is_redlatch(&party)) {
            memcpy(sought[count].uuid, party.owner, UUID_SIZE);
            sought[count].found = false;
            sought[count++].party = i;
        }
    }
    qsort(sought, count, sizeof *sought, by_uuid);
    return count;
}

/* Sets the location of every party with this uuid, from the first connection of that client that is read. */
static void enter(struct redlatch_report *report, struct sought *sought, size_t count,
                  const struct process_location *location, const char *uuid) {
    size_t low = 0;
    for (size_t high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        bool before = memcmp(sought[middle].uuid, uuid, UUID_SIZE) < 0;
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    bool new = low < count && !sought[low].found;
    for (size_t i = low; new && i < count &&memcmp(sought[i].uuid, uuid, UUID_SIZE) == 0; i++) {
        sought[low].found = true;
        report->locations[sought[i].party] = *location;
    }
}

/* Finds the name in a line of CLIENT LIST, behind its prefix. Returns false if the line is not of a redlatch client. */
static bool find_name(const char *row, const char *row_end, const char **name_out, size_t *size_out) {
    const char *name = row;
    while ((size_t)(row_end - name) >= sizeof prefix && memcmp(name, prefix, sizeof prefix - 1) != 0) {
        const char *blank = memchr(name, ' ', (size_t)(row_end - name));
        name = blank ? blank + 1 : row_end;
    }
    if ((size_t)(row_end - name) < sizeof prefix) {
        return false;
    }
    name += sizeof prefix - 1;
    const char *blank = memchr(name, ' ', (size_t)(row_end - name));
    *name_out = name;
    *size_out = (size_t)((blank ? blank : row_end) - name);
    return true;
}

int locations_find(struct redlatch_report *report, const char *list, size_t size) {
    struct sought *sought = malloc((report->facts.parties + 1) * sizeof *sought);
    report->locations = calloc(report->facts.parties + 1, sizeof *report->locations);
    if (!report->locations || !sought) {
        free(sought);
        free(report->locations);
        report->locations = NULL;
        return REDLATCH_NO_MEMORY;
    }
    size_t count = list_sought(report, sought);
    const char *end = list + size;
    for (const char *at = list; at < end;) {
        const char *row_end = memchr(at, '\n', (size_t)(end - at));
        row_end = row_end ? row_end : end;
        const char *name;
        size_t name_size;
        struct process_location location;
        const char *uuid;
        if (find_name(at, row_end, &name, &name_size) && read_name(name, name_size, &location, &uuid)) {
            enter(report, sought, count, &location, uuid);
        }
        at = row_end + 1;
    }
    free(sought);
    return REDLATCH_OK;
}
