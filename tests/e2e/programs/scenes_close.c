/* Closing clients: with waiters, with held locks, with a server that is gone; and freeing handles in every order.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/types.h>

#include "stage.h"
#include "witness.h"

enum { WAITERS = 100 };

struct wait {
    redlatch_lock *lock;
    redlatch_lock *own;
    atomic_int closed;
};

static void wait_until_closed(void *shared, int number) {
    struct wait *wait = shared;
    redlatch_lock *lock = number % 10 == 0 ? wait->own : wait->lock;
    STATUS(redlatch_lock_acquire(lock, REDLATCH_FOREVER), REDLATCH_CLOSED);
    atomic_fetch_add(&wait->closed, 1);
    STATUS(redlatch_lock_acquire(lock, 0), REDLATCH_CLOSED);
}

/* Waits for losses until the client is closed. */
static void wait_for_loss(void *shared, int number) {
    (void)number;
    redlatch_event event = {.struct_size = sizeof event};
    STATUS(redlatch_client_wait_lost(shared, REDLATCH_FOREVER, &event), REDLATCH_CLOSED);
}

/* Opens a client with a close timeout so long that a quick close cannot be due to it. */
static redlatch_client *client_patient(void) {
    redlatch_client_options options = client_defaults();
    options.close_timeout_ms = 20000;
    return client_with(&options);
}

/* Waiters behind another client, waiters behind this client itself, asynchronous waiters, and a thread that waits for
 * losses. */
static void hundred_waiters(void) {
    redlatch_client *other = client_new();
    redlatch_lock *theirs = lock_new(other, 1);
    OK(redlatch_lock_acquire(theirs, 0));
    redlatch_client *client = client_patient();
    struct wait wait = {.lock = lock_new(client, 1), .own = lock_new(client, 2)};
    OK(redlatch_lock_acquire(wait.own, 0));
    struct workers *workers = workers_start(WAITERS, wait_until_closed, &wait);
    struct workers *watcher = workers_start(1, wait_for_loss, client);
    for (uint64_t i = 0; i < 10; i++) {
        OK(redlatch_lock_start_acquire(wait.lock, owner_new(), REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, i));
    }
    UNTIL(stats_of(client).waiters == WAITERS + 10);
    int64_t start = now_ms();
    OK(redlatch_client_close(client));
    int64_t took = now_ms() - start;
    MUST(took < 2 * SOON, "closing took %d ms", (int)took);
    workers_join(workers);
    workers_join(watcher);
    MUST(atomic_load(&wait.closed) == WAITERS, "%d were told", atomic_load(&wait.closed));
    OK(redlatch_client_close(client));
    MUST(ask("EXISTS %s", stage_name(2)) == 0, "what it held is still there");
    OK(redlatch_lock_release(theirs));
    sleep_ms(50);
    MUST(ask("EXISTS %s", stage_name(1)) == 0, "a waiter of the closed client has the lock");
    redlatch_lock_free(wait.lock);
    redlatch_lock_free(wait.own);
    redlatch_lock_free(theirs);
    redlatch_client_free(client);
    redlatch_client_free(other);
}

/* A thread that waits for losses does not keep its client from closing. */
static void watcher_alone(void) {
    redlatch_client *client = client_patient();
    struct workers *watcher = workers_start(1, wait_for_loss, client);
    sleep_ms(50);
    int64_t start = now_ms();
    OK(redlatch_client_close(client));
    MUST(now_ms() - start < SOON, "closing took %d ms", (int)(now_ms() - start));
    workers_join(watcher);
    redlatch_client_free(client);
}

static void held_locks(void) {
    for (int release = 1; release >= 0; release--) {
        redlatch_client_options options = client_defaults();
        options.release_on_close = release;
        options.close_timeout_ms = 20000;
        redlatch_client *client = client_with(&options);
        redlatch_lock *lock = lock_new(client, 1);
        redlatch_lock *deep = lock_new(client, 2);
        redlatch_lock *requested = lock_new(client, 3);
        OK(redlatch_lock_acquire_as(lock, 0, 20000, 0, NULL));
        for (int i = 0; i < 3; i++) {
            OK(redlatch_lock_acquire(deep, 0));
        }
        uint64_t owner = owner_new();
        OK(redlatch_lock_start_acquire(requested, owner, REDLATCH_LEASE_OF_LOCK, 0, 1));
        UNTIL(hold_of(requested, owner).state == REDLATCH_HELD);
        int64_t start = now_ms();
        OK(redlatch_client_close(client));
        MUST(now_ms() - start < SOON, "closing took %d ms", (int)(now_ms() - start));
        for (int i = 1; i <= 3; i++) {
            MUST(ask("EXISTS %s", stage_name(i)) == !release, "lock %d, release_on_close %d", i, release);
        }
        UNTIL(connections_of_redlatch() == 0);
        redlatch_lock_free(requested);
        redlatch_lock_free(deep);
        redlatch_lock_free(lock);
        redlatch_client_free(client);
    }
}

