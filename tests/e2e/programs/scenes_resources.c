/* Leaks: after ten times as many cycles, clients or errors the process uses no more resources than before.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Memory is measured as what malloc has handed out (mallinfo2), and as the resident set (RSS). */
#define _GNU_SOURCE
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "stage.h"
#include "witness.h"

enum { ALLOWED_KIB = 256 };

static redlatch_client *client;
static redlatch_lock *lock;
static redlatch_lock *taken;
static uint64_t owner;

struct figures {
    long in_use_kib;
    long rss_kib;
    int descriptors;
    int threads;
    int connections;
};

static int entries_of(const char *path) {
    DIR *directory = opendir(path);
    MUST(directory, "cannot read %s", path);
    int count = 0;
    while (readdir(directory)) {
        count++;
    }
    closedir(directory);
    return count;
}

static struct figures measure(void) {
    struct figures now = {0};
    struct mallinfo2 memory = mallinfo2();
    now.in_use_kib = (long)((memory.uordblks + memory.hblkhd) / 1024);
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;
    MUST(file && fscanf(file, "%*s %ld", &pages) == 1, "cannot read statm");
    fclose(file);
    now.rss_kib = pages * (sysconf(_SC_PAGESIZE) / 1024);
    now.descriptors = entries_of("/proc/self/fd");
    now.threads = entries_of("/proc/self/task");
    now.connections = connections_of_redlatch();
    return now;
}

/* Calls `cycle` many times, and compares the figures after `few` calls with those after `many`. */
static void compare(void (*cycle)(int), int few, int many) {
    const int part = SANITIZED ? 20 : 1;
    int done = 0;
    for (; done < few / part; done++) {
        cycle(done);
    }
    UNTIL(connections_of_redlatch() == (client ? (int)stats_of(client).connections : 0));
    struct figures before = measure();
    for (; done < many / part; done++) {
        cycle(done);
    }
    struct figures after = {0};
    int64_t until = now_ms() + 2000;
    do { /* descriptors, threads and connections that were closed last may take a moment to end */
        after = measure();
    } while ((after.descriptors > before.descriptors || after.threads > before.threads ||
              after.connections > before.connections) &&
             now_ms() < until);
    /* Callers at the same time may get further connections, up to four pipelines. All other figures must stay. */
    int more = after.connections - before.connections;
    MUST(more >= 0 && more <= 3, "%d connections were %d", after.connections, before.connections);
    MUST(after.descriptors == before.descriptors + more, "%d descriptors were %d", after.descriptors,
         before.descriptors);
    MUST(after.threads == before.threads, "%d threads were %d", after.threads, before.threads);
    if (!SANITIZED) {
        MUST(after.in_use_kib - before.in_use_kib < ALLOWED_KIB, "%ld KiB in use were %ld", after.in_use_kib,
             before.in_use_kib);
        MUST(after.rss_kib - before.rss_kib < ALLOWED_KIB, "%ld KiB of RSS were %ld", after.rss_kib, before.rss_kib);
    }
}

static void begin(void) {
    client = client_new();
    lock = lock_new(client, 1);
    taken = lock_new(client, 2);
    owner = owner_new();
    event_fd_of(client);
}

static void end(void) {
    redlatch_lock_free(taken);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
    client = NULL;
}

static void acquire_and_release(int number) {
    (void)number;
    OK(redlatch_lock_acquire(lock, 0));
    OK(redlatch_lock_release(lock));
}

static void cycles(void) {
    begin();
    compare(acquire_and_release, 10000, 100000);
    end();
}

/* Each cycle has a new name, a new handle and a new owner. Every tenth uses asynchronous calls. */
static void fresh_name(int number) {
    char name[80];
    int size = snprintf(name, sizeof name, "%s:%d", "fresh", number);
    redlatch_lock *fresh = NULL;
    OK(redlatch_lock_new(client, REDLATCH_MUTEX, name, (size_t)size, NULL, &fresh));
    uint64_t new_owner = owner_new();
    if (number % 10 == 0) {
        OK(redlatch_lock_start_acquire(fresh, new_owner, REDLATCH_LEASE_OF_LOCK, 0, 1));
        event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_OK, 1);
        OK(redlatch_lock_start_release(fresh, new_owner, 2));
        event_must(client, REDLATCH_EVENT_RELEASED, REDLATCH_OK, 2);
    } else {
        OK(redlatch_lock_acquire_as(fresh, new_owner, REDLATCH_RENEWED, 0, NULL));
        OK(redlatch_lock_release_as(fresh, new_owner));
    }
    redlatch_lock_free(fresh);
}

static void fresh_names(void) {
    begin();
    compare(fresh_name, 10000, 100000);
    end();
}

