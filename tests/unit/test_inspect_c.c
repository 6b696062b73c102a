/* Inspections, scans, and waits until a name is free, through the public header and against a real server.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "real_server.h"
#include "records.h"
#include "redlatch.h"
#include "system.h"
#include "unit.h"

enum { MANY = 250 };

static const char *url;

static redlatch_client *open_with(const char *prefix) {
    redlatch_client_options options;
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    options.name_prefix = prefix;
    options.name_prefix_size = prefix ? strlen(prefix) : 0;
    redlatch_client *client = NULL;
    CHECK_EQ_INT(redlatch_client_open(url, &options, &client), REDLATCH_OK);
    return client;
}

static redlatch_lock *held_lock(redlatch_client *client, const char *name) {
    redlatch_lock *lock = NULL;
    CHECK_EQ_INT(redlatch_lock_new(client, REDLATCH_MUTEX, name, strlen(name), NULL, &lock), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_acquire(lock, 0), REDLATCH_OK);
    return lock;
}

static void an_inspection_tells_of_a_hold(void) {
    redlatch_client *client = open_with("shop:");
    redlatch_lock *lock = held_lock(client, "a");
    CHECK_EQ_INT(redlatch_lock_acquire(lock, 0), REDLATCH_OK);
    redlatch_hold hold = {.struct_size = sizeof hold};
    CHECK_EQ_INT(redlatch_lock_hold_status(lock, 0, &hold), REDLATCH_OK);
    redlatch_report *report = NULL;
    CHECK_EQ_INT(redlatch_client_inspect(client, "a", 1, NULL, &report), REDLATCH_OK);
    redlatch_facts facts = {.struct_size = sizeof facts};
    redlatch_party party = {.struct_size = sizeof party};
    CHECK_EQ_INT(redlatch_report_facts(report, &facts), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_report_party(report, 0, &party), REDLATCH_OK);
    CHECK_STR(redlatch_report_name(report), "a");
    CHECK(facts.detected_kind == REDLATCH_DETECTED_MUTEX && facts.holders == 1 && facts.parties == 1 &&
          facts.waiters == 0);
    CHECK(facts.ttl_ms > 20000 && facts.ttl_ms <= 30000);
    CHECK(party.role == REDLATCH_HOLDER && party.count == 2);
    CHECK_STR(party.owner, hold.owner);
    redlatch_client_free(client); /* which releases the lock */
    redlatch_lock_free(lock);
    CHECK_STR(redlatch_report_name(report), "a"); /* a report needs no client */
    redlatch_report_free(report);
}

static void a_walk_meets_every_lock(void) {
    redlatch_client *client = open_with(NULL);
    redlatch_lock *locks[MANY];
    for (int i = 0; i < MANY; i++) {
        char name[32];
        snprintf(name, sizeof name, "walk:%d", i);
        locks[i] = held_lock(client, name);
    }
    redlatch_scan *scan = NULL;
    CHECK_EQ_INT(redlatch_scan_new(client, "walk:*", 6, &scan), REDLATCH_OK);
    static bool found[MANY];
    int count = 0;
    redlatch_report *report = NULL;
    while (redlatch_scan_next(scan, &report) == REDLATCH_OK && report) {
        int number = 0;
        CHECK(sscanf(redlatch_report_name(report), "walk:%d", &number) == 1 && number >= 0 && number < MANY);
        count += !found[number];
        found[number] = true;
        redlatch_report_free(report);
    }
    CHECK_EQ_INT(count, MANY);
    CHECK_EQ_INT(redlatch_scan_next(scan, &report), REDLATCH_OK); /* the scan stays at its end */
    CHECK(report == NULL);
    redlatch_client_close(client);
    CHECK_EQ_INT(redlatch_scan_next(scan, &report), REDLATCH_CLOSED);
    redlatch_client_free(client); /* the scan keeps the client's memory */
    redlatch_scan_free(scan);
    CHECK_EQ_INT(redlatch_scan_next(scan, &report), REDLATCH_BAD_HANDLE);
    for (int i = 0; i < MANY; i++) {
        redlatch_lock_free(locks[i]);
    }
}

/* The names of these hashes are so long that the reply for a page describes only the first. The others are inspected
 * one by one. The caller gets no report of a key that is no lock; the leak checker notices if such a report is not
 * freed. */
