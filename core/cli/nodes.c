/* The list of a client's nodes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "nodes.h"

#include <stdlib.h>
#include <string.h>

/* Room for more masters than a cluster may have, with the longest names. */
enum { TEXT_SIZE = 1 << 19 };

static int compare(const void *one, const void *other) {
    return strcmp(*(char *const *)one, *(char *const *)other);
}

/* Ends each line with a NUL, and sorts the lines. Returns false if there was no memory. */
static bool split(struct nodes *nodes) {
    size_t lines = 0;
    for (const char *at = nodes->text; (at = strchr(at, '\n')) != NULL; at++) {
        lines++;
    }
    nodes->node = calloc(lines + 1, sizeof *nodes->node);
    if (!nodes->node) {
        return false;
    }
    char *begin = nodes->text;
    for (char *end; (end = strchr(begin, '\n')) != NULL; begin = end + 1) {
        *end = '\0';
        nodes->node[nodes->count++] = begin;
    }
    qsort(nodes->node, nodes->count, sizeof *nodes->node, compare);
    return true;
}

int nodes_load(struct nodes *nodes, redlatch_client *client) {
    *nodes = (struct nodes){.text = malloc(TEXT_SIZE)};
    int status = nodes->text ? redlatch_client_nodes(client, nodes->text, TEXT_SIZE, NULL) : REDLATCH_NO_MEMORY;
    if (status == REDLATCH_OK && !split(nodes)) {
        status = REDLATCH_NO_MEMORY;
    }
    if (status != REDLATCH_OK) {
        nodes_free(nodes);
    }
    return status;
}

bool nodes_are_of_cluster(const redlatch_client *client) {
    const char *url = redlatch_client_url(client);
    const char *cluster = strstr(url, "+cluster:");
    return cluster && cluster < strchr(url, ':');
}

void nodes_free(struct nodes *nodes) {
    free(nodes->node);
    free(nodes->text);
    *nodes = (struct nodes){.count = 0};
}
