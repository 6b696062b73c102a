/* Waits that are cancelled or resumed, against a server of the test: cancelled before and during a wait, by a thread
 * and by a signal handler; resumable waits that outlive their lock and their client. An object of the parent in a
 * forked child.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_server.h"
#include "handles.h"
#include "records.h"
#include "redlatch.h"
#include "system.h"
#include "unit.h"

static struct fake_server server;
static _Atomic bool held_by_other; /* the server replies that another client holds every lock */
static _Atomic bool soon_free;     /* and that the lease is about to end */
static _Atomic bool silent;
static _Atomic int releases;

/* Only a release names a channel, which tells it from an acquire. */
static const char *answer(void *context, int connection, const char *command) {
    (void)context;
    const char *greeting = fake_greeting(connection, command);
    if (greeting) {
        return greeting;
    }
    if (strncmp(command, "SUBSCRIBE ", 10) == 0 || strncmp(command, "UNSUBSCRIBE ", 12) == 0) {
        return ""; /* never confirmed, so waiters recheck by timer */
    }
    if (atomic_load(&silent)) {
        return "";
    }
    if (strstr(command, "redisson_lock__channel")) {
        atomic_fetch_add(&releases, 1);
        return ":1\r\n";
    }
    if (!atomic_load(&held_by_other)) {
        return "$-1\r\n";
    }
    return atomic_load(&soon_free) ? ":100\r\n" : ":60000\r\n";
}

static redlatch_client *client;
static redlatch_lock *lock;
static uint64_t owner;
static redlatch_cancel *cancel;

static void begin_at(const char *url) {
    CHECK_EQ_INT(redlatch_owner_new(&owner), REDLATCH_OK);
    redlatch_client_options options;
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    options.lazy = 1;
    options.close_timeout_ms = 200;
    CHECK_EQ_INT(redlatch_client_open(url, &options, &client), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_new(client, REDLATCH_MUTEX, "orders", 6, NULL, &lock), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_cancel_new(&cancel), REDLATCH_OK);
}

static void begin(bool held) {
    atomic_store(&held_by_other, held);
    atomic_store(&soon_free, false);
    atomic_store(&silent, false);
    atomic_store(&releases, 0);
    fake_open_unix(&server);
    fake_serve(&server, answer, NULL);
    begin_at(server.url);
}

static void end(void) {
    redlatch_lock_free(lock);
    redlatch_client_free(client);
    redlatch_cancel_free(cancel);
    fake_close(&server);
}

static int acquire(void) {
    return redlatch_lock_acquire_as(lock, owner, 60000, REDLATCH_FOREVER, cancel);
}

static redlatch_wait *begin_wait(redlatch_cancel *with) {
    redlatch_wait *wait = NULL;
    CHECK_EQ_INT(redlatch_lock_begin_acquire(lock, owner, 60000, REDLATCH_FOREVER, with, &wait), REDLATCH_OK);
    return wait;
}

static int go_on(redlatch_wait *wait, int64_t max_block_ms) {
    return redlatch_wait_continue(wait, max_block_ms, NULL);
}

static void fired_before(void) {
    begin(true);
    CHECK_EQ_INT(redlatch_cancel_fire(cancel), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_cancel_fire(cancel), REDLATCH_OK); /* a second firing changes nothing */
    int64_t start = system_now();
    CHECK_EQ_INT(acquire(), REDLATCH_CANCELLED);
    CHECK(system_now() - start < SECOND);
    CHECK(strstr(redlatch_last_error(), "acquire \"orders\"") && strstr(redlatch_last_error(), "cancelled"));
    atomic_store(&held_by_other, false); /* the cancel object can be used again */
    CHECK_EQ_INT(acquire(), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_release_as(lock, owner), REDLATCH_OK);
    CHECK_EQ_INT(releases, 1);
    end();
}

