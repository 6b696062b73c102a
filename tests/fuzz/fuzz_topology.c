/* Fuzz target: the topology, as the reply to CLUSTER SLOTS and as redirections. Each slot that is read has a master of
 * the list or none, and each master is a valid endpoint. A reply that is rejected changes nothing. A redirection that
 * is written out again is read the same.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first byte chooses what is read, and with which map. */
#include "topology.h"

#include "fuzz.h"
#include "parsed.h"
#include "redlatch.h"
#include "replies.h"

enum { REDIRECTION = 1, WITH_MAP = 2, SIZE_MAX_OF_REPLY = 1 << 20 };

static const struct endpoint source = {"seed.example", 7000};

static void check_endpoint(const struct endpoint *endpoint) {
    struct endpoint again;
    MUST(endpoint_set(&again, endpoint->host, strlen(endpoint->host), endpoint->port));
    MUST(endpoint_equal(&again, endpoint));
}

static void check_topology(const struct topology *topology) {
    MUST(topology->count >= 1 && topology->count <= TOPOLOGY_MASTERS_MAX && topology->count <= topology->room);
    for (int i = 0; i < topology->count; i++) {
        check_endpoint(&topology->masters[i]);
        for (int k = 0; k < i; k++) {
            MUST(!endpoint_equal(&topology->masters[i], &topology->masters[k]));
        }
    }
    for (int slot = 0; slot < SLOT_COUNT; slot++) {
        MUST(topology->master_of[slot] < topology->count || topology->master_of[slot] == NO_MASTER);
    }
}

static void check_equal(const struct topology *one, const struct topology *other) {
    MUST(one->count == other->count && memcmp(one->master_of, other->master_of, sizeof one->master_of) == 0);
    for (int i = 0; i < one->count; i++) {
        MUST(endpoint_equal(&one->masters[i], &other->masters[i]));
    }
}

/* Reads a reply twice: into a topology that was read before, and into a new one. */
static void read_reply(const void *parsed, struct topology *topology, const struct address_map *map) {
    const struct topology before = *topology;
    struct topology *fresh = calloc(1, sizeof *fresh);
    MUST(fresh);
    int status = topology_read(fresh, parsed, &source, map);
    MUST(topology_read(topology, parsed, &source, map) == status);
    MUST(status == REDLATCH_OK || status == REDLATCH_PROTOCOL);
    if (status == REDLATCH_OK) {
        check_topology(topology);
        check_equal(topology, fresh);
    } else {
        MUST(memcmp(topology, &before, sizeof before) == 0);
        MUST(fresh->masters == NULL && fresh->count == 0);
    }
    topology_free(fresh);
    free(fresh);
}

static void read_replies(const struct input *input, const struct address_map *map) {
    const struct reply_bounds bounds = {.size_max = SIZE_MAX_OF_REPLY};
    struct replies replies = {.nested = true};
    struct reply_holder *holder = calloc(1, sizeof *holder);
    struct topology *topology = calloc(1, sizeof *topology);
    void *parsed;
    MUST(holder && topology && replies_open(&replies));
    MUST(replies_feed(&replies, (const char *)input->bytes, input->size) == REDLATCH_OK);
    while (replies_next(&replies, &bounds, &parsed) == REDLATCH_OK && reply_holder_show(holder, parsed)) {
        read_reply(holder->parsed, topology, map);
    }
    reply_holder_clear(holder);
    free(holder);
    topology_free(topology);
    free(topology);
    replies_close(&replies);
}

static void read_redirection(const struct input *input, const struct address_map *map) {
    uint16_t slot;
    struct endpoint endpoint;
    char *exact = malloc(input->size + 1);
    MUST(exact);
    memcpy(exact, input->bytes, input->size);
    if (redirect_read(exact, input->size, &source, map, &slot, &endpoint)) {
        char text[ENDPOINT_TEXT_SIZE + 20];
        uint16_t slot_again;
        struct endpoint again;
        MUST(slot < SLOT_COUNT);
        check_endpoint(&endpoint);
        int size = snprintf(text, sizeof text, "MOVED %d %s:%d", slot, endpoint.host, endpoint.port);
        MUST(redirect_read(text, (size_t)size, &source, &(const struct address_map){0}, &slot_again, &again));
        MUST(slot_again == slot && endpoint_equal(&again, &endpoint));
    }
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    struct input input = {bytes, size};
    struct address_map map = {0};
    uint8_t how = input_byte(&input);
    bool no_memory;
    MUST(!(how & WITH_MAP) || address_map_parse(&map, "10.0.0.1=public:1,h=i,seed.example:7001=other", &no_memory));
    if (how & REDIRECTION) {
        read_redirection(&input, &map);
    } else {
        read_replies(&input, &map);
    }
    address_map_free(&map);
    return 0;
}
