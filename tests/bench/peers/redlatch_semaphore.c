/* A number of pairs on a semaphore, by threads that all find a permit, and how many round trips they took.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "arguments.h"
#include "redlatch_peer.h"

#include <inttypes.h>
#include <pthread.h>

struct share {
    redlatch_client *client;
    int pairs;
};

static redlatch_semaphore *semaphore_open(redlatch_client *client) {
    redlatch_semaphore *semaphore = NULL;
    must(redlatch_semaphore_new(client, "bench:semaphore", 15, NULL, &semaphore), "cannot make a semaphore handle");
    return semaphore;
}

static void *do_pairs(void *of_thread) {
    const struct share *share = of_thread;
    redlatch_semaphore *semaphore = semaphore_open(share->client);
    for (int i = 0; i < share->pairs; i++) {
        must(redlatch_semaphore_acquire(semaphore, 1, REDLATCH_FOREVER, NULL), "acquire");
        must(redlatch_semaphore_release(semaphore, 1), "release");
    }
    redlatch_semaphore_free(semaphore);
    return NULL;
}

static void do_all(redlatch_client *client, int pairs, int threads) {
    pthread_t ids[64];
    struct share share = {client, pairs / threads};
    for (int i = 0; i < threads; i++) {
        if (pthread_create(&ids[i], NULL, do_pairs, &share) != 0) {
            give_up("no thread to be had");
        }
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
    }
}

int main(int argc, char **argv) {
    int port = 6379;
    int pairs = 2000;
    int threads = 1;
    const struct argument table[] = {
        {.name = "--port", .integer = &port},
        {.name = "--pairs", .integer = &pairs},
        {.name = "--threads", .integer = &threads},
    };
    ARGUMENTS_READ(argc, argv, table);
    if (threads < 1 || threads > 64) {
        give_up("--threads: \"%d\" is not a number of 1 to 64", threads);
    }
    redlatch_client *client = client_open(port);
    redlatch_semaphore *semaphore = semaphore_open(client);
    must(redlatch_semaphore_release(semaphore, threads), "cannot put permits there");
    do_all(client, threads, threads); /* the scripts are loaded now */
    const uint64_t before = client_stats(client).round_trips;
    const int64_t start_ns = now_ns();
    do_all(client, pairs, threads);
    const double seconds = (double)(now_ns() - start_ns) / 1e9;
    printf("{\"pairs\": %d, \"seconds\": %.6f, \"round_trips\": %" PRIu64 "}\n", pairs / threads * threads, seconds,
           client_stats(client).round_trips - before);
    redlatch_semaphore_free(semaphore);
    client_close(client);
    return 0;
}
