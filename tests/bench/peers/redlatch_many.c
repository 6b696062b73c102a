/* Very many locks held and renewed by one client: what they cost in memory and CPU, and whether all are kept.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Three phases, a line of JSON after each; the harness looks at the server in between and says when to go on:
 * all locks are taken; they were held for the time asked; they are released.
 */
#include "arguments.h"
#include "redlatch_peer.h"

#include <inttypes.h>

static void take_locks(redlatch_client *client, redlatch_lock **locks, int count) {
    for (int i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, "bench:many:%d", i);
        locks[i] = lock_open(client, name);
        must(redlatch_lock_try_acquire(locks[i]), "acquire of a free lock");
    }
}

static int count_held(redlatch_lock **locks, int count) {
    int held = 0;
    for (int i = 0; i < count; i++) {
        redlatch_hold hold = {.struct_size = sizeof hold};
        must(redlatch_lock_hold_status(locks[i], 0, &hold), "look at a hold");
        held += hold.state == REDLATCH_HELD;
    }
    return held;
}

static void hold_for(redlatch_client *client, redlatch_lock **locks, int count, double seconds) {
    const redlatch_stats before = client_stats(client);
    const double cpu_before = process_cpu_seconds();
    const int64_t start_ns = now_ns();
    sleep_ns((int64_t)(seconds * 1e9));
    const double cpu_seconds = process_cpu_seconds() - cpu_before;
    const double held_seconds = (double)(now_ns() - start_ns) / 1e9;
    const redlatch_stats after = client_stats(client);
    printf("{\"seconds\": %.6f, \"cpu_seconds\": %.6f, \"held\": %d", held_seconds, cpu_seconds,
           count_held(locks, count));
    printf(", \"lost\": %" PRIu64 ", \"renewals\": %" PRIu64 ", \"late_renewals\": %" PRIu64 "}\n",
           after.lost - before.lost, after.renewals - before.renewals, after.late_renewals - before.late_renewals);
}

int main(int argc, char **argv) {
    int port = 6379;
    const char *url = "";
    int count = 1000;
    double seconds = 1;
    const struct argument table[] = {
        {.name = "--port", .integer = &port},
        {.name = "--url", .text = &url},
        {.name = "--locks", .integer = &count},
        {.name = "--seconds", .number = &seconds},
    };
    ARGUMENTS_READ(argc, argv, table);

    redlatch_lock **locks = malloc((size_t)count * sizeof *locks);
    if (count == 0 || locks == NULL) {
        give_up("--locks: cannot keep %d locks", count);
    }
    memset(locks, 0xff, (size_t)count * sizeof *locks); /* our own table is resident before the counting begins */
    redlatch_client *client = client_open_at(url, port, "");
    redlatch_lock *first = lock_open(client, "bench:first");
    must(redlatch_lock_try_acquire(first), "acquire of a free lock");
    must(redlatch_lock_release(first), "release");

    const int64_t resident_before = resident_bytes();
    int64_t start_ns = now_ns();
    take_locks(client, locks, count);
    printf("{\"seconds\": %.6f, \"bytes_per_lock\": %.1f}\n", (double)(now_ns() - start_ns) / 1e9,
           (double)(resident_bytes() - resident_before) / count);
    wait_for_go();

    hold_for(client, locks, count, seconds);
    wait_for_go();

    start_ns = now_ns();
    for (int i = 0; i < count; i++) {
        must(redlatch_lock_release(locks[i]), "release");
        redlatch_lock_free(locks[i]);
    }
    printf("{\"seconds\": %.6f}\n", (double)(now_ns() - start_ns) / 1e9);
    redlatch_lock_free(first);
    client_close(client);
    free(locks);
    return 0;
}