static void *fire_soon(void *unused) {
    (void)unused;
    usleep(30000);
    redlatch_cancel_fire(cancel);
    return NULL;
}

/* Checks that an acquire ends soon after another thread cancels it. The callers do this while the acquire is parked,
 * while the server sends no reply, and while there is no server. */
static void check_fired_meanwhile(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, fire_soon, NULL) == 0);
    int64_t start = system_now();
    CHECK_EQ_INT(acquire(), REDLATCH_CANCELLED);
    CHECK(system_now() - start < SECOND);
    pthread_join(thread, NULL);
}

static void fired_by_a_thread(void) {
    begin(true);
    for (int i = 0; i < 3; i++) {
        check_fired_meanwhile();
    }
    atomic_store(&silent, true);
    check_fired_meanwhile();
    end();
    fake_open_unix(&server);
    begin_at("unix:///nowhere/redis.sock");
    check_fired_meanwhile();
    end();
}

static void *acquire_in_vain(void *status_out) {
    *(int *)status_out = acquire();
    return NULL;
}

/* redlatch_cancel_fire sets the futex first. A thread that sees this ends its wait, and the signal may come
 * afterwards. */
static void a_signal_that_came_late_is_taken(void) {
    begin(false);
    atomic_store(&silent, true);
    int status = -1;
    pthread_t thread;
    struct pollfd polled = {cancel->signal.fd, POLLIN, 0};
    system_signal(&cancel->signal);
    CHECK(pthread_create(&thread, NULL, acquire_in_vain, &status) == 0);
    int64_t start = system_now();
    while (poll(&polled, 1, 0) > 0 && system_now() - start < 5 * SECOND) {
        usleep(1000);
    }
    CHECK(poll(&polled, 1, 0) == 0); /* a signal that is left would keep the caller awake */
    redlatch_cancel_fire(cancel);
    pthread_join(thread, NULL);
    CHECK_EQ_INT(status, REDLATCH_CANCELLED);
    end();
}

static void fire_in_handler(int number) {
    (void)number;
    redlatch_cancel_fire(cancel);
}

static void fired_by_a_signal_handler(void) {
    begin(true);
    struct sigaction action = {.sa_handler = fire_in_handler};
    struct sigaction before;
    CHECK(sigaction(SIGALRM, &action, &before) == 0);
    ualarm(30000, 0);
    int64_t start = system_now();
    CHECK_EQ_INT(acquire(), REDLATCH_CANCELLED);
    CHECK(system_now() - start < SECOND);
    CHECK(sigaction(SIGALRM, &before, NULL) == 0);
    end();
}

static void in_steps(void) {
    begin(true);
    redlatch_wait *wait = begin_wait(cancel);
    for (int i = 0; i < 5; i++) {
        int64_t start = system_now();
        CHECK_EQ_INT(go_on(wait, 20), REDLATCH_AGAIN);
        CHECK(system_now() - start < SECOND);
    }
    CHECK_EQ_INT(redlatch_cancel_fire(cancel), REDLATCH_OK);
    CHECK_EQ_INT(go_on(wait, 20), REDLATCH_CANCELLED);
    CHECK_EQ_INT(go_on(wait, 20), REDLATCH_CANCELLED);
    CHECK_STR(redlatch_last_error(), redlatch_strerror(REDLATCH_CANCELLED));
    redlatch_wait_drop(wait);
    wait = begin_wait(cancel); /* the cancel object can be used again */
    CHECK_EQ_INT(go_on(wait, 0), REDLATCH_AGAIN);
    redlatch_wait *other = NULL;
    CHECK_EQ_INT(redlatch_lock_begin_acquire(lock, owner, 60000, 0, cancel, &other), REDLATCH_IN_USE);
    CHECK(other == NULL);
    redlatch_wait_drop(wait);
    atomic_store(&held_by_other, false);
    wait = begin_wait(cancel);
    int status;
    while ((status = go_on(wait, 10)) == REDLATCH_AGAIN) {
    }
    CHECK_EQ_INT(status, REDLATCH_OK);
    redlatch_wait_drop(wait); /* a grant that was collected stays */
    CHECK_EQ_INT(redlatch_lock_release_as(lock, owner), REDLATCH_OK);
    end();
}

