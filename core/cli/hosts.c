/* Hosts and processes of owners: a connection of redlatch is called redlatch:[<label>@]<host>:<pid>:<uuid>, and an
 * owner id begins with that uuid.
 * SPDX-License-Identifier: Apache-2.0 */
#include "hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "nodes.h"

/* LIST_SIZE: the longest list that the library reads, that of some 45 000 connections. */
enum { LIST_SIZE = 1 << 24, UUID_SIZE = 36, VERSION_AT = 14, VERSION = '8' };

static const char mark[] = " name=redlatch:";

bool hosts_may_know(const redlatch_party *party) {
    return strlen(party->owner) > UUID_SIZE && party->owner[VERSION_AT] == VERSION && !party->pid;
}

static int compare(const void *one, const void *other) {
    return memcmp(((const struct host *)one)->uuid, ((const struct host *)other)->uuid, UUID_SIZE);
}

/* Parses the name of a connection: label, host, process and uuid. Returns false if it has another form. */
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
    const char *at = find_last(name, '@', (size_t)(colon - name));
    const char *begin = at ? at + 1 : name;
    *host = (struct host){.uuid = end + 1, .name = begin, .name_size = (size_t)(colon - begin)};
    host->label = name;
    host->label_size = at ? (size_t)(at - name) : 0;
    host->pid = strtoll(colon + 1, &rest, 10);
    return rest == end && host->pid > 0 && host->name_size > 0;
}

static bool add(struct hosts *hosts, const struct host *host) {
    if (hosts->count == hosts->capacity) {
        size_t capacity = hosts->capacity ? 2 * hosts->capacity : 64;
        struct host *larger = realloc(hosts->host, capacity * sizeof *larger);
        if (!larger) {
            return false;
        }
        hosts->host = larger;
        hosts->capacity = capacity;
    }
    hosts->host[hosts->count++] = *host;
    return true;
}

/* Returns the list of one node's connections. Returns NULL if the node refuses it, or if there was no memory. */
static char *list_connections(redlatch_client *client, const char *node) {
    char *list = malloc(LIST_SIZE);
    size_t size = 0;
    const char *words[] = {"CLIENT", "LIST"};
    if (!list || redlatch_client_command(client, node, words, 2, list, LIST_SIZE, &size) != REDLATCH_OK) {
        free(list);
        return NULL;
    }
    char *smaller = realloc(list, (size < LIST_SIZE ? size : LIST_SIZE - 1) + 1);
    return smaller ? smaller : list;
}

static void take(struct hosts *hosts, const char *list) {
    for (const char *at = list; (at = strstr(at, mark)) != NULL;) {
        at += sizeof mark - 1;
        struct host host;
        if (read_host(at, strcspn(at, " \n"), &host) && !add(hosts, &host)) {
            break;
        }
    }
}

void hosts_load(struct hosts *hosts, redlatch_client *client) {
    struct nodes nodes;
    *hosts = (struct hosts){.count = 0};
    if (nodes_load(&nodes, client) != REDLATCH_OK) {
        return;
    }
    hosts->list = calloc(nodes.count + 1, sizeof *hosts->list);
    for (size_t i = 0; hosts->list && i < nodes.count; i++) {
        hosts->list[hosts->list_count] = list_connections(client, nodes.node[i]);
        if (hosts->list[hosts->list_count]) {
            take(hosts, hosts->list[hosts->list_count++]);
        }
    }
    nodes_free(&nodes);
    if (hosts->count) {
        qsort(hosts->host, hosts->count, sizeof *hosts->host, compare);
    }
}

void hosts_free(struct hosts *hosts) {
    for (size_t i = 0; i < hosts->list_count; i++) {
        free(hosts->list[i]);
    }
    free(hosts->list);
    free(hosts->host);
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
