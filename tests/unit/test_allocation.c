/* Plays one scenario against a real server again and again. In the n-th run the n-th allocation fails; the last run is
 * the first without a failure. Every call must return OK or NO_MEMORY, and nothing may crash, hang, leak or stay held.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "failing_allocation.h"
#include "real_server.h"
#include "records.h"
#include "redlatch.h"
#include "system.h"
#include "unit.h"

enum { LEASE_MS = 5000, WAIT_MS = 10000, LONG_NAME = 9000, TIMEOUT = 60, RUNS_AT_LEAST = 20, RUNS_AT_MOST = 2000 };

static const char *url;
static int run; /* the number of the allocation that fails in this run */
static char long_name[LONG_NAME];

/* Returns 1 for OK and 0 for NO_MEMORY. Any other status fails the test. */
static int good(const char *call, int status) {
    bool clean = status == REDLATCH_OK || status == REDLATCH_NO_MEMORY;
    if (!clean) {
        fprintf(stderr, "allocation %d: %s: %s (%s)\n", run, call, redlatch_status_name(status), redlatch_last_error());
    }
    CHECK(clean);
    return status == REDLATCH_OK;
}

#define GOOD(call) good(#call, (call))

/* Only one allocation fails, so that the second attempt must succeed. */
#define SURELY(call) CHECK(GOOD(call) || GOOD(call))

static void in_time(int number) {
    (void)number;
    static const char words[] = "a run hangs\n";
    ssize_t written = write(STDERR_FILENO, words, sizeof words - 1);
    (void)written;
    abort();
}

static redlatch_client *open_client(void) {
    redlatch_client_options options;
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    options.watchdog_lease_ms = LEASE_MS;
    options.name_prefix = "unit:";
    options.name_prefix_size = 5;
    options.username = "default";
    redlatch_client *client = NULL;
    CHECK(GOOD(redlatch_client_open(url, &options, &client)) == (client != NULL));
    return client;
}

static redlatch_lock *make_lock(redlatch_client *client, const char *name, size_t size) {
    redlatch_lock *lock = NULL;
    CHECK(GOOD(redlatch_lock_new(client, REDLATCH_MUTEX, name, size, NULL, &lock)) == (lock != NULL));
    return lock;
}

/* Acquires and releases a lock that the main thread holds for a while. */
static void *contend(void *lock) {
    if (GOOD(redlatch_lock_acquire(lock, WAIT_MS))) {
        SURELY(redlatch_lock_release(lock));
    }
    return NULL;
}

static void contended(redlatch_client *client, redlatch_lock *lock, redlatch_lock *of_other_client) {
    pthread_t here;
    pthread_t elsewhere;
    redlatch_lock_state state = {.struct_size = sizeof state};
    redlatch_hold hold = {.struct_size = sizeof hold};
    redlatch_stats stats = {.struct_size = sizeof stats};
    if (!GOOD(redlatch_lock_acquire(lock, WAIT_MS))) {
        return;
    }
    int levels = 1 + GOOD(redlatch_lock_acquire(lock, WAIT_MS));
    CHECK(pthread_create(&here, NULL, contend, lock) == 0);
    CHECK(pthread_create(&elsewhere, NULL, contend, of_other_client) == 0);
    usleep(3000);
    CHECK(!GOOD(redlatch_lock_query(lock, &state)) || (state.locked && state.count == (uint64_t)levels));
    GOOD(redlatch_lock_extend(lock, 0, LEASE_MS));
    CHECK_EQ_INT(redlatch_lock_hold_status(lock, 0, &hold), REDLATCH_OK);
    CHECK_EQ_INT(hold.count, levels);
    CHECK_EQ_INT(redlatch_client_stats(client, &stats), REDLATCH_OK);
    for (; levels > 0; levels--) {
        SURELY(redlatch_lock_release(lock));
    }
    pthread_join(here, NULL);
    pthread_join(elsewhere, NULL);
}

/* Waits for the next event, which must have this tag. Returns its status. */
static int next_event(redlatch_client *client, int fd, uint64_t tag, redlatch_report **report_out) {
    redlatch_event event = {.struct_size = sizeof event};
    int64_t until = system_now() + 10 * SECOND;
    int status;
    while ((status = redlatch_client_next_event(client, &event)) == REDLATCH_AGAIN && system_now() < until) {
        struct pollfd one = {fd, POLLIN, 0};
        poll(&one, 1, 100);
    }
    CHECK_EQ_INT(status, REDLATCH_OK);
    CHECK_EQ_INT(event.tag, tag);
    if (report_out) {
        *report_out = event.report;
    }
    return event.status;
}