static void what_is_no_lock_is_passed_over_one_by_one(void) {
    enum { SIZE = 60000, HASHES = 5 };
    static char name[SIZE];
    memset(name, 'h', sizeof name);
    for (int i = 0; i < HASHES; i++) {
        name[SIZE - 1] = (char)('0' + i);
        real_server_put_hash(name, sizeof name);
    }
    redlatch_client *client = open_with(NULL);
    redlatch_lock *lock = held_lock(client, "hold");
    redlatch_scan *scan = NULL;
    redlatch_report *report = NULL;
    CHECK_EQ_INT(redlatch_scan_new(client, "h*", 2, &scan), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_scan_next(scan, &report), REDLATCH_OK);
    CHECK(report != NULL);
    CHECK_STR(redlatch_report_name(report), "hold");
    redlatch_report_free(report);
    CHECK_EQ_INT(redlatch_scan_next(scan, &report), REDLATCH_OK);
    CHECK(report == NULL);
    redlatch_scan_free(scan);
    redlatch_client_free(client);
    redlatch_lock_free(lock);
}

/* Sends a command whose reply is OK. */
static void command(redlatch_client *client, const char *const *words, size_t count) {
    char reply[16] = "";
    CHECK_EQ_INT(redlatch_client_command(client, NULL, words, count, reply, sizeof reply, NULL), REDLATCH_OK);
    CHECK_STR(reply, "OK");
}

struct stepper {
    redlatch_scan *scan;
    int status;
};

static void *step(void *argument) {
    struct stepper *stepper = argument;
    redlatch_report *report = NULL;
    stepper->status = redlatch_scan_next(stepper->scan, &report);
    redlatch_report_free(report);
    return NULL;
}

/* Waits until the client has sent another script than the first `scripts`. */
static void await_script(redlatch_client *client, uint64_t scripts) {
    redlatch_stats stats = {.struct_size = sizeof stats};
    int64_t until = system_now() + 10 * SECOND;
    do {
        usleep(1000);
        CHECK_EQ_INT(redlatch_client_stats(client, &stats), REDLATCH_OK);
    } while (stats.scripts == scripts && system_now() < until);
    CHECK(stats.scripts > scripts);
}

static void a_scan_has_one_step_at_a_time(void) {
    redlatch_client *client = open_with(NULL);
    redlatch_client *other = open_with(NULL);
    redlatch_lock *lock = held_lock(client, "step");
    redlatch_stats stats = {.struct_size = sizeof stats};
    struct stepper stepper = {.status = -1};
    CHECK_EQ_INT(redlatch_scan_new(client, "step", 4, &stepper.scan), REDLATCH_OK);
    command(other, (const char *const[]){"CLIENT", "PAUSE", "20000", "WRITE"}, 4); /* scripts wait */
    CHECK_EQ_INT(redlatch_client_stats(client, &stats), REDLATCH_OK);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, step, &stepper) == 0);
    await_script(client, stats.scripts);
    redlatch_report *report = NULL;
    CHECK_EQ_INT(redlatch_scan_start_next(stepper.scan, 1), REDLATCH_IN_USE);
    CHECK_EQ_INT(redlatch_scan_next(stepper.scan, &report), REDLATCH_IN_USE);
    CHECK(strstr(redlatch_last_error(), "scan has a step in progress") != NULL);
    CHECK_EQ_INT(redlatch_scan_is_ready(stepper.scan), 0);
    command(other, (const char *const[]){"CLIENT", "UNPAUSE"}, 2);
    pthread_join(thread, NULL);
    CHECK_EQ_INT(stepper.status, REDLATCH_OK);
    CHECK_EQ_INT(redlatch_scan_start_next(stepper.scan, 1), REDLATCH_OK);
    redlatch_scan_free(stepper.scan);
    redlatch_client_free(other);
    redlatch_client_free(client);
    redlatch_lock_free(lock);
}

static void a_wait_for_a_closed_latch_does_not_name_an_owner(void) {
    redlatch_client *client = open_with(NULL);
    redlatch_latch *latch = NULL;
    CHECK_EQ_INT(redlatch_latch_new(client, "gate", 4, &latch), REDLATCH_OK);
    int32_t was_set = 0;
    CHECK_EQ_INT(redlatch_latch_try_set_count(latch, 1, &was_set), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_client_wait_free(client, "gate", 4, 0, NULL), REDLATCH_TIMEOUT);
    CHECK_STR(redlatch_last_error(), "wait for \"gate\": not free");
    CHECK_EQ_INT(redlatch_client_wait_free(client, "gate", 4, 50, NULL), REDLATCH_TIMEOUT);
    CHECK_STR(redlatch_last_error(), "wait for \"gate\": not free during the wait of 50 ms");
    redlatch_latch_free(latch);
    redlatch_client_free(client);
}

