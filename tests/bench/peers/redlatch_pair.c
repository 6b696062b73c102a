/* Pairs per second of redlatch: one client, and a lock for each thread. With `--confirm 0` releases are unconfirmed.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "arguments.h"
#include "workers.h"
#include "redlatch_peer.h"

static int confirm = 1;

static void *open_thread(void *client, int number) {
    char name[64];
    snprintf(name, sizeof name, "bench:pair:%d", number);
    return lock_open(client, name);
}

static void pair(void *lock) {
    must(redlatch_lock_try_acquire(lock), "acquire of a free lock");
    must(redlatch_lock_release_with(lock, 0, confirm), "release");
}

static void close_thread(void *lock) {
    redlatch_lock_free(lock);
}

int main(int argc, char **argv) {
    int port = 6379;
    int threads = 1;
    double seconds = 1;
    const char *ca = "";
    const char *url = "";
    const struct argument table[] = {
        {.name = "--port", .integer = &port},      {.name = "--ca", .text = &ca},
        {.name = "--url", .text = &url},           {.name = "--threads", .integer = &threads},
        {.name = "--seconds", .number = &seconds}, {.name = "--confirm", .integer = &confirm},
    };
    ARGUMENTS_READ(argc, argv, table);
    redlatch_client *client = client_open_at(url, port, ca);
    const workers_work work = {.open = open_thread, .pair = pair, .close = close_thread, .shared = client};
    workers_run(&work, threads, seconds);
    client_close(client);
    return 0;
}
