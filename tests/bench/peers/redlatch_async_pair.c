/* Pairs per second of redlatch's started calls: one thread, which polls the client's descriptor. With `--confirm 0`
 * releases are unconfirmed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "arguments.h"
#include "workers.h"
#include "redlatch_peer.h"

#include <poll.h>

static int confirm = 1;

struct host {
    redlatch_client *client;
    redlatch_lock *lock;
    uint64_t owner;
    int fd;
};

static void *open_host(void *client, int number) {
    static struct host host;
    (void)number;
    host = (struct host){.client = client, .lock = lock_open(client, "bench:async-pair")};
    must(redlatch_owner_new(&host.owner), "cannot make an owner");
    must(redlatch_client_event_fd(client, &host.fd), "cannot make a descriptor");
    return &host;
}

/* Waits for the one call that was started. */
static void finish(struct host *host, const char *what) {
    redlatch_event event = {.struct_size = sizeof event};
    int status;
    while ((status = redlatch_client_next_event(host->client, &event)) == REDLATCH_AGAIN) {
        struct pollfd readable = {.fd = host->fd, .events = POLLIN};
        poll(&readable, 1, -1);
    }
    must(status, "next event");
    must(event.status, what);
}

static void pair(void *state) {
    struct host *host = state;
    must(redlatch_lock_start_acquire(host->lock, host->owner, REDLATCH_LEASE_OF_LOCK, 0, 1), "start of an acquire");
    finish(host, "acquire of a free lock");
    must(redlatch_lock_start_release_with(host->lock, host->owner, confirm, 2), "start of a release");
    finish(host, "release");
}

static void close_host(void *state) {
    struct host *host = state;
    redlatch_lock_free(host->lock);
}

int main(int argc, char **argv) {
    int port = 6379;
    double seconds = 1;
    const struct argument table[] = {
        {.name = "--port", .integer = &port},
        {.name = "--seconds", .number = &seconds},
        {.name = "--confirm", .integer = &confirm},
    };
    ARGUMENTS_READ(argc, argv, table);
    redlatch_client *client = client_open(port);
    const workers_work work = {.open = open_host, .pair = pair, .close = close_host, .shared = client};
    workers_run(&work, 1, seconds);
    client_close(client);
    return 0;
}
