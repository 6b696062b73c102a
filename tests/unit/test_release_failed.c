/* What the C interface reports about unconfirmed releases, on a real server.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "real_server.h"
#include "redlatch.h"
#include "unit.h"

static const char *url;

static redlatch_client *open_client(void) {
    redlatch_client *client = NULL;
    CHECK_EQ_INT(redlatch_client_open(url, NULL, &client), REDLATCH_OK);
    return client;
}

static redlatch_lock *make_lock(redlatch_client *client, int32_t owner_mode) {
    redlatch_lock_options options;
    redlatch_lock *lock = NULL;
    redlatch_lock_options_init(&options, sizeof options);
    options.confirm_release = 0;
    options.owner_mode = owner_mode;
    CHECK_EQ_INT(redlatch_lock_new(client, REDLATCH_MUTEX, "a", 1, &options, &lock), REDLATCH_OK);
    return lock;
}

/* Acquires the lock, deletes it on the server by a force release, and releases it. */
static void fail_to_release(redlatch_lock *lock) {
    CHECK_EQ_INT(redlatch_lock_acquire(lock, 0), REDLATCH_OK);
    redlatch_client *other = open_client();
    redlatch_lock *same = make_lock(other, REDLATCH_OWNER_THREAD);
    CHECK_EQ_INT(redlatch_lock_force_release(same, NULL), REDLATCH_OK);
    redlatch_lock_free(same);
    redlatch_client_free(other);
    CHECK_EQ_INT(redlatch_lock_release(lock), REDLATCH_OK);
}

static void check_event(const redlatch_event *event) {
    CHECK_EQ_INT(event->kind, REDLATCH_EVENT_RELEASE_FAILED);
    CHECK_EQ_INT(event->status, REDLATCH_LOST);
    CHECK_EQ_INT(event->reason, REDLATCH_REASON_MISSING);
    CHECK_STR(event->name, "a");
    CHECK(strstr(event->message, "release \"a\""));
}

static void a_failure_is_an_event(void) {
    redlatch_event event = {.struct_size = sizeof event};
    redlatch_client *client = open_client();
    redlatch_lock *lock = make_lock(client, REDLATCH_OWNER_THREAD);
    CHECK_EQ_INT(redlatch_client_wait_lost(client, 0, &event), REDLATCH_AGAIN);
    fail_to_release(lock);
    CHECK_EQ_INT(redlatch_client_wait_lost(client, 10000, &event), REDLATCH_OK);
    check_event(&event);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

static void a_closed_client_still_tells_of_it(void) {
    int fd;
    redlatch_event event = {.struct_size = sizeof event};
    redlatch_client *client = open_client();
    redlatch_lock *lock = make_lock(client, REDLATCH_OWNER_THREAD);
    CHECK_EQ_INT(redlatch_client_event_fd(client, &fd), REDLATCH_OK);
    fail_to_release(lock);
    CHECK_EQ_INT(redlatch_client_close(client), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_client_next_event(client, &event), REDLATCH_OK);
    check_event(&event);
    CHECK_EQ_INT(redlatch_client_next_event(client, &event), REDLATCH_CLOSED);
    CHECK_EQ_INT(redlatch_client_wait_lost(client, 0, &event), REDLATCH_CLOSED);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

static void a_started_one_is_done_at_once(void) {
    int fd;
    redlatch_event event = {.struct_size = sizeof event};
    redlatch_client *client = open_client();
    redlatch_lock *lock = make_lock(client, REDLATCH_OWNER_HANDLE);
    CHECK_EQ_INT(redlatch_client_event_fd(client, &fd), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_acquire(lock, 0), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_start_release_with(lock, 0, 0, 7), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_client_next_event(client, &event), REDLATCH_OK);
    CHECK(event.kind == REDLATCH_EVENT_RELEASED && event.status == REDLATCH_OK && event.tag == 7);
    CHECK_EQ_INT(redlatch_client_close(client), REDLATCH_OK);
    CHECK_EQ_INT(real_server_keys(), 0);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

static void another_confirm_is_refused(void) {
    redlatch_client *client = open_client();
    redlatch_lock *lock = make_lock(client, REDLATCH_OWNER_THREAD);
    CHECK_EQ_INT(redlatch_lock_release_with(lock, 0, 2), REDLATCH_INVALID);
    CHECK(strstr(redlatch_last_error(), "confirm is 2: expected 0, 1 or REDLATCH_CONFIRM_OF_LOCK"));
    CHECK_EQ_INT(redlatch_lock_release_with(lock, 0, 0), REDLATCH_NOT_OWNED);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

int main(void) {
    url = real_server_start();
    RUN(a_failure_is_an_event);
    RUN(a_closed_client_still_tells_of_it);
    RUN(a_started_one_is_done_at_once);
    RUN(another_confirm_is_refused);
    real_server_end();
    return unit_done();
}
