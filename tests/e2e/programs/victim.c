/* Makes one call of each sort to a server that may do anything, for test_84_hostile.py. Prints the status and the
 * duration of each call.
 *
 *   victim URL NAME      the lock NAME is held by another owner, and NAME:free is free
 *
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <redlatch.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { WAIT_MS = 500 };

static redlatch_client *client;
static char free_name[200];

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void say(const char *call, int status, double began) {
    printf("%s: %s after %.3f s\n", call, redlatch_status_name(status), now() - began);
}

static void acquire(const char *call, int kind, const char *name, int32_t wait_ms) {
    redlatch_lock *lock;
    int status = redlatch_lock_new(client, kind, name, strlen(name), NULL, &lock);
    if (status == REDLATCH_OK) {
        double began = now();
        status = redlatch_lock_acquire(lock, wait_ms);
        say(call, status, began);
        if (status == REDLATCH_OK) {
            began = now();
            say("release", redlatch_lock_release(lock), began);
        }
        redlatch_lock_free(lock);
    }
}

static void report(const char *name) {
    redlatch_report *found;
    double began = now();
    int status = redlatch_client_inspect(client, name, strlen(name), NULL, &found);
    say("inspect", status, began);
    if (status == REDLATCH_OK) {
        redlatch_report_free(found);
    }
}

static void walk(void) {
    redlatch_scan *scan;
    redlatch_report *found = NULL;
    double began = now();
    int status = redlatch_scan_new(client, NULL, 0, &scan);
    for (int i = 0; i < 1000 && status == REDLATCH_OK; i++) {
        status = redlatch_scan_next(scan, &found);
        if (status != REDLATCH_OK || !found) {
            break;
        }
        redlatch_report_free(found);
    }
    say("scan", status, began);
    redlatch_scan_free(scan);
}

static void take_permit(const char *name) {
    redlatch_semaphore *semaphore;
    int status = redlatch_semaphore_new(client, name, strlen(name), NULL, &semaphore);
    if (status == REDLATCH_OK) {
        double began = now();
        say("semaphore", redlatch_semaphore_acquire(semaphore, 1, WAIT_MS, NULL), began);
        redlatch_semaphore_free(semaphore);
    }
}

int main(int argc, char **argv) {
    if (argc != 3) {
        return 64;
    }
    double began = now();
    int status = redlatch_client_open(argv[1], NULL, &client);
    say("connect", status, began);
    if (status == REDLATCH_OK) {
        snprintf(free_name, sizeof free_name, "%s:free", argv[2]);
        acquire("mutex", REDLATCH_MUTEX, argv[2], WAIT_MS);
        acquire("try", REDLATCH_MUTEX, free_name, 0);
        report(argv[2]);
        walk();
        began = now();
        say("wait_free", redlatch_client_wait_free(client, argv[2], strlen(argv[2]), WAIT_MS, NULL), began);
        acquire("fair", REDLATCH_FAIR, free_name, WAIT_MS);
        take_permit(free_name);
        began = now();
        say("close", redlatch_client_close(client), began);
        redlatch_client_free(client);
    }
    puts("done");
    return 0;
}