static void asynchronous(redlatch_client *client, redlatch_lock *lock) {
    int fd = -1;
    CHECK_EQ_INT(redlatch_client_event_fd(client, &fd), REDLATCH_OK);
    uint64_t owner;
    CHECK_EQ_INT(redlatch_owner_new(&owner), REDLATCH_OK);
    if (!GOOD(redlatch_lock_start_acquire(lock, owner, REDLATCH_RENEWED, WAIT_MS, 1)) ||
        !GOOD(next_event(client, fd, 1, NULL))) {
        return;
    }
    if (GOOD(redlatch_lock_start_extend(lock, owner, LEASE_MS, 2))) {
        GOOD(next_event(client, fd, 2, NULL));
    }
    bool released = false;
    for (int tries = 0; tries < 2 && !released; tries++) {
        released = GOOD(redlatch_lock_start_release(lock, owner, 3)) && GOOD(next_event(client, fd, 3, NULL));
    }
    CHECK(released);
}

/* Started inspections, queries and scans, while a lock is held whose owner is connected. Each fails or has the right
 * result. */
static void started_rechecks(redlatch_client *client, redlatch_lock *lock) {
    int fd = -1;
    CHECK_EQ_INT(redlatch_client_event_fd(client, &fd), REDLATCH_OK);
    if (!GOOD(redlatch_lock_acquire(lock, WAIT_MS))) {
        return;
    }
    redlatch_report *report = NULL;
    if (GOOD(redlatch_client_start_inspect(client, "orders", 6, "somebody", 4)) &&
        GOOD(next_event(client, fd, 4, &report))) {
        redlatch_facts facts = {.struct_size = sizeof facts};
        CHECK_EQ_INT(redlatch_report_facts(report, &facts), REDLATCH_OK);
        CHECK_EQ_INT(facts.detected_kind, REDLATCH_DETECTED_MUTEX);
        redlatch_report_free(report);
    }
    if (GOOD(redlatch_lock_start_query(lock, 5))) {
        GOOD(next_event(client, fd, 5, NULL));
    }
    redlatch_scan *scan = NULL;
    if (GOOD(redlatch_scan_new(client, NULL, 0, &scan))) {
        int status = REDLATCH_AGAIN;
        for (report = NULL; status == REDLATCH_AGAIN || report; redlatch_report_free(report)) {
            report = NULL;
            status = redlatch_scan_start_next(scan, 6);
            status = GOOD(status) ? next_event(client, fd, 6, &report) : status;
            if (status != REDLATCH_AGAIN) {
                GOOD(status);
            }
        }
        redlatch_scan_free(scan);
    }
    SURELY(redlatch_lock_release(lock));
}

static void cancelled(redlatch_lock *lock) {
    redlatch_cancel *cancel = NULL;
    if (!GOOD(redlatch_cancel_new(&cancel))) {
        return;
    }
    CHECK_EQ_INT(redlatch_cancel_fire(cancel), REDLATCH_OK);
    int status = redlatch_lock_acquire_as(lock, 0, LEASE_MS, WAIT_MS, cancel);
    CHECK(status == REDLATCH_CANCELLED || GOOD(status) || status == REDLATCH_NO_MEMORY);
    if (status == REDLATCH_OK) {
        SURELY(redlatch_lock_release(lock));
    }
    redlatch_cancel_free(cancel);
}

/* Commands that the output buffer has no room for, on a client whose background thread, which would try again, does not
 * run yet. */
static void long_commands(redlatch_lock *lock) {
    redlatch_lock_state state = {.struct_size = sizeof state};
    CHECK(!GOOD(redlatch_lock_query(lock, &state)) || !state.locked);
    if (GOOD(redlatch_lock_acquire(lock, WAIT_MS))) {
        SURELY(redlatch_lock_release(lock));
    }
}

