/* Lookup of host names with a deadline.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "resolver.h"

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "redlatch.h"
#include "system.h"

/* A lookup, shared by those that want it and the thread that does it. The last of them frees it. */
struct lookup {
    struct lookup *next; /* under way */
    _Atomic uint32_t done;
    _Atomic uint32_t users;
    int status;
    struct addresses found;
    char port[8];
    char host[];
};

/* Guards the list of the lookups under way. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct lookup *under_way;

void resolver_before_fork(void) {
    pthread_mutex_lock(&mutex);
}

void resolver_after_fork(void) {
    pthread_mutex_unlock(&mutex);
}

void resolver_in_child(void) {
    under_way = NULL;
}

void lookup_drop(struct lookup *lookup) {
    if (lookup && atomic_fetch_sub(&lookup->users, 1) == 1) {
        free(lookup);
    }
}

static int ask_system(const char *host, const char *port, int flags, struct addresses *out) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
    struct addrinfo *first = NULL;
    int failure = getaddrinfo(host, port, &hints, &first);
    if (failure) {
        return failure == EAI_MEMORY ? REDLATCH_NO_MEMORY : REDLATCH_UNREACHABLE;
    }
    out->count = 0;
    for (struct addrinfo *info = first; info && out->count < ADDRESSES_MAX; info = info->ai_next) {
        struct address *address = &out->list[out->count++];
        memcpy(&address->storage, info->ai_addr, info->ai_addrlen);
        address->size = info->ai_addrlen;
    }
    freeaddrinfo(first);
    return REDLATCH_OK; /* there is one at least */
}

/* Nobody joins a lookup that is done: its addresses grow old. */
static void leave_list(const struct lookup *lookup) {
    pthread_mutex_lock(&mutex);
    struct lookup **link = &under_way;
    while (*link != lookup) {
        link = &(*link)->next;
    }
    *link = lookup->next;
    pthread_mutex_unlock(&mutex);
}

static void *run_lookup(void *argument) {
    struct lookup *lookup = argument;
    system_thread_name("redlatch-dns");
    lookup->status = ask_system(lookup->host, lookup->port, AI_ADDRCONFIG, &lookup->found);
    leave_list(lookup);
    atomic_store(&lookup->done, 1);
    system_wake_all(&lookup->done);
    lookup_drop(lookup);
    return NULL;
}

static void unix_address(const char *path, struct addresses *out) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    memcpy(name.sun_path, path, strlen(path) + 1);
    memcpy(&out->list[0].storage, &name, sizeof name);
    out->list[0].size = sizeof name;
    out->count = 1;
}

/* Begins to look a name up in a thread of its own. Returns NULL if there was no memory or no thread. With the mutex. */
static struct lookup *lookup_begin(const char *host, const char port[8]) {
    size_t size = strlen(host) + 1;
    struct lookup *lookup = calloc(1, sizeof *lookup + size);
    if (!lookup) {
        return NULL;
    }
    memcpy(lookup->host, host, size);
    memcpy(lookup->port, port, sizeof lookup->port);
    atomic_store(&lookup->users, 2);
    pthread_t thread;
    if (!system_thread_start(&thread, run_lookup, lookup)) {
        free(lookup);
        return NULL;
    }
    pthread_detach(thread);
    lookup->next = under_way;
    under_way = lookup;
    return lookup;
}

/* Returns the name's lookup that is under way, or begins one. */
static struct lookup *lookup_share(const char *host, const char port[8]) {
    pthread_mutex_lock(&mutex);
    struct lookup *lookup = under_way;
    while (lookup && (strcmp(lookup->host, host) != 0 || strcmp(lookup->port, port) != 0)) {
        lookup = lookup->next;
    }
    if (lookup) {
        atomic_fetch_add(&lookup->users, 1);
    } else {
        lookup = lookup_begin(host, port);
    }
    pthread_mutex_unlock(&mutex);
    return lookup;
}

static void port_text(const struct uri *uri, char text[8]) {
    snprintf(text, 8, "%d", uri->port & 0xffff);
}

bool address_equal(const struct address *one, const struct address *other) {
    const struct sockaddr *left = (const struct sockaddr *)&one->storage;
    const struct sockaddr *right = (const struct sockaddr *)&other->storage;
    if (left->sa_family != right->sa_family) {
        return false;
    }
    if (left->sa_family == AF_INET) {
        const struct sockaddr_in *a = (const struct sockaddr_in *)left;
        const struct sockaddr_in *b = (const struct sockaddr_in *)right;
        return a->sin_port == b->sin_port && a->sin_addr.s_addr == b->sin_addr.s_addr;
    }
    if (left->sa_family == AF_INET6) {
        const struct sockaddr_in6 *a = (const struct sockaddr_in6 *)left;
        const struct sockaddr_in6 *b = (const struct sockaddr_in6 *)right;
        return a->sin6_port == b->sin6_port && a->sin6_scope_id == b->sin6_scope_id &&
               memcmp(&a->sin6_addr, &b->sin6_addr, sizeof a->sin6_addr) == 0;
    }
    return one->size == other->size && memcmp(&one->storage, &other->storage, one->size) == 0;
}

bool resolve_at_once(const struct uri *uri, struct addresses *out) {
    if (uri->path) {
        unix_address(uri->path, out);
        return true;
    }
    char port[8];
    port_text(uri, port);
    return ask_system(uri->host, port, AI_NUMERICHOST | AI_NUMERICSERV, out) == REDLATCH_OK;
}

int resolve(const struct uri *uri, struct lookup **lookup, int64_t until, const _Atomic bool *stop,
            struct addresses *out) {
    if (!*lookup) {
        char port[8];
        port_text(uri, port);
        *lookup = lookup_share(uri->host, port);
    }
    if (!*lookup) {
        return REDLATCH_SYSTEM;
    }
    _Atomic uint32_t *done = &(*lookup)->done;
    int64_t now;
    while (!atomic_load(done) && !atomic_load(stop) && (now = system_now()) < until) {
        int64_t step = now + 50000; /* to see `stop` */
        system_wait(done, 0, step < until ? step : until);
    }
    if (!atomic_load(done)) {
        return REDLATCH_AGAIN;
    }
    int status = (*lookup)->status;
    if (status == REDLATCH_OK) {
        *out = (*lookup)->found;
    }
    lookup_drop(*lookup);
    *lookup = NULL;
    return status;
}