static void open_and_close(int number) {
    redlatch_client *another = client_new();
    if (number % 2) {
        redlatch_lock *one = lock_new(another, 3);
        OK(redlatch_lock_acquire(one, REDLATCH_FOREVER));
        if (number % 4 == 1) {
            event_fd_of(another);
            OK(redlatch_lock_release(one));
        }
        redlatch_lock_free(one);
    }
    redlatch_client_free(another);
}

static void clients(void) {
    compare(open_and_close, 1000, 10000);
}

/* Errors of every kind: arguments, misuse, nobody's lock, somebody else's, a key of another type, a lost hold. */
static void fail_somehow(int number) {
    redlatch_lock *made = NULL;
    redlatch_client *opened = NULL;
    switch (number % 100) {
    case 0:
        STATUS(redlatch_lock_acquire(taken, 0), REDLATCH_WRONG_TYPE);
        break;
    case 1:
        STATUS(redlatch_lock_start_acquire(taken, owner, REDLATCH_LEASE_OF_LOCK, 0, 1), REDLATCH_OK);
        event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_WRONG_TYPE, 1);
        break;
    case 2:
        OK(redlatch_lock_acquire(lock, 0));
        STATUS(redlatch_lock_acquire_as(lock, owner, REDLATCH_RENEWED, 0, NULL), REDLATCH_TIMEOUT);
        tell("DEL %s", stage_name(1));
        STATUS(redlatch_lock_release(lock), REDLATCH_LOST);
        break;
    case 3:
        OK(redlatch_lock_start_release(lock, owner, 1));
        event_must(client, REDLATCH_EVENT_RELEASED, REDLATCH_NOT_OWNED, 1);
        break;
    default:
        if (number % 4 == 0) {
            STATUS(redlatch_lock_release(lock), REDLATCH_NOT_OWNED);
        } else if (number % 4 == 1) {
            STATUS(redlatch_lock_new(client, REDLATCH_MUTEX, "", 0, NULL, &made), REDLATCH_INVALID);
        } else if (number % 4 == 2) {
            STATUS(redlatch_client_open("redis://user:word@[::1", NULL, &opened), REDLATCH_INVALID);
        } else {
            STATUS(redlatch_lock_acquire_as(lock, 0, 0, 0, NULL), REDLATCH_INVALID);
        }
        break;
    }
}

static void errors(void) {
    begin();
    tell("SET %s text", stage_name(2));
    compare(fail_somehow, 100000, 1000000);
    tell("DEL %s", stage_name(2));
    end();
}

/* Connections that cannot be made, and connections that break. */
static void fail_to_connect(int number) {
    redlatch_client *opened = NULL;
    if (number % 50) {
        STATUS(redlatch_client_open("unix:///nowhere/at/all.sock", NULL, &opened), REDLATCH_UNREACHABLE);
    } else {
        cut_all();
        OK(redlatch_lock_acquire(lock, REDLATCH_FOREVER));
        OK(redlatch_lock_release(lock));
    }
}

static void connections(void) {
    begin();
    compare(fail_to_connect, 10000, 100000);
    end();
}

static redlatch_cancel *cancel;

/* Two owners acquire in turn, one by a resumable wait. Every third wait is cancelled. */
static void contend(int number) {
    OK(redlatch_lock_acquire(lock, 0));
    redlatch_wait *wait = NULL;
    OK(redlatch_lock_begin_acquire(lock, owner, REDLATCH_RENEWED, 60000, cancel, &wait));
    STATUS(redlatch_wait_continue(wait, 0, NULL), REDLATCH_AGAIN);
    if (number % 3 == 0) {
        OK(redlatch_cancel_fire(cancel));
        STATUS(redlatch_wait_continue(wait, 0, NULL), REDLATCH_CANCELLED);
        OK(redlatch_lock_release(lock));
    } else {
        OK(redlatch_lock_release(lock));
        OK(redlatch_wait_continue(wait, REDLATCH_FOREVER, NULL));
        OK(redlatch_lock_release_as(lock, owner));
    }
    redlatch_wait_drop(wait);
}

static void contention(void) {
    begin();
    OK(redlatch_cancel_new(&cancel));
    compare(contend, 5000, 50000);
    redlatch_cancel_free(cancel);
    end();
}

int main(int argc, char **argv) {
    static const struct scene scenes[] = {
        {"cycles", cycles}, {"fresh_names", fresh_names}, {"clients", clients},
        {"errors", errors}, {"connections", connections}, {"contention", contention},
    };
    mallopt(M_ARENA_MAX, 1); /* mallinfo2 measures the first arena only */
    return stage_main(argc, argv, scenes, sizeof scenes / sizeof scenes[0]);
}
