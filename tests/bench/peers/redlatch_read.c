/* One read lock that all threads of one client take and free.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "arguments.h"
#include "workers.h"
#include "redlatch_peer.h"

static void *open_thread(void *client, int number) {
    (void)number;
    return lock_open_of_kind(client, REDLATCH_READ, "bench:read");
}

static void pair(void *lock) {
    must(redlatch_lock_acquire(lock, REDLATCH_FOREVER), "acquire of the read lock");
    must(redlatch_lock_release(lock), "release of the read lock");
}

static void close_thread(void *lock) {
    redlatch_lock_free(lock);
}

int main(int argc, char **argv) {
    int port = 6379;
    int threads = 64;
    double seconds = 1;
    const struct argument table[] = {
        {.name = "--port", .integer = &port},
        {.name = "--threads", .integer = &threads},
        {.name = "--seconds", .number = &seconds},
    };
    ARGUMENTS_READ(argc, argv, table);
    redlatch_client *client = client_open(port);
    const workers_work work = {.open = open_thread, .pair = pair, .close = close_thread, .shared = client};
    workers_run(&work, threads, seconds);
    client_close(client);
    return 0;
}
