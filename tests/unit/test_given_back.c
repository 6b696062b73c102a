/* What a freed handle or a closed client held is released: although other calls have reserved all commands of the pool,
 * and also by the other clients of a multi lock. In place of such calls, the test raises the engine's count of reserved
 * commands. It does so while the background thread sleeps, because that thread would preallocate more commands. Permits
 * that nobody collected are given back, too.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdatomic.h>
#include <unistd.h>

#include "client_lock.h"
#include "fake_server.h"
#include "handles.h"
#include "redlatch_multi.h"
#include "redlatch_semaphores.h"
#include "unit.h"

static struct fake_server server;
static redlatch_client *client;
static _Atomic int scripts; /* how many scripts the server was asked to run */

static const char *answer(void *context, int connection, const char *command) {
    const char *greeting = fake_greeting(connection, command);
    if (greeting) {
        return greeting;
    }
    if (strncmp(command, "EVAL", 4) != 0) {
        return "+OK\r\n";
    }
    atomic_fetch_add(&scripts, 1);
    return context; /* granted */
}

static void begin(char *grant) {
    atomic_store(&scripts, 0);
    fake_open_unix(&server);
    fake_serve(&server, answer, grant);
    CHECK_EQ_INT(redlatch_client_open(server.url, NULL, &client), REDLATCH_OK);
}

static void end(void) {
    redlatch_client_close(client);
    redlatch_client_free(client);
    fake_close(&server);
}

static redlatch_lock *new_lock_of(redlatch_client *of, const char *name) {
    redlatch_lock_options options;
    redlatch_lock *lock = NULL;
    CHECK_EQ_INT(redlatch_lock_options_init(&options, sizeof options), REDLATCH_OK);
    options.owner_mode = REDLATCH_OWNER_HANDLE;
    CHECK_EQ_INT(redlatch_lock_new(of, REDLATCH_MUTEX, name, strlen(name), &options, &lock), REDLATCH_OK);
    return lock;
}

static redlatch_lock *new_lock(const char *name) {
    return new_lock_of(client, name);
}

/* If `back` is 0, reserves all free commands of the pool and returns how many these were. Else undoes a reservation of
 * `back` commands. */
static uint32_t set_aside(uint32_t back) {
    struct client *inside = client->client;
    int64_t until = system_now() + 10 * SECOND;
    client_lock(inside);
    while (inside->background_wakes_at == 0 && system_now() < until) {
        client_unlock(inside);
        usleep(100);
        client_lock(inside);
    }
    uint32_t all = back ? 0 : inside->engine.command_pool_size - inside->engine.reserved_commands;
    inside->engine.reserved_commands += all;
    inside->engine.reserved_commands -= back;
    client_unlock(inside);
    return all;
}

static void check_scripts(int expected) {
    for (int64_t until = system_now() + 5 * SECOND; atomic_load(&scripts) < expected && system_now() < until;) {
        usleep(1000);
    }
    CHECK_EQ_INT(atomic_load(&scripts), expected);
}

static void a_lock(void) {
    static char grant[] = "$-1\r\n";
    begin(grant);
    redlatch_lock *lock = new_lock("orders");
    CHECK_EQ_INT(redlatch_lock_try_acquire(lock), REDLATCH_OK);
    check_scripts(1);
    uint32_t aside = set_aside(0);
    CHECK(aside > 0);
    redlatch_lock_free(lock);
    check_scripts(2);
    set_aside(aside);
    end();
}

static void a_multi_lock(void) {
    static char grant[] = "*1\r\n:0\r\n";
    begin(grant);
    redlatch_lock *members[2] = {new_lock("a"), new_lock("b")};
    redlatch_lock_options options;
    redlatch_lock *lock = NULL;
    CHECK_EQ_INT(redlatch_lock_options_init(&options, sizeof options), REDLATCH_OK);
    options.owner_mode = REDLATCH_OWNER_HANDLE;
    CHECK_EQ_INT(redlatch_multi_lock_new(members, 2, &options, &lock), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_try_acquire(lock), REDLATCH_OK);
    check_scripts(1); /* one script for both members */
    uint32_t aside = set_aside(0);
    CHECK(aside > 0);
    redlatch_lock_free(lock);
    check_scripts(3);
    set_aside(aside);
    redlatch_lock_free(members[0]);
    redlatch_lock_free(members[1]);
    end();
}

