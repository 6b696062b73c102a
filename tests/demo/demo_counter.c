/* One process of the counter race: its threads add to a number in a plain file, with the lock or without.
 *
 *   demo_counter URL FILE THREADS ADDITIONS locked|unlocked
 *
 * Prints "ready" and waits for a line on standard input, so that all processes begin together. Ends after all
 * additions.
 * SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <redlatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static redlatch_client *client;
static int file;
static long additions;
static bool locked;

/* Guarded by the lock: read, work, write. */
static bool add_one(void) {
    char text[32] = "";
    if (pread(file, text, 11, 0) < 1) {
        return false;
    }
    long value = strtol(text, NULL, 10);
    usleep(20);
    snprintf(text, sizeof text, "%010ld\n", value + 1);
    return pwrite(file, text, 11, 0) == 11;
}

static void *work(void *result) {
    redlatch_lock *lock = NULL;
    bool good = redlatch_lock_new(client, REDLATCH_MUTEX, "counter", 7, NULL, &lock) == REDLATCH_OK;
    for (long i = 0; good && i < additions; i++) {
        good = !locked || redlatch_lock_acquire(lock, REDLATCH_FOREVER) == REDLATCH_OK;
        good = good && add_one();
        good = good && (!locked || redlatch_lock_release(lock) == REDLATCH_OK);
    }
    if (!good) {
        fprintf(stderr, "demo_counter: %s\n", redlatch_last_error());
    }
    redlatch_lock_free(lock);
    *(bool *)result = good;
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: demo_counter URL FILE THREADS ADDITIONS locked|unlocked\n");
        return 64;
    }
    int threads = atoi(argv[3]);
    additions = atol(argv[4]);
    locked = strcmp(argv[5], "locked") == 0;
    file = open(argv[2], O_RDWR | O_CLOEXEC);
    if (file < 0 || threads < 1 || threads > 64 || redlatch_client_open(argv[1], NULL, &client) != REDLATCH_OK) {
        fprintf(stderr, "demo_counter: cannot begin: %s\n", redlatch_last_error());
        return 1;
    }
    char line[8];
    printf("ready\n");
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) {
        return 1;
    }
    pthread_t ids[64];
    bool results[64];
    bool good = true;
    for (int i = 0; i < threads; i++) {
        pthread_create(&ids[i], NULL, work, &results[i]);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        good = good && results[i];
    }
    redlatch_stats stats = {.struct_size = sizeof stats};
    redlatch_client_stats(client, &stats);
    printf("%llu\n", (unsigned long long)stats.hand_overs);
    redlatch_client_free(client);
    return good ? 0 : 1;
}