/* A server that does not answer: closing takes the close timeout, and no longer. */
static void dead_server(void) {
    const int timeout_ms = 300;
    redlatch_client_options options = client_defaults();
    options.close_timeout_ms = timeout_ms;
    redlatch_client *client = client_with(&options);
    redlatch_client *other = client_with(&options);
    redlatch_client *idle = client_patient();
    redlatch_lock *theirs = lock_new(other, 1);
    OK(redlatch_lock_acquire(theirs, 0));
    struct wait wait = {.lock = lock_new(client, 1), .own = lock_new(client, 2)};
    OK(redlatch_lock_acquire(wait.own, 0));
    struct workers *workers = workers_start(20, wait_until_closed, &wait);
    UNTIL(stats_of(client).waiters == 20);
    pid_t server = (pid_t)info_number("process_id");
    MUST(kill(server, SIGSTOP) == 0, "cannot stop the server");
    int64_t start = now_ms();
    int first = redlatch_client_close(client);
    int64_t took = now_ms() - start;
    workers_join(workers);
    start = now_ms();
    int second = redlatch_client_close(idle);
    int64_t idle_took = now_ms() - start;
    redlatch_client_free(other);
    MUST(kill(server, SIGCONT) == 0, "cannot let the server go on");
    OK(first);
    OK(second);
    MUST(took >= timeout_ms - 1 && took < timeout_ms + SOON, "closing took %d ms", (int)took);
    MUST(idle_took < SOON, "closing an idle client took %d ms", (int)idle_took);
    redlatch_lock_free(wait.lock);
    redlatch_lock_free(wait.own);
    redlatch_lock_free(theirs);
    redlatch_client_free(client);
    redlatch_client_free(idle);
}

/* No server listens, and waiters are between two attempts to connect. */
static void refusing_server(void) {
    redlatch_client_options options = client_defaults();
    options.lazy = 1;
    options.close_timeout_ms = 100;
    redlatch_client *client = NULL;
    OK(redlatch_client_open("unix:///nowhere/at/all.sock", &options, &client));
    struct wait wait = {.lock = lock_new(client, 1), .own = lock_new(client, 2)};
    struct workers *workers = workers_start(10, wait_until_closed, &wait);
    UNTIL(stats_of(client).waiters == 10);
    sleep_ms(SANITIZED ? 300 : 6500); /* pauses between attempts have become long */
    int64_t start = now_ms();
    OK(redlatch_client_close(client));
    int64_t took = now_ms() - start;
    workers_join(workers);
    MUST(took < SOON, "closing took %d ms", (int)took);
    redlatch_lock_free(wait.lock);
    redlatch_lock_free(wait.own);
    redlatch_client_free(client);
}

/* Handles may be freed in any order: client or locks first, closed or not, with and without holds. */
static void every_order(void) {
    for (int order = 0; order < 64; order++) {
        redlatch_client *client = client_new();
        redlatch_lock *locks[3] = {lock_new(client, 1), lock_new(client, 1), NULL};
        redlatch_lock_options options;
        OK(redlatch_lock_options_init(&options, sizeof options));
        options.owner_mode = REDLATCH_OWNER_HANDLE;
        const char *name = stage_name(2);
        OK(redlatch_lock_new(client, REDLATCH_MUTEX, name, strlen(name), &options, &locks[2]));
        if (order & 1) {
            OK(redlatch_lock_acquire(locks[0], 0));
            OK(redlatch_lock_acquire(locks[2], 0));
        }
        if (order & 2) {
            OK(redlatch_lock_start_acquire(locks[1], owner_new(), REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, 1));
        }
        if (order & 4) {
            OK(redlatch_client_close(client));
        }
        if (order & 8) {
            redlatch_client_free(client);
        }
        for (int i = 0; i < 3; i++) {
            redlatch_lock_free(locks[order & 16 ? 2 - i : i]);
            if (i == 1 && (order & 8) == 0 && order & 32) {
                redlatch_client_free(client);
            }
        }
        if ((order & 8) == 0 && (order & 32) == 0) {
            redlatch_client_free(client);
        }
        UNTIL(ask("EXISTS %s", stage_name(1)) == 0);
        UNTIL(ask("EXISTS %s", stage_name(2)) == 0);
    }
    UNTIL(connections_of_redlatch() == 0);
}

/* A hold that belongs to its handle ends with the handle; a thread's does not. */
static void freed_handles(void) {
    redlatch_client *client = client_new();
    redlatch_lock_options options;
    OK(redlatch_lock_options_init(&options, sizeof options));
    options.owner_mode = REDLATCH_OWNER_HANDLE;
    redlatch_lock *own = NULL;
    const char *name = stage_name(1);
    OK(redlatch_lock_new(client, REDLATCH_MUTEX, name, strlen(name), &options, &own));
    OK(redlatch_lock_acquire(own, 0));
    redlatch_lock *lock = lock_new(client, 2);
    OK(redlatch_lock_acquire(lock, 0));
    redlatch_lock_free(own);
    redlatch_lock_free(lock);
    UNTIL(ask("EXISTS %s", stage_name(1)) == 0);
    lock = lock_new(client, 2);
    MUST(hold_of(lock, 0).state == REDLATCH_HELD, "the thread's hold went with a handle");
    OK(redlatch_lock_release(lock));
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

int main(int argc, char **argv) {
    static const struct scene scenes[] = {
        {"hundred_waiters", hundred_waiters}, {"watcher_alone", watcher_alone},     {"held_locks", held_locks},
        {"dead_server", dead_server},         {"refusing_server", refusing_server}, {"every_order", every_order},
        {"freed_handles", freed_handles},
    };
    return stage_main(argc, argv, scenes, sizeof scenes / sizeof scenes[0]);
}