static void *wait_with_it(void *status_out) {
    *(int *)status_out = acquire();
    return NULL;
}

static void one_wait_at_a_time(void) {
    begin(true);
    pthread_t thread;
    int status = 0;
    CHECK(pthread_create(&thread, NULL, wait_with_it, &status) == 0);
    redlatch_stats stats = {.struct_size = sizeof stats};
    for (int64_t until = system_now() + 20 * SECOND; stats.waiters == 0 && system_now() < until; usleep(1000)) {
        CHECK_EQ_INT(redlatch_client_stats(client, &stats), REDLATCH_OK);
    }
    CHECK_EQ_INT(acquire(), REDLATCH_IN_USE);
    CHECK_STR(redlatch_last_error(), redlatch_strerror(REDLATCH_IN_USE));
    redlatch_cancel_fire(cancel);
    pthread_join(thread, NULL);
    CHECK_EQ_INT(status, REDLATCH_CANCELLED);
    end();
}

static void bad_arguments_begin_no_wait(void) {
    begin(true);
    redlatch_wait *wait = NULL;
    CHECK_EQ_INT(redlatch_lock_begin_acquire(lock, owner, 0, 0, cancel, &wait), REDLATCH_INVALID);
    CHECK_EQ_INT(redlatch_lock_begin_acquire(lock, owner, 1000, -2, cancel, &wait), REDLATCH_INVALID);
    CHECK_EQ_INT(redlatch_lock_begin_acquire(lock, owner + 1000, 1000, 0, cancel, &wait), REDLATCH_INVALID);
    CHECK_EQ_INT(redlatch_lock_begin_acquire(lock, owner, 1000, 0, cancel, NULL), REDLATCH_INVALID);
    CHECK(strstr(redlatch_last_error(), "wait_out is NULL: expected a pointer to set"));
    CHECK(wait == NULL);
    wait = begin_wait(cancel); /* the failed calls did not use the cancel object */
    CHECK_EQ_INT(go_on(wait, -2), REDLATCH_INVALID);
    CHECK(strstr(redlatch_last_error(), "max_block_ms is -2"));
    CHECK_EQ_INT(go_on(wait, 0), REDLATCH_AGAIN);
    redlatch_wait_drop(wait);
    CHECK_EQ_INT(go_on(wait, 0), REDLATCH_BAD_HANDLE);
    CHECK(strstr(redlatch_last_error(), "wait is dropped"));
    CHECK_EQ_INT(go_on(NULL, 0), REDLATCH_BAD_HANDLE);
    redlatch_wait_drop(wait);
    redlatch_wait_drop(NULL);
    end();
}

static void a_wait_that_is_never_continued(void) {
    begin(false);
    CHECK_EQ_INT(redlatch_cancel_fire(cancel), REDLATCH_OK);
    redlatch_wait_drop(begin_wait(cancel));
    CHECK_EQ_INT(acquire(), REDLATCH_OK); /* the firing was for the wait that was dropped */
    CHECK_EQ_INT(redlatch_lock_release_as(lock, owner), REDLATCH_OK);
    end();
}

/* Handles may be freed in any order, also while a resumable wait goes on. */
static void a_resumable_wait_outlives_its_lock(void) {
    for (int started = 0; started < 2; started++) {
        begin(true);
        redlatch_wait *wait = begin_wait(NULL);
        CHECK(!started || go_on(wait, 5) == REDLATCH_AGAIN);
        redlatch_lock_free(lock);
        CHECK_EQ_INT(go_on(wait, 5), REDLATCH_AGAIN);
        redlatch_wait_drop(wait);
        redlatch_cancel_free(cancel);
        redlatch_client_free(client);
        fake_close(&server);
    }
}

