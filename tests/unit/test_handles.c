/* Handles that are NULL, freed, or of another kind. Calls on closed clients. Output arguments, which failed calls leave
 * untouched. Names that are longer than an event has room for.
 * SPDX-License-Identifier: Apache-2.0 */
#include "client_lock.h"
#include "completed.h"
#include "handles.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "unit.h"

static redlatch_client *new_client(void) {
    redlatch_client_options options;
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    options.lazy = 1;
    options.command_timeout_ms = 50;
    options.close_timeout_ms = 50;
    redlatch_client *client = NULL;
    CHECK_EQ_INT(redlatch_client_open("unix:///nowhere/redis.sock", &options, &client), REDLATCH_OK);
    return client;
}

static redlatch_lock *new_lock(redlatch_client *client) {
    redlatch_lock *lock = NULL;
    CHECK_EQ_INT(redlatch_lock_new(client, REDLATCH_MUTEX, "orders", 6, NULL, &lock), REDLATCH_OK);
    return lock;
}

static redlatch_cancel *new_cancel(void) {
    redlatch_cancel *cancel = NULL;
    CHECK_EQ_INT(redlatch_cancel_new(&cancel), REDLATCH_OK);
    return cancel;
}

/* Checks that every call on a client returns `status` and leaves its output arguments untouched. */
static void check_client(redlatch_client *client, int status) {
    redlatch_stats stats = {.struct_size = sizeof stats, .held = 77};
    redlatch_event event = {.struct_size = sizeof event, .kind = 77, .tag = 77};
    redlatch_lock *lock = NULL;
    int fd = 77;
    CHECK_EQ_INT(redlatch_client_stats(client, &stats), status);
    CHECK_EQ_INT(redlatch_lock_new(client, REDLATCH_MUTEX, "x", 1, NULL, &lock), status);
    CHECK_EQ_INT(redlatch_client_event_fd(client, &fd), status);
    CHECK_EQ_INT(redlatch_client_next_event(client, &event), status);
    CHECK_EQ_INT(redlatch_client_next_event(client, NULL), status);
    CHECK_EQ_INT(redlatch_client_wait_lost(client, 0, &event), status);
    CHECK_EQ_INT(redlatch_client_cancel(client, 1), status);
    redlatch_report *report = NULL;
    redlatch_scan *scan = NULL;
    CHECK_EQ_INT(redlatch_client_inspect(client, "x", 1, NULL, &report), status);
    CHECK_EQ_INT(redlatch_client_start_inspect(client, "x", 1, NULL, 1), status);
    CHECK_EQ_INT(redlatch_client_start_wait_free(client, "x", 1, 0, 1), status);
    CHECK_EQ_INT(redlatch_scan_new(client, "*", 1, &scan), status);
    CHECK_EQ_INT(redlatch_client_wait_free(client, "x", 1, 0, NULL), status);
    CHECK(report == NULL && scan == NULL);
    CHECK(stats.held == 77 && event.kind == 77 && event.tag == 77 && lock == NULL && fd == 77);
    CHECK(status != REDLATCH_BAD_HANDLE || strstr(redlatch_last_error(), "one that redlatch_client_open made"));
}

