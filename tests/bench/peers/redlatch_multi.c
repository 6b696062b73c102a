/* Pairs per second of a multi lock of many names on one server.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "arguments.h"
#include "workers.h"
#include "redlatch_peer.h"

enum { MEMBERS_MAX = 100 };

typedef struct multi_shared {
    redlatch_client *client;
    int members;
} multi_shared;

static void *open_thread(void *shared, int number) {
    const multi_shared *settings = shared;
    redlatch_lock *members[MEMBERS_MAX];
    for (int i = 0; i < settings->members; i++) {
        char name[64];
        snprintf(name, sizeof name, "bench:multi:%d:%d", number, i);
        members[i] = lock_open(settings->client, name);
    }
    redlatch_lock *lock = NULL;
    must(redlatch_multi_lock_new(members, (size_t)settings->members, NULL, &lock), "cannot make a multi lock");
    for (int i = 0; i < settings->members; i++) {
        redlatch_lock_free(members[i]);
    }
    return lock;
}

static void pair(void *lock) {
    must(redlatch_lock_try_acquire(lock), "acquire of a free multi lock");
    must(redlatch_lock_release(lock), "release of the multi lock");
}

static void close_thread(void *lock) {
    redlatch_lock_free(lock);
}

int main(int argc, char **argv) {
    int port = 6379;
    int members = 10;
    double seconds = 1;
    const struct argument table[] = {
        {.name = "--port", .integer = &port},
        {.name = "--members", .integer = &members},
        {.name = "--seconds", .number = &seconds},
    };
    ARGUMENTS_READ(argc, argv, table);
    if (members < 1 || members > MEMBERS_MAX) {
        give_up("--members: expected 1 to %d, not %d", MEMBERS_MAX, members);
    }
    multi_shared shared = {.client = client_open(port), .members = members};
    const workers_work work = {.open = open_thread, .pair = pair, .close = close_thread, .shared = &shared};
    workers_run(&work, 1, seconds);
    client_close(shared.client);
    return 0;
}
