/* Hosts and processes of owners: a connection of redlatch is called redlatch:[<label>@]<host>:<pid>:<uuid>, and an
 * owner id begins with that uuid.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* A longer list is not taken, nor sent by the library: that of some 45 000 connections. */
enum { LIST_SIZE = 1 << 24, UUID_SIZE = 36, VERSION_AT = 14, VERSION = '8' };

static const char mark[] = " name=redlatch:";

bool hosts_may_know(const redlatch_party *party) {
    return strlen(party->owner) > UUID_SIZE && party->owner[VERSION_AT] == VERSION && !party->pid;
}

static int compare(const void *one, const void *other) {
    return memcmp(((const struct host *)one)->uuid, ((const struct host *)other)->uuid, UUID_SIZE);
}

/* Takes a connection's name apart: label, host, process and uuid; false if it has another form. */
static bool read_host(const char *name, size_t size, struct host *host) {
    if (size < UUID_SIZE + 4 || name[size - UUID_SIZE - 1] != ':') {
        return false;
    }
    const char *end = name + size - UUID_SIZE - 1;
    const char *colon = find_last(name, ':', (size_t)(end - name));
    if (!colon || colon == name || colon + 1 == end) {
        return false;
    }
    char *rest;
    const char *at = memrchr(name, '@', (size_t)(colon - name));
    const char *begin = at ? at + 1 : name;
    *host = (struct host){.uuid = end + 1, .name = begin, .name_size = (size_t)(colon - begin)};
    host->label = name;
    host->label_size = at ? (size_t)(at - name) : 0;
    host->pid = strtoll(colon + 1, &rest, 10);
    return rest == end && host->pid > 0 && host->name_size > 0;
}

static bool add(struct hosts *hosts, const struct host *host, size_t *capacity) {
    if (hosts->count == *capacity) {
        *capacity = *capacity ? 2 * *capacity : 64;
        struct host *larger = realloc(hosts->host, *capacity * sizeof *larger);
        if (!larger) {
            return false;
        }
        hosts->host = larger;
    }
    hosts->host[hosts->count++] = *host;
    return true;
}

void hosts_load(struct hosts *hosts, redlatch_client *client) {
    *hosts = (struct hosts){.list = malloc(LIST_SIZE)};
    size_t capacity = 0;
    const char *words[] = {"CLIENT", "LIST"};
    if (!hosts->list || redlatch_client_command(client, words, 2, hosts->list, LIST_SIZE, NULL) != REDLATCH_OK) {
        return;
    }
    for (const char *at = hosts->list; (at = strstr(at, mark)) != NULL;) {
        at += sizeof mark - 1;
        struct host host;
        if (read_host(at, strcspn(at, " \n"), &host) && !add(hosts, &host, &capacity)) {
            break;
        }
    }
    if (hosts->count) {
        qsort(hosts->host, hosts->count, sizeof *hosts->host, compare);
    }
}

void hosts_free(struct hosts *hosts) {
    free(hosts->host);
    free(hosts->list);
}

void hosts_fill(const struct hosts *hosts, redlatch_party *party) {
    struct host sought = {.uuid = party->owner};
    if (!hosts->count || !hosts_may_know(party)) {
        return;
    }
    const struct host *found = bsearch(&sought, hosts->host, hosts->count, sizeof *hosts->host, compare);
    if (found) {
        snprintf(party->host, sizeof party->host, "%.*s", (int)found->name_size, found->name);
        snprintf(party->label, sizeof party->label, "%.*s", (int)found->label_size, found->label);
        party->pid = found->pid;
    }
}