static void check_lock(redlatch_lock *lock, int status) {
    redlatch_hold hold = {.struct_size = sizeof hold, .count = 77};
    redlatch_lock_state state = {.struct_size = sizeof state, .locked = 77};
    int32_t released = 77;
    CHECK_EQ_INT(redlatch_lock_acquire(lock, 0), status);
    CHECK_EQ_INT(redlatch_lock_try_acquire(lock), status);
    CHECK_EQ_INT(redlatch_lock_acquire_as(lock, 1, 1000, 0, NULL), status);
    CHECK_EQ_INT(redlatch_lock_release(lock), status);
    CHECK_EQ_INT(redlatch_lock_release_as(lock, 1), status);
    CHECK_EQ_INT(redlatch_lock_extend(lock, 0, 1000), status);
    CHECK_EQ_INT(redlatch_lock_leave(lock, 0), status);
    CHECK_EQ_INT(redlatch_lock_force_release(lock, &released), status);
    CHECK_EQ_INT(redlatch_lock_query(lock, &state), status);
    CHECK_EQ_INT(redlatch_lock_hold_status(lock, 0, &hold), status);
    CHECK_EQ_INT(redlatch_lock_start_acquire(lock, 1, 1000, 0, 1), status);
    CHECK_EQ_INT(redlatch_lock_start_release(lock, 1, 1), status);
    CHECK_EQ_INT(redlatch_lock_start_extend(lock, 1, 1000, 1), status);
    CHECK_EQ_INT(redlatch_lock_start_query(lock, 1), status);
    CHECK_EQ_INT(redlatch_lock_start_force_release(lock, 1), status);
    CHECK(hold.count == 77 && state.locked == 77 && released == 77);
    CHECK(status != REDLATCH_BAD_HANDLE || strstr(redlatch_last_error(), "expected one that redlatch_lock_new made"));
}

static void null_handles(void) {
    check_client(NULL, REDLATCH_BAD_HANDLE);
    check_lock(NULL, REDLATCH_BAD_HANDLE);
    CHECK(strstr(redlatch_last_error(), "lock is NULL"));
    CHECK_EQ_INT(redlatch_client_close(NULL), REDLATCH_BAD_HANDLE);
    CHECK(strstr(redlatch_last_error(), "client is NULL"));
    CHECK(redlatch_client_uuid(NULL) == NULL);
    CHECK_EQ_INT(redlatch_cancel_fire(NULL), REDLATCH_BAD_HANDLE);
    CHECK(strstr(redlatch_last_error(), "cancel is NULL"));
    CHECK_EQ_INT(redlatch_cancel_new(NULL), REDLATCH_INVALID);
    CHECK_EQ_INT(redlatch_owner_new(NULL), REDLATCH_INVALID);
    redlatch_report *report = NULL;
    CHECK_EQ_INT(redlatch_scan_next(NULL, &report), REDLATCH_BAD_HANDLE);
    CHECK_EQ_INT(redlatch_scan_start_next(NULL, 1), REDLATCH_BAD_HANDLE);
    redlatch_scan_free(NULL);
    redlatch_client_free(NULL);
    redlatch_lock_free(NULL);
    redlatch_cancel_free(NULL);
}

static void freed_handles(void) {
    redlatch_client *client = new_client();
    redlatch_lock *lock = new_lock(client);
    redlatch_lock *other = new_lock(client);
    redlatch_cancel *cancel = new_cancel();
    redlatch_lock_free(lock);
    check_lock(lock, REDLATCH_BAD_HANDLE);
    CHECK(strstr(redlatch_last_error(), "lock is freed"));
    redlatch_lock_free(lock); /* twice does no harm */
    redlatch_cancel_free(cancel);
    redlatch_cancel_free(cancel);
    CHECK_EQ_INT(redlatch_cancel_fire(cancel), REDLATCH_BAD_HANDLE);
    CHECK_EQ_INT(redlatch_lock_acquire_as(other, 0, 1000, 0, cancel), REDLATCH_BAD_HANDLE);
    CHECK(strstr(redlatch_last_error(), "cancel is freed"));
    redlatch_client_free(client);
    redlatch_client_free(client);
    check_client(client, REDLATCH_BAD_HANDLE);
    CHECK_EQ_INT(redlatch_client_close(client), REDLATCH_BAD_HANDLE);
    CHECK(redlatch_client_uuid(client) == NULL && redlatch_client_url(client) == NULL);
    CHECK(strstr(redlatch_last_error(), "client is freed"));
    check_lock(other, REDLATCH_CLOSED); /* a lock keeps its client's memory */
    redlatch_lock_free(other);
}