static void a_resumable_wait_outlives_its_client(void) {
    begin(true);
    redlatch_wait *wait = begin_wait(NULL);
    redlatch_wait *never_continued = begin_wait(NULL);
    CHECK_EQ_INT(go_on(wait, 5), REDLATCH_AGAIN);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
    redlatch_wait_drop(wait);
    redlatch_wait_drop(never_continued);
    redlatch_cancel_free(cancel);
    fake_close(&server);
}

static void a_closed_client_ends_it(void) {
    begin(true);
    redlatch_wait *wait = begin_wait(NULL);
    CHECK_EQ_INT(go_on(wait, 5), REDLATCH_AGAIN);
    redlatch_client_free(client);
    CHECK_EQ_INT(go_on(wait, REDLATCH_FOREVER), REDLATCH_CLOSED);
    CHECK_EQ_INT(go_on(wait, REDLATCH_FOREVER), REDLATCH_CLOSED);
    redlatch_wait_drop(wait);
    redlatch_lock_free(lock);
    redlatch_cancel_free(cancel);
    fake_close(&server);
}

static uint64_t held(void) {
    redlatch_stats stats = {.struct_size = sizeof stats};
    CHECK_EQ_INT(redlatch_client_stats(client, &stats), REDLATCH_OK);
    return stats.held;
}

/* A grant comes between two calls, and the wait is dropped. The lock is released, whether its handle was freed before
 * or not. */
static void a_grant_that_nobody_wants(void) {
    for (int freed_first = 0; freed_first < 2; freed_first++) {
        begin(true);
        atomic_store(&soon_free, true); /* so that the wait rechecks soon */
        redlatch_wait *wait = begin_wait(NULL);
        CHECK_EQ_INT(go_on(wait, 5), REDLATCH_AGAIN);
        atomic_store(&held_by_other, false);
        int64_t until = system_now() + 20 * SECOND;
        while (held() == 0 && system_now() < until) {
            usleep(5000);
        }
        CHECK_EQ_INT(held(), 1);
        if (freed_first) {
            redlatch_lock_free(lock);
        }
        redlatch_wait_drop(wait);
        CHECK_EQ_INT(held(), 0);
        CHECK_EQ_INT(releases, 1);
        if (!freed_first) {
            redlatch_lock_free(lock);
        }
        redlatch_client_free(client);
        redlatch_cancel_free(cancel);
        fake_close(&server);
    }
}

/* Runs first: no client was opened yet. */
static void a_child_knows_the_parents_object_before_any_client(void) {
    redlatch_cancel *early = NULL;
    CHECK_EQ_INT(redlatch_cancel_new(&early), REDLATCH_OK);
    pid_t child = fork();
    if (child == 0) {
        _exit(redlatch_cancel_fire(early) == REDLATCH_FORKED ? 0 : 1);
    }
    int how = -1;
    CHECK(child > 0 && waitpid(child, &how, 0) == child);
    CHECK_EQ_INT(how, 0);
    CHECK_EQ_INT(redlatch_cancel_fire(early), REDLATCH_OK);
    redlatch_cancel_free(early);
}

int main(void) {
    RUN(a_child_knows_the_parents_object_before_any_client);
    RUN(fired_before);
    RUN(fired_by_a_thread);
    RUN(a_signal_that_came_late_is_taken);
    RUN(fired_by_a_signal_handler);
    RUN(in_steps);
    RUN(one_wait_at_a_time);
    RUN(bad_arguments_begin_no_wait);
    RUN(a_wait_that_is_never_continued);
    RUN(a_resumable_wait_outlives_its_lock);
    RUN(a_resumable_wait_outlives_its_client);
    RUN(a_closed_client_ends_it);
    RUN(a_grant_that_nobody_wants);
    return unit_done();
}
