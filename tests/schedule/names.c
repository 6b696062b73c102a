/* Host names and their addresses. A lookup takes time, and may find nothing.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "names.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "schedule.h"
#include "wrapped.h"

/* The result of a lookup, in one allocation. */
struct found {
    struct addrinfo infos[2];
    struct sockaddr_in6 refusing;
    struct sockaddr_in listening;
};

static struct {
    int64_t slow_until;
    int64_t unknown_until;
    int leads_to[10]; /* by name: 1 plus the server's number; 0: the server of the same number */
} names;

void names_begin(void) {
    memset(&names, 0, sizeof names);
}

void names_fail(int64_t until, bool slow) {
    *(slow ? &names.slow_until : &names.unknown_until) = until;
}

void names_lead(int name, int server) {
    names.leads_to[name] = server + 1;
}

/* Server 2 listens on 10.0.0.2. */
int names_server_at(const struct address *address) {
    const struct sockaddr_in *at = (const struct sockaddr_in *)&address->storage;
    return at->sin_family == AF_INET && ntohs(at->sin_port) == 6400 ? (int)(ntohl(at->sin_addr.s_addr) & 0xff) : -1;
}

/* An address in digits needs no lookup. */
int __wrap_getaddrinfo(const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **out) {
    struct in_addr address;
    bool digits = inet_pton(AF_INET, host, &address) == 1;
    if (!digits && (hints->ai_flags & AI_NUMERICHOST)) {
        return EAI_NONAME;
    }
    if (!digits) {
        trace("looks %s up", host);
        int64_t longer = schedule_now() < names.slow_until ? 800000 : 0;
        actor_sleep(1 + schedule_draw(3000) + longer);
        if (host[0] != 's' || schedule_now() < names.unknown_until) {
            return EAI_NONAME;
        }
        int name = host[1] - '0';
        int server = names.leads_to[name] > 0 ? names.leads_to[name] - 1 : name;
        address.s_addr = htonl(0x0a000000 + (uint32_t)server);
    }
    struct found *found = calloc(1, sizeof *found);
    if (!found) {
        return EAI_MEMORY;
    }
    found->refusing = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)atoi(port))};
    found->listening = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    found->listening.sin_addr = address;
    found->infos[0].ai_addr = (struct sockaddr *)&found->refusing;
    found->infos[0].ai_addrlen = sizeof found->refusing;
    found->infos[0].ai_next = &found->infos[1];
    found->infos[1].ai_addr = (struct sockaddr *)&found->listening;
    found->infos[1].ai_addrlen = sizeof found->listening;
    *out = digits ? &found->infos[1] : &found->infos[0];
    return 0;
}

void __wrap_freeaddrinfo(struct addrinfo *first) {
    free(first->ai_next ? first : first - 1);
}