static void a_closed_client(void) {
    static char grant[] = "$-1\r\n";
    begin(grant);
    redlatch_lock *lock = new_lock("orders");
    CHECK_EQ_INT(redlatch_lock_try_acquire(lock), REDLATCH_OK);
    check_scripts(1);
    CHECK(set_aside(0) > 0);
    redlatch_client_close(client);
    check_scripts(2);
    redlatch_lock_free(lock);
    end();
}

/* A multi lock over two clients, of which `client` is the first. */
struct pair {
    redlatch_client *other;
    redlatch_lock *members[2];
    redlatch_lock *lock;
    uint64_t owner;
};

static void begin_pair(struct pair *pair) {
    static char grant[] = "*1\r\n:0\r\n";
    begin(grant);
    CHECK_EQ_INT(redlatch_client_open(server.url, NULL, &pair->other), REDLATCH_OK);
    pair->members[0] = new_lock("a");
    pair->members[1] = new_lock_of(pair->other, "b");
    CHECK_EQ_INT(redlatch_multi_lock_new(pair->members, 2, NULL, &pair->lock), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_owner_new(&pair->owner), REDLATCH_OK);
}

/* Closes the first client. Both members were acquired, and both are released. */
static void end_pair(struct pair *pair) {
    check_scripts(2);
    CHECK_EQ_INT(redlatch_client_close(client), REDLATCH_OK);
    check_scripts(4);
    redlatch_lock_free(pair->lock);
    redlatch_lock_free(pair->members[0]);
    redlatch_lock_free(pair->members[1]);
    redlatch_client_free(pair->other);
    end();
}

static void a_grant_by_two_clients_that_nobody_collected(void) {
    struct pair pair;
    begin_pair(&pair);
    int fd = -1;
    CHECK_EQ_INT(redlatch_client_event_fd(client, &fd), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_start_acquire(pair.lock, pair.owner, REDLATCH_RENEWED, REDLATCH_FOREVER, 1),
                 REDLATCH_OK);
    struct pollfd readable = {fd, POLLIN, 0};
    CHECK_EQ_INT(poll(&readable, 1, 5000), 1);
    end_pair(&pair);
}

static void *do_nothing(void *argument) {
    (void)argument;
    return NULL;
}

static void a_started_release_that_nobody_stepped(void) {
    struct pair pair;
    begin_pair(&pair);
    client->client->background_main = do_nothing;
    CHECK_EQ_INT(redlatch_lock_acquire_as(pair.lock, pair.owner, REDLATCH_RENEWED, 0, NULL), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_start_release(pair.lock, pair.owner, 1), REDLATCH_OK);
    end_pair(&pair);
}

static bool has_event(void) {
    client_lock(client->client);
    bool has = !list_is_empty(&client->client->events);
    client_unlock(client->client);
    return has;
}

/* Permits have no lease that would end. */
static void permits_that_nobody_collected(void) {
    static char grant[] = ":1\r\n";
    begin(grant);
    client->client->release_on_close = false;
    redlatch_semaphore *semaphore = NULL;
    CHECK_EQ_INT(redlatch_semaphore_new(client, "permits", 7, NULL, &semaphore), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_semaphore_start_acquire(semaphore, 1, 0, 1), REDLATCH_OK);
    for (int64_t until = system_now() + 5 * SECOND; !has_event() && system_now() < until;) {
        usleep(1000);
    }
    check_scripts(1);
    redlatch_client_close(client);
    check_scripts(2);
    redlatch_semaphore_free(semaphore);
    end();
}

int main(void) {
    RUN(a_lock);
    RUN(a_multi_lock);
    RUN(a_closed_client);
    RUN(a_grant_by_two_clients_that_nobody_collected);
    RUN(a_started_release_that_nobody_stepped);
    RUN(permits_that_nobody_collected);
    return unit_done();
}
