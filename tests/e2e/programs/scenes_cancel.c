/* Cancelling a wait: from another thread, from a signal handler, and in a race with the grant; resumable waits.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <redlatch_multi.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "stage.h"
#include "witness.h"

static redlatch_cancel *cancel_new(void) {
    redlatch_cancel *cancel = NULL;
    OK(redlatch_cancel_new(&cancel));
    return cancel;
}

static int wait_with(redlatch_lock *lock, int64_t wait_ms, redlatch_cancel *cancel) {
    return redlatch_lock_acquire_as(lock, 0, REDLATCH_LEASE_OF_LOCK, wait_ms, cancel);
}

struct wait {
    redlatch_lock *lock;
    redlatch_cancel *cancel;
    atomic_int status;
    atomic_llong ended_at;
};

static void wait_in_thread(void *shared, int number) {
    (void)number;
    struct wait *wait = shared;
    atomic_store(&wait->status, wait_with(wait->lock, REDLATCH_FOREVER, wait->cancel));
    atomic_store(&wait->ended_at, now_ms());
    if (atomic_load(&wait->status) == REDLATCH_OK) {
        OK(redlatch_lock_release(wait->lock));
    }
}

static void from_a_thread(void) {
    redlatch_client *other = client_new();
    redlatch_lock *theirs = lock_new(other, 1);
    OK(redlatch_lock_acquire(theirs, 0));
    redlatch_client *client = client_new();
    struct wait first = {.lock = lock_new(client, 1), .cancel = cancel_new()};
    struct wait second = {.lock = first.lock, .cancel = cancel_new()};
    struct workers *first_workers = workers_start(1, wait_in_thread, &first);
    UNTIL(stats_of(client).waiters == 1);
    struct workers *second_workers = workers_start(1, wait_in_thread, &second);
    UNTIL(stats_of(client).waiters == 2);
    STATUS(wait_with(first.lock, 0, first.cancel), REDLATCH_IN_USE);
    int64_t start = now_ms();
    OK(redlatch_cancel_fire(first.cancel)); /* the foremost; the waiter behind it becomes foremost */
    workers_join(first_workers);
    STATUS(atomic_load(&first.status), REDLATCH_CANCELLED);
    MUST(atomic_load(&first.ended_at) - start < SOON, "it took %d ms", (int)(atomic_load(&first.ended_at) - start));
    MUST(stats_of(client).waiters == 1, "it is still queued");
    OK(redlatch_lock_release(theirs));
    workers_join(second_workers);
    OK(atomic_load(&second.status));
    UNTIL(ask("EXISTS %s", stage_name(1)) == 0);
    /* The object can be used again. If it is fired while no wait uses it, it ends the next wait. */
    OK(wait_with(first.lock, 0, first.cancel));
    OK(redlatch_lock_release(first.lock));
    OK(redlatch_lock_acquire(theirs, 0));
    OK(redlatch_cancel_fire(first.cancel));
    STATUS(wait_with(first.lock, REDLATCH_FOREVER, first.cancel), REDLATCH_CANCELLED);
    STATUS(wait_with(first.lock, 20, first.cancel), REDLATCH_TIMEOUT);
    OK(redlatch_lock_release(theirs));
    redlatch_cancel_free(first.cancel);
    redlatch_cancel_free(second.cancel);
    redlatch_lock_free(first.lock);
    redlatch_lock_free(theirs);
    redlatch_client_free(client);
    redlatch_client_free(other);
}

static redlatch_cancel *of_handler;

static void on_alarm(int number) {
    (void)number;
    redlatch_cancel_fire(of_handler);
}

static void alarm_in(int microseconds) {
    struct itimerval timer = {.it_value = {microseconds / 1000000, microseconds % 1000000}};
    MUST(setitimer(ITIMER_REAL, &timer, NULL) == 0, "no timer");
}

static void from_a_signal_handler(void) {
    redlatch_client *other = client_new();
    redlatch_lock *theirs = lock_new(other, 1);
    redlatch_client *client = client_new();
    redlatch_lock *lock = lock_new(client, 1);
    of_handler = cancel_new();
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    OK(redlatch_lock_acquire(theirs, 0));
    for (int i = 0; i < 20; i++) { /* parked */
        int64_t start = now_ms();
        alarm_in(20000);
        STATUS(wait_with(lock, REDLATCH_FOREVER, of_handler), REDLATCH_CANCELLED);
        int64_t took = now_ms() - start;
        MUST(took >= 19 && took < 20 + SOON, "it took %d ms", (int)took);
    }
    OK(redlatch_lock_release(theirs));
    int cancelled = 0;
    for (int i = 0; i < 500; i++) { /* anywhere between the call and the grant */
        alarm_in(1 + i * 7 % 300);
        int status = wait_with(lock, REDLATCH_FOREVER, of_handler);
        alarm_in(0);
        if (status == REDLATCH_OK) {
            OK(redlatch_lock_release(lock));
        } else {
            STATUS(status, REDLATCH_CANCELLED);
            cancelled++;
        }
        if (wait_with(lock, 1000, of_handler) == REDLATCH_OK) { /* a late cancel ends this wait */
            OK(redlatch_lock_release(lock));
        }
    }
    signal(SIGALRM, SIG_DFL);
    MUST(cancelled > 0, "it never struck in time");
    UNTIL(ask("EXISTS %s", stage_name(1)) == 0);
    UNTIL(stats_of(client).held == 0 && stats_of(client).waiters == 0);
    redlatch_cancel_free(of_handler);
    redlatch_lock_free(lock);
    redlatch_lock_free(theirs);
    redlatch_client_free(client);
    redlatch_client_free(other);
}

