/* A broken invariant, which is a bug in redlatch: calls end with INTERNAL, also those that wait, and clients can be
 * closed and freed. Builds with REDLATCH_ABORTS, for tests and fuzzing, abort instead.
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client_lock.h"
#include "outputs.h"
#include "handles.h"
#include "unit.h"

static redlatch_client *client;
static redlatch_lock *lock;

static void begin_with(const char *name) {
    redlatch_client_options options;
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    options.lazy = 1;
    CHECK_EQ_INT(redlatch_client_open("unix:///nowhere/at/all", &options, &client), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_new(client, REDLATCH_MUTEX, name, strlen(name), NULL, &lock), REDLATCH_OK);
}

static void begin(void) {
    begin_with("orders");
}

/* Breaks an invariant by a reply that no command awaits. The link layer would never pass it on. */
static void break_it(void) {
    struct client *inside = client->client;
    struct reply reply = {.kind = REPLY_NIL};
    client_lock(inside);
    engine_replied(&inside->engine, engine_pipeline(&inside->engine, PIPELINE_BACKGROUND), &reply, system_now());
    client_finish_step(inside, system_now());
    client_unlock(inside);
}

#ifdef REDLATCH_ABORTS

static void it_aborts(void) {
    pid_t child = fork();
    if (child == 0) {
        begin();
        break_it();
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void) {
    RUN(it_aborts);
    return unit_done();
}

#else

static void *wait_for_ever(void *status_out) {
    *(int *)status_out = redlatch_lock_acquire(lock, REDLATCH_FOREVER);
    return NULL;
}

static void until_it_waits(void) {
    redlatch_stats stats = {.struct_size = sizeof stats};
    while (redlatch_client_stats(client, &stats) == REDLATCH_OK && stats.waiters == 0) {
        poll(NULL, 0, 1);
    }
}

static void end(void) {
    CHECK_EQ_INT(redlatch_client_close(client), REDLATCH_OK);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

static void check_internal(int status) {
    CHECK_EQ_INT(status, REDLATCH_INTERNAL);
    CHECK(strstr(redlatch_last_error(), "a bug in redlatch") && strstr(redlatch_last_error(), "failed check: link"));
}

static void waiting_calls_end_and_new_ones_are_refused(void) {
    begin();
    int fd = -1;
    int waited = REDLATCH_OK;
    pthread_t thread;
    redlatch_event event = {.struct_size = sizeof event};
    redlatch_hold hold = {.struct_size = sizeof hold};
    CHECK_EQ_INT(redlatch_client_event_fd(client, &fd), REDLATCH_OK);
    CHECK(pthread_create(&thread, NULL, wait_for_ever, &waited) == 0);
    until_it_waits();
    break_it();
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_EQ_INT(waited, REDLATCH_INTERNAL);
    struct pollfd readable = {fd, POLLIN, 0};
    CHECK_EQ_INT(poll(&readable, 1, 10000), 1);
    check_internal(redlatch_client_next_event(client, &event));
    CHECK_EQ_INT(poll(&readable, 1, 0), 0); /* nothing is left to be collected */
    check_internal(redlatch_lock_acquire(lock, 0));
    check_internal(redlatch_lock_release(lock));
    check_internal(redlatch_lock_hold_status(lock, 0, &hold));
    check_internal(redlatch_client_wait_lost(client, 0, &event));
    end();
}

static void started_calls_are_discarded_with_the_client(void) {
    begin();
    uint64_t owner;
    CHECK_EQ_INT(redlatch_owner_new(&owner), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_start_acquire(lock, owner, REDLATCH_RENEWED, REDLATCH_FOREVER, 7), REDLATCH_OK);
    break_it();
    check_internal(redlatch_lock_start_acquire(lock, owner, REDLATCH_RENEWED, REDLATCH_FOREVER, 8));
    end();
}

static void check_notified(int fd, uint64_t tag) {
    struct pollfd readable = {fd, POLLIN, 0};
    redlatch_event event = {.struct_size = sizeof event};
    CHECK_EQ_INT(poll(&readable, 1, 10000), 1);
    int status;
    while ((status = redlatch_client_next_event(client, &event)) == REDLATCH_INTERNAL) {
        CHECK_EQ_INT(poll(&readable, 1, 10000), 1); /* the background thread has not ended the call yet */
    }
    CHECK_EQ_INT(status, REDLATCH_OK);
    CHECK_EQ_INT(event.status, REDLATCH_INTERNAL);
    CHECK(event.tag == tag && strstr(event.message, "a bug in redlatch"));
    check_internal(redlatch_client_next_event(client, &event));
    CHECK_EQ_INT(poll(&readable, 1, 0), 0);
}

static void started_calls_are_reported(void) {
    begin();
    int fd = -1;
    uint64_t owner;
    CHECK_EQ_INT(redlatch_owner_new(&owner), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_client_event_fd(client, &fd), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_start_acquire(lock, owner, REDLATCH_RENEWED, REDLATCH_FOREVER, 7), REDLATCH_OK);
    break_it();
    check_notified(fd, 7);
    end();
}

static void those_over_several_servers_are_reported(void) {
    begin_with("stock");
    redlatch_client *other_client = client;
    redlatch_lock *other_lock = lock;
    begin();
    redlatch_lock *both;
    int fd = -1;
    uint64_t owner;
    redlatch_lock *members[] = {lock, other_lock};
    CHECK_EQ_INT(redlatch_multi_lock_new(members, 2, NULL, &both), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_owner_new(&owner), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_client_event_fd(client, &fd), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_start_acquire(both, owner, REDLATCH_RENEWED, REDLATCH_FOREVER, 9), REDLATCH_OK);
    break_it();
    check_notified(fd, 9);
    redlatch_lock_free(both);
    end();
    client = other_client;
    lock = other_lock;
    end();
}

static void a_call_over_several_servers_is_refused(void) {
    begin_with("stock");
    redlatch_client *other_client = client;
    redlatch_lock *other_lock = lock;
    begin();
    redlatch_lock *both;
    redlatch_lock *members[] = {other_lock, lock};
    CHECK_EQ_INT(redlatch_multi_lock_new(members, 2, NULL, &both), REDLATCH_OK);
    break_it(); /* not the first member's client */
    check_internal(redlatch_lock_acquire(both, 0));
    redlatch_lock_free(both);
    end();
    client = other_client;
    lock = other_lock;
    end();
}

static void *wait_for_a_loss(void *status_out) {
    redlatch_event event = {.struct_size = sizeof event};
    *(int *)status_out = redlatch_client_wait_lost(client, REDLATCH_FOREVER, &event);
    return NULL;
}

static void who_waits_for_a_loss_is_woken(void) {
    begin();
    int waited = REDLATCH_OK;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, wait_for_a_loss, &waited) == 0);
    while (!atomic_load(&client->client->losses_watched[LOSS_THREADS])) {
        poll(NULL, 0, 1);
    }
    break_it(); /* takes the mutex, which the thread drops only to sleep */
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_EQ_INT(waited, REDLATCH_INTERNAL);
    end();
}

static void other_clients_are_well(void) {
    begin();
    break_it();
    check_internal(redlatch_lock_acquire(lock, 0));
    end();
    begin();
    CHECK_EQ_INT(redlatch_lock_acquire(lock, 0), REDLATCH_UNREACHABLE);
    end();
}

int main(void) {
    RUN(waiting_calls_end_and_new_ones_are_refused);
    RUN(started_calls_are_discarded_with_the_client);
    RUN(started_calls_are_reported);
    RUN(those_over_several_servers_are_reported);
    RUN(a_call_over_several_servers_is_refused);
    RUN(who_waits_for_a_loss_is_woken);
    RUN(other_clients_are_well);
    return unit_done();
}

#endif
