/* What a freed handle or a closed client held is released, although other calls have reserved all commands of the pool.
 * In place of such calls, the test raises the engine's count of reserved commands. It does so while the background
 * thread sleeps, because that thread would preallocate more commands.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <unistd.h>

#include "client_lock.h"
#include "fake_server.h"
#include "handles.h"
#include "redlatch_multi.h"
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

static redlatch_lock *new_lock(const char *name) {
    redlatch_lock_options options;
    redlatch_lock *lock = NULL;
    CHECK_EQ_INT(redlatch_lock_options_init(&options, sizeof options), REDLATCH_OK);
    options.owner_mode = REDLATCH_OWNER_HANDLE;
    CHECK_EQ_INT(redlatch_lock_new(client, REDLATCH_MUTEX, name, strlen(name), &options, &lock), REDLATCH_OK);
    return lock;
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

int main(void) {
    RUN(a_lock);
    RUN(a_multi_lock);
    RUN(a_closed_client);
    return unit_done();
}