static void handles_of_another_kind(void) {
    redlatch_client *client = new_client();
    redlatch_lock *lock = new_lock(client);
    redlatch_cancel *cancel = new_cancel();
    check_client((redlatch_client *)(void *)lock, REDLATCH_BAD_HANDLE);
    check_client((redlatch_client *)(void *)cancel, REDLATCH_BAD_HANDLE);
    check_lock((redlatch_lock *)(void *)client, REDLATCH_BAD_HANDLE);
    check_lock((redlatch_lock *)(void *)cancel, REDLATCH_BAD_HANDLE);
    CHECK_EQ_INT(redlatch_cancel_fire((redlatch_cancel *)(void *)lock), REDLATCH_BAD_HANDLE);
    CHECK_EQ_INT(redlatch_lock_acquire_as(lock, 0, 1000, 0, (redlatch_cancel *)(void *)lock), REDLATCH_BAD_HANDLE);
    redlatch_client_free((redlatch_client *)(void *)lock);
    redlatch_lock_free((redlatch_lock *)(void *)client);
    redlatch_cancel_free((redlatch_cancel *)(void *)client);
    CHECK_EQ_INT(redlatch_cancel_fire(cancel), REDLATCH_OK); /* the calls above freed nothing */
    redlatch_stats stats = {.struct_size = sizeof stats};
    CHECK_EQ_INT(redlatch_client_stats(client, &stats), REDLATCH_OK);
    redlatch_cancel_free(cancel);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

static int call_client(void *handle) {
    return redlatch_client_close(handle);
}

static int call_lock(void *handle) {
    return redlatch_lock_release(handle);
}

static int call_cancel(void *handle) {
    return redlatch_cancel_fire(handle);
}

static int call_report(void *handle) {
    redlatch_facts facts = {.struct_size = sizeof facts};
    return redlatch_report_facts(handle, &facts);
}

static int call_scan(void *handle) {
    redlatch_report *report = NULL;
    return redlatch_scan_next(handle, &report);
}

static int call_semaphore(void *handle) {
    return redlatch_semaphore_release(handle, 1);
}

static int call_permit_semaphore(void *handle) {
    return redlatch_permit_semaphore_add_permits(handle, 1);
}

static int call_latch(void *handle) {
    return redlatch_latch_count_down(handle);
}

/* The error texts for a handle of each kind that is NULL or of another kind. */
static void messages_about_handles(void) {
    static const struct {
        int (*call)(void *handle);
        const char *what, *maker;
    } kinds[] = {
        {call_client, "client", "redlatch_client_open"},
        {call_lock, "lock", "redlatch_lock_new"},
        {call_cancel, "cancel", "redlatch_cancel_new"},
        {call_report, "report", "redlatch_client_inspect or redlatch_scan_next"},
        {call_scan, "scan", "redlatch_scan_new"},
        {call_semaphore, "semaphore", "redlatch_semaphore_new"},
        {call_permit_semaphore, "permit_semaphore", "redlatch_permit_semaphore_new"},
        {call_latch, "latch", "redlatch_latch_new"},
    };
    redlatch_client *client = new_client();
    redlatch_lock *lock = new_lock(client);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        void *other = kinds[i].call == call_lock ? (void *)client : (void *)lock;
        char expected[200];
        CHECK_EQ_INT(kinds[i].call(NULL), REDLATCH_BAD_HANDLE);
        snprintf(expected, sizeof expected, "%s is NULL: expected one that %s made", kinds[i].what, kinds[i].maker);
        CHECK_STR(redlatch_last_error(), expected);
        CHECK_EQ_INT(kinds[i].call(other), REDLATCH_BAD_HANDLE);
        snprintf(expected, sizeof expected, "%s is freed or of another type: expected one that %s made", kinds[i].what,
                 kinds[i].maker);
        CHECK_STR(redlatch_last_error(), expected);
    }
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

static void closed_clients(void) {
    redlatch_client *client = new_client();
    redlatch_lock *lock = new_lock(client);
    const char *uuid = redlatch_client_uuid(client);
    CHECK(uuid && strlen(uuid) == 36 && uuid[14] == '8');
    CHECK_EQ_INT(redlatch_client_close(client), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_client_close(client), REDLATCH_OK);
    check_client(client, REDLATCH_CLOSED);
    check_lock(lock, REDLATCH_CLOSED);
    CHECK_STR(redlatch_client_uuid(client), uuid);
    redlatch_client_free(client);
    redlatch_lock_free(lock);
}

/* Calls that close and free do not fail, so the last error before them can still be read. */
static void tidying_up_keeps_the_last_error(void) {
    redlatch_client *client = new_client();
    redlatch_lock *lock = new_lock(client);
    CHECK_EQ_INT(redlatch_lock_acquire(lock, -5), REDLATCH_INVALID);
    char words[200];
    snprintf(words, sizeof words, "%s", redlatch_last_error());
    CHECK(strstr(words, "wait_ms is -5"));
    redlatch_client_close(client);
    redlatch_client_close(client);
    CHECK(redlatch_client_uuid(client) != NULL);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
    CHECK_STR(redlatch_last_error(), words);
}

static void nothing_is_handed_out_on_failure(void) {
    redlatch_client *client = new_client();
    redlatch_lock *lock = new_lock(client);
    redlatch_event event = {.struct_size = sizeof event, .kind = 77, .tag = 77};
    CHECK_EQ_INT(redlatch_client_next_event(client, &event), REDLATCH_AGAIN);
    CHECK_EQ_INT(redlatch_client_wait_lost(client, 0, &event), REDLATCH_AGAIN);
    CHECK_EQ_INT(redlatch_client_wait_lost(client, -2, &event), REDLATCH_INVALID);
    CHECK(event.kind == 77 && event.tag == 77);
    CHECK_EQ_INT(redlatch_client_next_event(client, NULL), REDLATCH_INVALID);
    CHECK_EQ_INT(redlatch_client_wait_lost(client, 0, NULL), REDLATCH_INVALID);
    CHECK_EQ_INT(redlatch_client_stats(client, NULL), REDLATCH_INVALID);
    CHECK_EQ_INT(redlatch_client_event_fd(client, NULL), REDLATCH_INVALID);
    CHECK_EQ_INT(redlatch_lock_hold_status(lock, 0, NULL), REDLATCH_INVALID);
    redlatch_lock_state state = {.struct_size = sizeof state, .locked = 77};
    int32_t released = 77;
    CHECK_EQ_INT(redlatch_lock_query(lock, &state), REDLATCH_UNREACHABLE);
    CHECK_EQ_INT(redlatch_lock_query(lock, NULL), REDLATCH_INVALID); /* without asking the server */
    CHECK(strstr(redlatch_last_error(), "state_out is NULL"));
    state.struct_size = 2;
    CHECK_EQ_INT(redlatch_lock_query(lock, &state), REDLATCH_INVALID);
    CHECK_EQ_INT(redlatch_lock_force_release(lock, &released), REDLATCH_UNREACHABLE);
    CHECK(state.locked == 77 && released == 77);
    CHECK(strstr(redlatch_last_error(), "force-release \"orders\""));
    CHECK(strstr(redlatch_last_error(), "/nowhere/redis.sock"));
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

static void without_descriptors(void) {
    redlatch_client *client = new_client();
    struct rlimit before;
    CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
    int spare = dup(0); /* the lowest free descriptor */
    int fd = -1;
    for (int room = 0; room < 2; room++) {
        struct rlimit tight = {(rlim_t)(spare + room), before.rlim_max};
        close(spare);
        CHECK(setrlimit(RLIMIT_NOFILE, &tight) == 0);
        CHECK_EQ_INT(redlatch_client_event_fd(client, &fd), REDLATCH_SYSTEM);
        CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
        CHECK_EQ_INT(dup(0), spare); /* nothing was left open */
    }
    close(spare);
    redlatch_cancel *cancel = NULL;
    redlatch_client *other = NULL;
    struct rlimit tight = {(rlim_t)spare, before.rlim_max};
    CHECK(setrlimit(RLIMIT_NOFILE, &tight) == 0);
    CHECK_EQ_INT(redlatch_cancel_new(&cancel), REDLATCH_SYSTEM);
    CHECK_EQ_INT(redlatch_client_open("unix:///nowhere", NULL, &other), REDLATCH_SYSTEM);
    CHECK(cancel == NULL && other == NULL && strstr(redlatch_last_error(), "descriptor"));
    CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    CHECK_EQ_INT(redlatch_client_event_fd(client, &fd), REDLATCH_OK);
    struct pollfd one = {fd, POLLIN, 0};
    CHECK_EQ_INT(poll(&one, 1, 0), 0);
    redlatch_lock *lock = new_lock(client);
    uint64_t owner;
    CHECK_EQ_INT(redlatch_owner_new(&owner), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_start_acquire(lock, owner, 1000, 0, 9), REDLATCH_OK);
    CHECK_EQ_INT(poll(&one, 1, 5000), 1); /* it works in spite of the failure before */
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

/* A freed handle is not reused soon, but it is reused later, so that memory does not grow without end. */
static void freed_handles_rest(void) {
    enum { MANY = 2000 };
    static struct redlatch_lock *handles[MANY];
    struct redlatch_lock *first = handle_new_lock();
    handle_free_lock(first);
    int reused = 0;
    for (int i = 0; i < MANY; i++) {
        handles[i] = handle_new_lock();
        CHECK(handles[i] != first || i > 200);
        CHECK(atomic_load(&handles[i]->magic) == MAGIC_LOCK && handles[i]->client == NULL);
        handle_free_lock(handles[i]);
        CHECK_EQ_INT(atomic_load(&handles[i]->magic), MAGIC_FREED);
        reused += handles[i] == first;
    }
    CHECK(reused >= 2);
}

/* A renewal that was refused, or had no memory for its releases, waits to be sent again. It is in no list, only its
 * timer refers to it. Only the leak checker notices if it is not freed. */
static void a_renewal_that_is_to_be_sent_again_goes_with_its_client(void) {
    redlatch_client *handle = new_client();
    redlatch_lock *lock = new_lock(handle);
    CHECK_EQ_INT(redlatch_lock_try_acquire(lock), REDLATCH_UNREACHABLE); /* it preallocates records */
    client_lock(handle->client);
    struct engine *engine = &handle->client->engine;
    struct list_link *spare = list_pop(&engine->batch_pool);
    CHECK(spare != NULL);
    if (spare) {
        engine->batch_pool_size--;
        timer_arm(&engine->timers, &container_of(spare, struct command, link)->timer, NEVER - 1);
    }
    client_unlock(handle->client);
    redlatch_lock_free(lock);
    redlatch_client_free(handle);
}

static void a_long_name_is_cut_in_its_event(void) {
    enum { ROOM = sizeof((redlatch_event *)NULL)->name };
    char name[ROOM + 4];
    memset(name, 'n', sizeof name);
    for (size_t size = ROOM - 3; size <= ROOM + 3; size++) {
        redlatch_event event = {.struct_size = sizeof event};
        event_set_name(&event, name, size);
        CHECK_EQ_INT(event.name_size, size);
        const char *end = memchr(event.name, '\0', ROOM);
        CHECK(end && (size_t)(end - event.name) == (size < ROOM ? size : ROOM - 1));
    }
}

int main(void) {
    RUN(null_handles);
    RUN(freed_handles);
    RUN(handles_of_another_kind);
    RUN(messages_about_handles);
    RUN(closed_clients);
    RUN(tidying_up_keeps_the_last_error);
    RUN(nothing_is_handed_out_on_failure);
    RUN(a_renewal_that_is_to_be_sent_again_goes_with_its_client);
    RUN(a_long_name_is_cut_in_its_event);
    RUN(without_descriptors);
    RUN(freed_handles_rest);
    return unit_done();
}