static void misuse_is_named(void) {
    redlatch_client *client = open_with(NULL);
    redlatch_report *report = NULL;
    redlatch_scan *scan = NULL;
    CHECK_EQ_INT(redlatch_client_inspect(client, "a", 0, NULL, &report), REDLATCH_INVALID);
    CHECK_EQ_INT(redlatch_client_inspect(client, NULL, 1, NULL, &report), REDLATCH_INVALID);
    CHECK_EQ_INT(redlatch_client_inspect(client, "a", 1, NULL, NULL), REDLATCH_INVALID);
    CHECK(strstr(redlatch_last_error(), "report_out") != NULL);
    CHECK_EQ_INT(redlatch_scan_new(client, NULL, 1, &scan), REDLATCH_INVALID);
    CHECK_EQ_INT(redlatch_scan_new(client, "*", 1, NULL), REDLATCH_INVALID);
    CHECK_EQ_INT(redlatch_client_wait_free(client, "a", 1, -2, NULL), REDLATCH_INVALID);
    CHECK_EQ_INT(redlatch_client_wait_free(client, "", 0, 0, NULL), REDLATCH_INVALID);
    CHECK_EQ_INT(redlatch_client_begin_wait_free(client, "a", 1, 0, NULL, NULL), REDLATCH_INVALID);
    CHECK(strstr(redlatch_last_error(), "wait_out is NULL") != NULL);
    redlatch_cancel *none = (redlatch_cancel *)(void *)client;
    CHECK_EQ_INT(redlatch_client_wait_free(client, "a", 1, 0, none), REDLATCH_BAD_HANDLE);
    CHECK(report == NULL && scan == NULL);
    redlatch_client_free(client);
}

struct watcher {
    redlatch_client *client;
    redlatch_cancel *cancel;
    int status;
};

static void *watch(void *argument) {
    struct watcher *watcher = argument;
    watcher->status = redlatch_client_wait_free(watcher->client, "watched", 7, REDLATCH_FOREVER, watcher->cancel);
    return NULL;
}

/* Waits until the client has `count` waiters and one subscription. */
static void await_waiters(redlatch_client *client, uint64_t count) {
    redlatch_stats stats = {.struct_size = sizeof stats};
    int64_t until = system_now() + 10 * SECOND;
    do {
        usleep(1000);
        CHECK_EQ_INT(redlatch_client_stats(client, &stats), REDLATCH_OK);
    } while ((stats.waiters != count || stats.subscriptions != 1) && system_now() < until);
    CHECK_EQ_INT(stats.waiters, count);
}

static void threads_of_the_holders_own_client_hear_of_the_release(void) {
    redlatch_client *client = open_with(NULL);
    redlatch_lock *lock = held_lock(client, "watched");
    CHECK_EQ_INT(redlatch_client_wait_free(client, "watched", 7, 0, NULL), REDLATCH_TIMEOUT);
    CHECK_EQ_INT(redlatch_client_wait_free(client, "watched", 7, 300, NULL), REDLATCH_TIMEOUT);
    struct watcher watchers[8];
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) {
        watchers[i] = (struct watcher){.client = client};
        CHECK(pthread_create(&threads[i], NULL, watch, &watchers[i]) == 0);
    }
    await_waiters(client, 8);
    int64_t released = system_now();
    CHECK_EQ_INT(redlatch_lock_release(lock), REDLATCH_OK);
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        CHECK_EQ_INT(watchers[i].status, REDLATCH_OK);
    }
    CHECK(system_now() - released < 3 * SECOND);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

static redlatch_wait *begin_wait(redlatch_client *client, int64_t wait_ms, redlatch_cancel *cancel) {
    redlatch_wait *wait = NULL;
    CHECK_EQ_INT(redlatch_client_begin_wait_free(client, "watched", 7, wait_ms, cancel, &wait), REDLATCH_OK);
    return wait;
}

static int go_on(redlatch_wait *wait) {
    return redlatch_wait_continue(wait, 10, NULL);
}