struct race {
    redlatch_cancel *cancel;
    redlatch_lock *lock;
    atomic_bool enough;
};

static void fire_on_and_on(void *shared, int number) {
    (void)number;
    struct race *race = shared;
    for (int i = 0; !atomic_load(&race->enough); i++) {
        OK(redlatch_cancel_fire(race->cancel));
        /* If calls take long, a wait is granted only in a long pause. */
        struct timespec pause = {0, i % 20 == 19 ? 5000000 : i % 10 * 40000};
        nanosleep(&pause, NULL);
    }
}

static void acquire_on_and_on(void *shared, int number) {
    (void)number;
    struct race *race = shared;
    while (!atomic_load(&race->enough)) {
        OK(redlatch_lock_acquire(race->lock, REDLATCH_FOREVER));
        OK(redlatch_lock_release(race->lock));
    }
}

/* The object is fired all the time while waits begin, are granted, are handed the lock and end. After each call the
 * lock is either held or not. */
static void race_with_grants(void) {
    redlatch_client *client = client_new();
    redlatch_lock *lock = lock_new(client, 1);
    struct race race = {.cancel = cancel_new(), .lock = lock};
    struct workers *firing = workers_start(1, fire_on_and_on, &race);
    struct workers *others = workers_start(2, acquire_on_and_on, &race);
    int granted = 0;
    int cancelled = 0;
    int64_t until = now_ms() + 30000;
    while (granted < 300 || cancelled < 300) {
        MUST(now_ms() < until, "granted %d times, cancelled %d times", granted, cancelled);
        int status = wait_with(lock, REDLATCH_FOREVER, race.cancel);
        if (status == REDLATCH_OK) {
            granted++;
            OK(redlatch_lock_release(lock));
        } else {
            STATUS(status, REDLATCH_CANCELLED);
            MUST(hold_of(lock, 0).state == REDLATCH_NOT_HELD, "held though cancelled");
            cancelled++;
        }
    }
    atomic_store(&race.enough, true);
    workers_join(others);
    workers_join(firing);
    UNTIL(ask("EXISTS %s", stage_name(1)) == 0);
    UNTIL(stats_of(client).held == 0 && stats_of(client).waiters == 0);
    redlatch_cancel_free(race.cancel);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

static redlatch_wait *begin_wait(redlatch_lock *lock, uint64_t owner, int64_t wait_ms, redlatch_cancel *cancel) {
    redlatch_wait *wait = NULL;
    OK(redlatch_lock_begin_acquire(lock, owner, 5000, wait_ms, cancel, &wait));
    return wait;
}

/* A resumable wait keeps its position, and ends when it is cancelled or dropped. */
static void steps(void) {
    redlatch_client *client = client_new();
    redlatch_lock *lock = lock_new(client, 1);
    uint64_t holder = owner_new();
    uint64_t owner = owner_new();
    redlatch_cancel *cancel = cancel_new();
    OK(redlatch_lock_acquire_as(lock, holder, 30000, 0, NULL));
    redlatch_wait *wait = begin_wait(lock, owner, 60000, NULL);
    for (int i = 0; i < 5; i++) {
        int64_t start = now_ms();
        STATUS(redlatch_wait_continue(wait, 20, NULL), REDLATCH_AGAIN);
        MUST(now_ms() - start >= 19 && now_ms() - start < 20 + SOON, "a call of %d ms", (int)(now_ms() - start));
    }
    struct wait behind = {.lock = lock};
    struct workers *workers = workers_start(1, wait_in_thread, &behind);
    UNTIL(stats_of(client).waiters == 2);
    OK(redlatch_lock_release_as(lock, holder));
    UNTIL(hold_of(lock, owner).state == REDLATCH_HELD); /* it is granted between two calls */
    MUST(atomic_load(&behind.ended_at) == 0, "it has lost its position");
    OK(redlatch_wait_continue(wait, 20, NULL));
    redlatch_wait_drop(wait);
    OK(redlatch_lock_release_as(lock, owner));
    workers_join(workers);
    OK(atomic_load(&behind.status));
    /* The timeout runs from the first call, also between calls. */
    OK(redlatch_lock_acquire_as(lock, holder, 30000, 0, NULL));
    wait = begin_wait(lock, owner, 200, NULL);
    int64_t start = now_ms();
    int status;
    while ((status = redlatch_wait_continue(wait, 30, NULL)) == REDLATCH_AGAIN) {
    }
    STATUS(status, REDLATCH_TIMEOUT);
    MUST(now_ms() - start >= 200 && now_ms() - start < 200 + SOON, "%d ms", (int)(now_ms() - start));
    redlatch_wait_drop(wait);
    wait = begin_wait(lock, owner, 60000, cancel);
    STATUS(redlatch_wait_continue(wait, 0, NULL), REDLATCH_AGAIN);
    OK(redlatch_cancel_fire(cancel));
    STATUS(redlatch_wait_continue(wait, 20, NULL), REDLATCH_CANCELLED);
    redlatch_wait_drop(wait);
    redlatch_cancel_free(cancel);
    wait = begin_wait(lock, owner, 60000, NULL);
    STATUS(redlatch_wait_continue(wait, 0, NULL), REDLATCH_AGAIN);
    redlatch_wait_drop(wait); /* dropped while it waits */
    UNTIL(stats_of(client).waiters == 0);
    wait = begin_wait(lock, owner, 60000, NULL);
    STATUS(redlatch_wait_continue(wait, 0, NULL), REDLATCH_AGAIN);
    OK(redlatch_lock_release_as(lock, holder));
    UNTIL(hold_of(lock, owner).state == REDLATCH_HELD);
    redlatch_wait_drop(wait); /* dropped after its grant */
    UNTIL(ask("EXISTS %s", stage_name(1)) == 0);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

/* Closing ends a wait that is between two calls. The next call returns CLOSED. */
static void steps_and_close(void) {
    redlatch_client *client = client_new();
    redlatch_lock *lock = lock_new(client, 1);
    OK(redlatch_lock_acquire_as(lock, owner_new(), 5000, 0, NULL));
    redlatch_wait *wait = begin_wait(lock, owner_new(), 60000, NULL);
    STATUS(redlatch_wait_continue(wait, 10, NULL), REDLATCH_AGAIN);
    OK(redlatch_client_close(client));
    STATUS(redlatch_wait_continue(wait, 10, NULL), REDLATCH_CLOSED);
    STATUS(redlatch_wait_continue(wait, 10, NULL), REDLATCH_CLOSED);
    redlatch_wait_drop(wait);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

enum { MEMBERS = 3 };

/* Goes on with a wait that never blocks, until it ends. */
static void poll_wait(redlatch_wait *wait) {
    int status;
    int64_t start = now_ms();
    while ((status = redlatch_wait_continue(wait, 0, NULL)) == REDLATCH_AGAIN && now_ms() - start < SOON) {
        sleep_ms(1);
    }
    OK(status);
    redlatch_wait_drop(wait);
}

/* A wait for a composite lock ends, although no call blocks: on free locks, and when a holder releases. */
static void poll_for(redlatch_lock *lock, redlatch_lock *const *members) {
    uint64_t owner = owner_new();
    uint64_t holder = owner_new();
    poll_wait(begin_wait(lock, owner, REDLATCH_FOREVER, NULL));
    MUST(hold_of(lock, owner).state == REDLATCH_HELD, "not held");
    OK(redlatch_lock_release_as(lock, owner));
    for (int i = 0; i < 2; i++) {
        OK(redlatch_lock_acquire_as(members[i], holder, 30000, REDLATCH_FOREVER, NULL));
    }
    redlatch_wait *wait = begin_wait(lock, owner, REDLATCH_FOREVER, NULL);
    for (int i = 0; i < 20; i++) {
        STATUS(redlatch_wait_continue(wait, 0, NULL), REDLATCH_AGAIN);
        sleep_ms(1);
    }
    for (int i = 0; i < 2; i++) {
        OK(redlatch_lock_release_as(members[i], holder));
    }
    poll_wait(wait);
    OK(redlatch_lock_release_as(lock, owner));
}

static void steps_that_never_block(void) {
    redlatch_client_options options = client_defaults();
    redlatch_client *clients[MEMBERS];
    redlatch_lock *members[MEMBERS];
    redlatch_lock *locks[2];
    options.lazy = 1; /* databases of one server pass for servers while no client knows it yet */
    for (int i = 0; i < MEMBERS; i++) {
        options.database = i;
        clients[i] = client_with(&options);
        members[i] = lock_new(clients[i], 1 + i);
    }
    OK(redlatch_multi_lock_new(members, MEMBERS, NULL, &locks[0]));
    OK(redlatch_redlock_new(members, MEMBERS, 0, NULL, &locks[1]));
    for (int i = 0; i < 2; i++) {
        poll_for(locks[i], members);
        redlatch_lock_free(locks[i]);
    }
    for (int i = 0; i < MEMBERS; i++) {
        redlatch_lock_free(members[i]);
        redlatch_client_free(clients[i]);
    }
}

int main(int argc, char **argv) {
    static const struct scene scenes[] = {
        {"from_a_thread", from_a_thread},       {"from_a_signal_handler", from_a_signal_handler},
        {"race_with_grants", race_with_grants}, {"slices", steps},
        {"steps_and_close", steps_and_close},   {"steps_that_never_block", steps_that_never_block},
    };
    return stage_main(argc, argv, scenes, sizeof scenes / sizeof scenes[0]);
}
