/* A client that does one thing and then nothing. test_91_quiet.py measures what it costs.
 *
 *     quiet_client URL NAME idle       has used a lock
 *     quiet_client URL NAME holds      holds the lock, which is renewed
 *     quiet_client URL NAME waits      waits for the lock
 *     quiet_client URL NAME many       waits for the lock a thousand times, by asynchronous calls
 *
 * It prints "ready" when that is done; with `waits`, directly before the wait begins.
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <redlatch.h>
#include <redlatch_events.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MANY = 1000 };

static void must(int status) {
    if (status != REDLATCH_OK) {
        fprintf(stderr, "%s\n", redlatch_last_error());
        exit(1);
    }
}

static void say_ready(void) {
    puts("ready");
    fflush(stdout);
}

static void wait_often(redlatch_client *client, redlatch_lock *lock) {
    int events;
    must(redlatch_client_event_fd(client, &events));
    for (uint64_t tag = 1; tag <= MANY; tag++) {
        uint64_t owner;
        must(redlatch_owner_new(&owner));
        must(redlatch_lock_start_acquire(lock, owner, REDLATCH_RENEWED, REDLATCH_FOREVER, tag));
    }
    say_ready();
    for (;;) {
        struct pollfd readable = {events, POLLIN, 0};
        poll(&readable, 1, -1);
        redlatch_event event = {.struct_size = sizeof event};
        while (redlatch_client_next_event(client, &event) == REDLATCH_OK) {
            event.struct_size = sizeof event;
        }
    }
}

int main(int count, char **arguments) {
    if (count != 4) {
        fputs("expected URL NAME idle|holds|waits|many\n", stderr);
        return 1;
    }
    const char *mode = arguments[3];
    redlatch_client *client;
    redlatch_lock *lock;
    must(redlatch_client_open(arguments[1], NULL, &client));
    must(redlatch_lock_new(client, REDLATCH_MUTEX, arguments[2], strlen(arguments[2]), NULL, &lock));
    if (strcmp(mode, "many") == 0) {
        wait_often(client, lock);
    }
    if (strcmp(mode, "waits") == 0) {
        say_ready();
    }
    must(redlatch_lock_acquire(lock, REDLATCH_FOREVER));
    if (strcmp(mode, "idle") == 0) {
        must(redlatch_lock_release(lock));
    }
    say_ready();
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    return 0;
}
