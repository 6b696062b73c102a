/* The few lines every redlatch benchmark program begins with: a client and a handle, or the reason why not.
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef BENCH_REDLATCH_PEER_H
#define BENCH_REDLATCH_PEER_H

#include "measure.h"

#include <redlatch.h>
#include <string.h>

/* Ends the program unless a call succeeded. */
static inline void must(int status, const char *what) {
    if (status != REDLATCH_OK) {
        give_up("%s: %s (%s)", what, redlatch_status_name(status), redlatch_last_error());
    }
}

static inline redlatch_client *client_open_url(const char *url) {
    redlatch_client *client = NULL;
    must(redlatch_client_open(url, NULL, &client), "cannot open a client");
    return client;
}

/* At a port, with TLS unless `ca` is empty; or where the URL says, unless that is empty. */
static inline redlatch_client *client_open_at(const char *given_url, int port, const char *ca) {
    if (given_url[0] != '\0') {
        return client_open_url(given_url);
    }
    char url[512];
    const int size = ca[0] == '\0' ? snprintf(url, sizeof url, "redis://127.0.0.1:%d/0", port)
                                   : snprintf(url, sizeof url, "rediss://127.0.0.1:%d/0?tls_ca_file=%s", port, ca);
    if (size >= (int)sizeof url) {
        give_up("the path %s is longer than a URL here", ca);
    }
    return client_open_url(url);
}

static inline redlatch_client *client_open(int port) {
    return client_open_at("", port, "");
}

static inline redlatch_lock *lock_open_of_kind(redlatch_client *client, int kind, const char *name) {
    redlatch_lock *lock = NULL;
    must(redlatch_lock_new(client, kind, name, strlen(name), NULL, &lock), "cannot make a lock handle");
    return lock;
}

static inline redlatch_lock *lock_open(redlatch_client *client, const char *name) {
    return lock_open_of_kind(client, REDLATCH_MUTEX, name);
}

static inline redlatch_stats client_stats(redlatch_client *client) {
    redlatch_stats stats = {.struct_size = sizeof stats};
    must(redlatch_client_stats(client, &stats), "cannot read the client's statistics");
    return stats;
}

static inline void client_close(redlatch_client *client) {
    must(redlatch_client_close(client), "cannot close the client");
    redlatch_client_free(client);
}

#endif