/* A multi lock over both clients, which works as over two servers. */
static void several(redlatch_lock *lock, redlatch_client *other_client) {
    redlatch_lock *members[] = {lock, make_lock(other_client, "bills", 5)};
    redlatch_lock *both = NULL;
    redlatch_cancel *cancel = NULL;
    if (members[1] && GOOD(redlatch_multi_lock_new(members, 2, NULL, &both)) && GOOD(redlatch_cancel_new(&cancel))) {
        for (int cancellable = 0; cancellable < 2; cancellable++) {
            if (GOOD(redlatch_lock_acquire_as(both, 0, REDLATCH_LEASE_OF_LOCK, WAIT_MS, cancellable ? cancel : NULL))) {
                GOOD(redlatch_lock_extend(both, 0, LEASE_MS));
                SURELY(redlatch_lock_release(both));
            }
            GOOD(redlatch_lock_force_release(both, NULL));
        }
    }
    redlatch_cancel_free(cancel);
    redlatch_lock_free(both);
    redlatch_lock_free(members[1]);
}

/* A scan, an inspection and a wait. Each fails or has the right result. */
static void polling(redlatch_client *client, const char *name, size_t size) {
    redlatch_scan *scan = NULL;
    redlatch_report *report = NULL;
    redlatch_facts facts = {.struct_size = sizeof facts};
    if (GOOD(redlatch_scan_new(client, NULL, 0, &scan))) {
        while (GOOD(redlatch_scan_next(scan, &report)) && report) {
            redlatch_report_free(report);
            report = NULL;
        }
        redlatch_scan_free(scan);
    }
    if (GOOD(redlatch_client_inspect(client, name, size, NULL, &report))) {
        CHECK_EQ_INT(redlatch_report_facts(report, &facts), REDLATCH_OK);
        CHECK(facts.detected_kind == REDLATCH_DETECTED_NOTHING && facts.name_size == size);
        redlatch_report_free(report);
    }
    GOOD(redlatch_client_wait_free(client, name, size, WAIT_MS, NULL));
}

static void scenario(void) {
    redlatch_client *client = open_client();
    redlatch_client *other_client = client ? open_client() : NULL;
    redlatch_lock *lock = client ? make_lock(client, "orders", 6) : NULL;
    redlatch_lock *of_other_client = other_client ? make_lock(other_client, "orders", 6) : NULL;
    redlatch_lock *named_long = other_client ? make_lock(other_client, long_name, sizeof long_name) : NULL;
    if (named_long) {
        long_commands(named_long);
        polling(other_client, long_name, sizeof long_name);
    }
    if (lock && of_other_client) {
        contended(client, lock, of_other_client);
        GOOD(redlatch_client_set_credentials(client, "default", "any"));
        GOOD(redlatch_client_set_credentials(other_client, "default", "any")); /* while it is subscribed */
        asynchronous(client, lock);
        started_rechecks(client, lock);
        cancelled(lock);
        several(lock, other_client);
    }
    if (lock && GOOD(redlatch_lock_acquire(lock, WAIT_MS))) {
        CHECK_EQ_INT(redlatch_client_close(client), REDLATCH_OK); /* releases what is held */
    }
    redlatch_lock_free(lock);
    redlatch_client_free(client);
    redlatch_lock_free(of_other_client);
    redlatch_lock_free(named_long);
    redlatch_client_free(other_client);
}

/* Plays the scenario with the n-th allocation failing. Returns whether one failed. */
static bool run_with_failure(int n) {
    run = n;
    alarm(TIMEOUT);
    failing_arm(n);
    scenario();
    bool failed = failing_disarm();
    int64_t until = system_now() + LEASE_MS * MILLISECOND + 10 * SECOND; /* enough on a busy machine, too */
    while (real_server_keys() > 0 && system_now() < until) {
        usleep(2000);
    }
    if (real_server_keys() > 0) {
        fprintf(stderr, "allocation %d: a lock outlives its lease\n", n);
        CHECK_EQ_INT(real_server_keys(), 0);
    }
    return failed;
}

static void every_allocation_may_fail(void) {
    url = real_server_start();
    signal(SIGALRM, in_time);
    memset(long_name, 'n', sizeof long_name);
    CHECK(!run_with_failure(0)); /* without a failing allocation */
    int n = 1;
    while (n < RUNS_AT_MOST && run_with_failure(n)) {
        n++;
    }
    alarm(0);
    CHECK(n > RUNS_AT_LEAST && n < RUNS_AT_MOST);
    printf("%d allocations failed\n", n - 1);
    real_server_end();
}

int main(void) {
    RUN(every_allocation_may_fail);
    return unit_done();
}