static void a_wait_is_cancelled_and_closed(void) {
    for (int closing = 0; closing < 2; closing++) {
        redlatch_client *client = open_with(NULL);
        redlatch_lock *lock = held_lock(client, "watched");
        struct watcher watcher = {.client = client};
        CHECK_EQ_INT(redlatch_cancel_new(&watcher.cancel), REDLATCH_OK);
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, watch, &watcher) == 0);
        await_waiters(client, 1);
        redlatch_wait *wait = NULL;
        CHECK_EQ_INT(redlatch_client_begin_wait_free(client, "watched", 7, 0, watcher.cancel, &wait), REDLATCH_IN_USE);
        CHECK(wait == NULL);
        if (closing) {
            redlatch_client_close(client);
        } else {
            redlatch_cancel_fire(watcher.cancel);
        }
        pthread_join(thread, NULL);
        CHECK_EQ_INT(watcher.status, closing ? REDLATCH_CLOSED : REDLATCH_CANCELLED);
        redlatch_cancel_fire(watcher.cancel); /* cancels the next wait that it is passed to */
        CHECK(closing ||
              redlatch_client_wait_free(client, "watched", 7, REDLATCH_FOREVER, watcher.cancel) == REDLATCH_CANCELLED);
        redlatch_cancel_free(watcher.cancel);
        redlatch_lock_free(lock);
        redlatch_client_free(client);
    }
}

static void a_wait_goes_on_between_steps(void) {
    redlatch_client *client = open_with(NULL);
    redlatch_lock *lock = held_lock(client, "watched");
    redlatch_wait *wait = begin_wait(client, REDLATCH_FOREVER, NULL);
    CHECK_EQ_INT(go_on(wait), REDLATCH_AGAIN);
    await_waiters(client, 1); /* and stays subscribed between the steps */
    CHECK_EQ_INT(go_on(wait), REDLATCH_AGAIN);
    CHECK_EQ_INT(redlatch_lock_release(lock), REDLATCH_OK);
    int status;
    while ((status = go_on(wait)) == REDLATCH_AGAIN) {
    }
    CHECK_EQ_INT(status, REDLATCH_OK);
    CHECK_EQ_INT(go_on(wait), REDLATCH_OK); /* the same result again */
    redlatch_wait_drop(wait);
    CHECK_EQ_INT(redlatch_lock_acquire(lock, 0), REDLATCH_OK);
    wait = begin_wait(client, 500, NULL);
    while ((status = go_on(wait)) == REDLATCH_AGAIN) {
    }
    CHECK_EQ_INT(status, REDLATCH_TIMEOUT);
    CHECK_EQ_INT(go_on(wait), REDLATCH_TIMEOUT);
    redlatch_wait_drop(wait);
    redlatch_cancel *cancel;
    CHECK_EQ_INT(redlatch_cancel_new(&cancel), REDLATCH_OK);
    wait = begin_wait(client, REDLATCH_FOREVER, cancel);
    CHECK_EQ_INT(go_on(wait), REDLATCH_AGAIN);
    redlatch_cancel_fire(cancel);
    CHECK_EQ_INT(go_on(wait), REDLATCH_CANCELLED);
    redlatch_wait_drop(wait);
    wait = begin_wait(client, REDLATCH_FOREVER, cancel);
    CHECK_EQ_INT(go_on(wait), REDLATCH_AGAIN);
    redlatch_wait_drop(wait); /* which ends the wait */
    redlatch_cancel_free(cancel);
    await_waiters(client, 0);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

static void a_resumable_wait_outlives_its_client(void) {
    redlatch_client *client = open_with(NULL);
    redlatch_client *other = open_with(NULL);
    redlatch_lock *lock = held_lock(other, "watched");
    redlatch_wait *waits[3];
    for (int i = 0; i < 3; i++) {
        waits[i] = begin_wait(client, REDLATCH_FOREVER, NULL);
        CHECK(i == 2 || go_on(waits[i]) == REDLATCH_AGAIN); /* the last one is continued after the close only */
    }
    redlatch_client_close(client);
    CHECK_EQ_INT(go_on(waits[0]), REDLATCH_CLOSED);
    redlatch_client_free(client);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ_INT(go_on(waits[i]), REDLATCH_CLOSED);
        redlatch_wait_drop(waits[i]);
    }
    redlatch_lock_free(lock);
    redlatch_client_free(other);
}

int main(void) {
    url = real_server_start();
    RUN(an_inspection_tells_of_a_hold);
    RUN(a_walk_meets_every_lock);
    RUN(what_is_no_lock_is_passed_over_one_by_one);
    RUN(a_scan_has_one_step_at_a_time);
    RUN(a_wait_for_a_closed_latch_does_not_name_an_owner);
    RUN(misuse_is_named);
    RUN(threads_of_the_holders_own_client_hear_of_the_release);
    RUN(a_wait_is_cancelled_and_closed);
    RUN(a_wait_goes_on_between_steps);
    RUN(a_resumable_wait_outlives_its_client);
    real_server_end();
    return unit_done();
}
