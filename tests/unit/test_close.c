/* Closing a client waits for the replies to its releases. The thread that waits sleeps.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <string.h>

#include "fake_server.h"
#include "redlatch.h"
#include "records.h"
#include "system.h"
#include "unit.h"

enum { CLOSE_MS = 100 };

/* The linker redirects the core's calls of system_wait to this function. */
void __real_system_wait(_Atomic uint32_t *word, uint32_t expected, int64_t until);
void __wrap_system_wait(_Atomic uint32_t *word, uint32_t expected, int64_t until);

static _Atomic int waits;

void __wrap_system_wait(_Atomic uint32_t *word, uint32_t expected, int64_t until) {
    atomic_fetch_add(&waits, 1);
    __real_system_wait(word, expected, until);
}

/* Replies to scripts with the text at *context, which is "" for no reply, and to other commands with success. */
static const char *answer(void *context, int connection, const char *command) {
    (void)context;
    const char *greeting = fake_greeting(connection, command);
    if (greeting) {
        return greeting;
    }
    return strstr(command, "EVAL") ? *(const char **)context : "+OK\r\n";
}

static void who_waits_for_pending_answers_sleeps(void) {
    static struct fake_server server;
    const char *to_scripts = "$-1\r\n";
    fake_open_tcp(&server);
    fake_serve(&server, answer, &to_scripts);
    redlatch_client_options options;
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    options.close_timeout_ms = CLOSE_MS;
    redlatch_client *client = NULL;
    CHECK_EQ_INT(redlatch_client_open(server.url, &options, &client), REDLATCH_OK);
    redlatch_lock *lock = NULL;
    CHECK_EQ_INT(redlatch_lock_new(client, REDLATCH_MUTEX, "orders", 6, NULL, &lock), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_try_acquire(lock), REDLATCH_OK);
    to_scripts = "";
    atomic_store(&waits, 0);
    int64_t start = system_now();
    redlatch_client_close(client); /* sends the release and waits for its reply */
    int64_t took = system_now() - start;
    CHECK(took >= (CLOSE_MS - 1) * MILLISECOND);
    CHECK(atomic_load(&waits) > 0 && atomic_load(&waits) <= took / 200 + 10); /* each lasts 200 us */
    redlatch_lock_free(lock);
    redlatch_client_free(client);
    fake_close(&server);
}

/* Replies to scripts with *context, and then with the texts behind it. */
static const char *answer_in_turn(void *context, int connection, const char *command) {
    const char *greeting = fake_greeting(connection, command);
    if (greeting) {
        return greeting;
    }
    const char ***next = context;
    return strstr(command, "EVAL") ? *(*next)++ : "+OK\r\n";
}

static void a_refused_release_is_sent_again(void) {
    static struct fake_server server;
    static const char *texts[] = {"$-1\r\n", "-BUSY a script runs\r\n", "-LOADING data\r\n", ":1\r\n", "", "", ""};
    const char **next = texts;
    fake_open_tcp(&server);
    fake_serve(&server, answer_in_turn, &next);
    redlatch_client *client = NULL;
    CHECK_EQ_INT(redlatch_client_open(server.url, NULL, &client), REDLATCH_OK);
    redlatch_lock *lock = NULL;
    CHECK_EQ_INT(redlatch_lock_new(client, REDLATCH_MUTEX, "orders", 6, NULL, &lock), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_try_acquire(lock), REDLATCH_OK);
    redlatch_client_close(client);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
    fake_close(&server);
    CHECK_EQ_INT(next - texts, 4);
}

int main(void) {
    RUN(a_refused_release_is_sent_again);
    RUN(who_waits_for_pending_answers_sleeps);
    return unit_done();
}
