/* Enters sections and leaves them.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "soak_witness.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "soak_journal.h"

static const struct address *address_of(const struct plan *plan, const struct kind *kind, const char *name) {
    for (int i = 0; i < plan->addresses; i++) {
        const struct address *address = &plan->address[i];
        if (strcmp(address->kind, kind->name) == 0 && strcmp(address->name, name) == 0) {
            return address;
        }
    }
    return NULL;
}

static void enter(struct sections *sections, const struct address *address, const char *id) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)address->port)};
    int own = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (own < 0 || inet_pton(AF_INET, address->host, &to.sin_addr) != 1 || sections->count == SECTIONS_MAX) {
        give_up("no socket for %s port %d", address->host, address->port);
    }
    sections->sockets[sections->count++] = own;
    int64_t since = now_ns();
    if (bind(own, (struct sockaddr *)&to, sizeof to) != 0) {
        say("clash", id, ",\"name\":\"%s\",\"since\":%" PRId64, address->name, since);
    }
}

void witness_enter(struct sections *sections, const struct plan *plan, const struct turn *turn, const char *id) {
    sections->count = 0;
    char names[NAME_SIZE];
    memcpy(names, turn->name, sizeof names);
    char *rest = NULL;
    for (char *name = strtok_r(names, "+", &rest); name; name = strtok_r(NULL, "+", &rest)) {
        const struct address *address = address_of(plan, turn->kind, name);
        if (address) {
            enter(sections, address, id);
        }
    }
}

void witness_leave(struct sections *sections) {
    for (int i = 0; i < sections->count; i++) {
        close(sections->sockets[i]);
    }
}
