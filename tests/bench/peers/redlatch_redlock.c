/* How long acquire and release of a lock on a majority of servers take.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "arguments.h"
#include "ports.h"
#include "redlatch_peer.h"
#include "samples.h"

static redlatch_lock *majority_open(redlatch_client **clients, int count) {
    redlatch_lock *members[PORTS_MAX];
    for (int i = 0; i < count; i++) {
        members[i] = lock_open(clients[i], "bench:redlock");
    }
    redlatch_lock *lock = NULL;
    must(redlatch_redlock_new(members, (size_t)count, 0, NULL, &lock), "cannot make a RedLock");
    for (int i = 0; i < count; i++) {
        redlatch_lock_free(members[i]);
    }
    return lock;
}

static void pairs_until(redlatch_lock *lock, int64_t deadline_ns, samples *acquires, samples *releases) {
    for (int64_t start_ns = now_ns(); start_ns < deadline_ns; start_ns = now_ns()) {
        must(redlatch_lock_try_acquire(lock), "acquire of a free RedLock");
        const int64_t acquired_ns = now_ns();
        must(redlatch_lock_release(lock), "release of the RedLock");
        samples_add(acquires, acquired_ns - start_ns);
        samples_add(releases, now_ns() - acquired_ns);
    }
}

int main(int argc, char **argv) {
    int port = 0; /* the harness names a server to everybody; here the list counts */
    const char *list = "6379";
    double seconds = 1;
    const struct argument table[] = {
        {.name = "--port", .integer = &port},
        {.name = "--ports", .text = &list},
        {.name = "--seconds", .number = &seconds},
    };
    ARGUMENTS_READ(argc, argv, table);
    int ports[PORTS_MAX];
    const int count = ports_read("--ports", list, ports);
    redlatch_client *clients[PORTS_MAX];
    for (int i = 0; i < count; i++) {
        clients[i] = client_open(ports[i]);
    }
    redlatch_lock *lock = majority_open(clients, count);

    samples acquires = {.count = 0};
    samples releases = {.count = 0};
    pairs_until(lock, now_ns() + (int64_t)(seconds * 1e8), &acquires, &releases);
    acquires.count = releases.count = 0; /* that was for warming up */
    pairs_until(lock, now_ns() + (int64_t)(seconds * 1e9), &acquires, &releases);
    printf("{");
    samples_print("acquire_us", &acquires);
    printf(", ");
    samples_print("release_us", &releases);
    printf("}\n");
    redlatch_lock_free(lock);
    for (int i = 0; i < count; i++) {
        client_close(clients[i]);
    }
    return 0;
}
