/* Calls against a server that closes the connection, does not reply, sends nonsense or forgets holds. How a client
 * learns of messages, of losses, and of owners that ended.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "fake_server.h"
#include "records.h"
#include "redlatch.h"
#include "scripts_embedded.h"
#include "system.h"
#include "unit.h"

enum { RECEIVED_SIZE = 1 << 16 };

static struct fake_server server;
static char received[RECEIVED_SIZE]; /* commands, each followed by a semicolon; read once the server is closed */
static const char *_Atomic plan; /* the replies to the next acquires and releases, a letter each; then all succeed */
static _Atomic bool busy;        /* others hold every lock */
static _Atomic bool forgotten;   /* renewals find nothing */
static _Atomic bool channels_denied;
static _Atomic int watched; /* the connection that subscribed last */
static char message[200];   /* a message on the channel that was subscribed to last */

static const char *confirm(const char *command, int connection) {
    static char bytes[300];
    const char *channel = strchr(command, ' ') + 1;
    const char *verb = command[0] == 'U' ? "unsubscribe" : "subscribe";
    if (atomic_load(&channels_denied)) {
        return "-NOPERM this user has no permissions to access one of the channels\r\n";
    }
    snprintf(message, sizeof message, "*3\r\n$7\r\nmessage\r\n$%zu\r\n%s\r\n$1\r\n0\r\n", strlen(channel), channel);
    snprintf(bytes, sizeof bytes, "*3\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n:1\r\n", strlen(verb), verb, strlen(channel),
             channel);
    atomic_store(&watched, connection);
    return bytes;
}

static bool runs(const char *command, enum script_id script) {
    return strstr(command, scripts_embedded[script].sha1) || strstr(command, scripts_embedded[script].text);
}

static const char *as_planned(char letter, const char *good) {
    switch (letter) {
    case 'h':
        return NULL;
    case 's':
        return "";
    case 'g':
        return "nonsense\r\n";
    case 'n':
        return "-NOSCRIPT No matching script. Please use EVAL.\r\n";
    case 't': /* one reply too many */
        return ":1\r\n:1\r\n";
    default:
        return good;
    }
}

static const char *answer(void *context, int connection, const char *command) {
    (void)context;
    size_t size = strlen(received);
    snprintf(received + size, sizeof received - size, "%s;", command);
    const char *greeting = fake_greeting(connection, command);
    if (greeting) {
        return greeting;
    }
    if (strncmp(command, "SUBSCRIBE ", 10) == 0 || strncmp(command, "UNSUBSCRIBE ", 12) == 0) {
        return confirm(command, connection);
    }
    if (runs(command, SCRIPT_RENEW)) {
        return atomic_load(&forgotten) ? "*1\r\n:-2\r\n" : "*1\r\n:100\r\n";
    }
    const char *letters = atomic_load(&plan);
    char letter = letters[0];
    if (letter) {
        atomic_store(&plan, letters + 1);
    }
    if (runs(command, SCRIPT_ACQUIRE)) {
        return as_planned(letter, atomic_load(&busy) ? ":60000\r\n" : "$-1\r\n");
    }
    return as_planned(letter, ":1\r\n");
}

static redlatch_client *client;
static redlatch_lock *lock;
static uint64_t owner;

static void begin_with(const char *letters, int64_t command_timeout_ms, int64_t dead_peer_timeout_ms) {
    CHECK_EQ_INT(redlatch_owner_new(&owner), REDLATCH_OK);
    received[0] = '\0';
    atomic_store(&plan, letters);
    atomic_store(&busy, false);
    atomic_store(&forgotten, false);
    atomic_store(&channels_denied, false);
    fake_open_unix(&server);
    fake_serve(&server, answer, NULL);
    redlatch_client_options options;
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    options.watchdog_lease_ms = 900;
    options.command_timeout_ms = command_timeout_ms;
    options.dead_peer_timeout_ms = dead_peer_timeout_ms;
    CHECK_EQ_INT(redlatch_client_open(server.url, &options, &client), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_new(client, REDLATCH_MUTEX, "orders", 6, NULL, &lock), REDLATCH_OK);
}

static void begin(const char *letters) {
    begin_with(letters, 20000, 20000);
}

static void end(void) {
    redlatch_lock_free(lock);
    redlatch_client_free(client);
    fake_close(&server);
}

static redlatch_stats stats(void) {
    redlatch_stats now = {.struct_size = sizeof now};
    CHECK_EQ_INT(redlatch_client_stats(client, &now), REDLATCH_OK);
    return now;
}

/* Returns how often the server received `part`. */
static int times_received(const char *part) {
    int count = 0;
    for (const char *at = received; (at = strstr(at, part)) != NULL; at++) {
        count++;
    }
    return count;
}

static void check_survives(const char *letters) {
    begin(letters);
    CHECK_EQ_INT(redlatch_lock_acquire_as(lock, owner, 60000, 20000, NULL), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_release_as(lock, owner), REDLATCH_OK);
    CHECK_EQ_INT(stats().reconnects, 1);
    CHECK_EQ_INT(stats().resends, 1);
    end();
    CHECK_EQ_INT(times_received("CLIENT KILL ID 100;"), 1); /* nothing is sent again before that */
    const char *first = strstr(received, scripts_embedded[SCRIPT_ACQUIRE].sha1);
    const char *killed = strstr(received, "CLIENT KILL");
    CHECK(first && killed && first < killed);
}

static void a_broken_connection_is_survived(void) {
    check_survives("h");
    check_survives("g");
    check_survives("oh"); /* the release */
    check_survives("og");
}

static void unknown_scripts_are_sent_as_text(void) {
    begin("non");
    CHECK_EQ_INT(redlatch_lock_acquire_as(lock, owner, 60000, 20000, NULL), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_release_as(lock, owner), REDLATCH_OK);
    CHECK_EQ_INT(stats().script_loads, 2);
    CHECK_EQ_INT(stats().reconnects, 0);
    end();
    CHECK_EQ_INT(times_received("EVAL "), 2);
}

static void a_reply_too_many_costs_the_connection(void) {
    begin("ot");
    CHECK_EQ_INT(redlatch_lock_acquire_as(lock, owner, 60000, 20000, NULL), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_release_as(lock, owner), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_acquire_as(lock, owner, 60000, 20000, NULL), REDLATCH_OK);
    CHECK_EQ_INT(stats().reconnects, 1);
    CHECK_EQ_INT(redlatch_lock_release_as(lock, owner), REDLATCH_OK);
    end();
}

static void silence_ends_at_the_time_out(void) {
    begin_with("s", 100, 20000);
    int64_t start = system_now();
    CHECK_EQ_INT(redlatch_lock_acquire_as(lock, owner, 60000, 0, NULL), REDLATCH_NO_REPLY);
    int64_t passed = system_now() - start;
    CHECK(passed >= SECOND / 10 && passed < 5 * SECOND);
    CHECK(strstr(redlatch_last_error(), "acquire \"orders\""));
    CHECK_EQ_INT(stats().compensations, 1); /* the undo follows on the same connection */
    CHECK_EQ_INT(stats().reconnects, 0);
    end();
}

static void a_dead_peer_is_left(void) {
    begin_with("s", 20000, 600);
    int64_t start = system_now();
    CHECK_EQ_INT(redlatch_lock_acquire_as(lock, owner, 60000, 20000, NULL), REDLATCH_OK);
    int64_t passed = system_now() - start;
    CHECK(passed >= 599 * MILLISECOND && passed < 10 * SECOND);
    CHECK_EQ_INT(stats().reconnects, 1);
    CHECK_EQ_INT(redlatch_lock_release_as(lock, owner), REDLATCH_OK);
    end();
}

static bool within(int64_t seconds, bool (*is_so)(void)) {
    int64_t until = system_now() + seconds * SECOND;
    while (!is_so()) {
        if (system_now() > until) {
            return false;
        }
        usleep(2000);
    }
    return true;
}

static bool is_subscribed(void) {
    return stats().subscriptions == 1 && atomic_load(&watched) >= 0;
}

static bool is_notified(void) {
    return stats().messages >= 1;
}

static bool is_waiting(void) {
    return stats().waiters == 1;
}

static void *wait_for_it(void *status_out) {
    *(int *)status_out = redlatch_lock_acquire_as(lock, owner, 60000, 60000, NULL);
    return NULL;
}

/* A thread waits for a lock whose holder has a lease of a minute. A message says that the lock is free, and the thread
 * acquires it at once. */
static void a_message_wakes_a_waiter(void) {
    begin("");
    atomic_store(&busy, true);
    atomic_store(&watched, -1);
    int status = 0;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, wait_for_it, &status) == 0);
    CHECK(within(10, is_subscribed));
    usleep(20000); /* the recheck after the subscription is over */
    int64_t start = system_now();
    atomic_store(&busy, false);
    const char *bytes = message;
    ssize_t sent = write(server.peers[atomic_load(&watched)].fd, bytes, strlen(bytes));
    CHECK_EQ_INT(sent, strlen(bytes));
    pthread_join(thread, NULL);
    CHECK_EQ_INT(status, REDLATCH_OK);
    CHECK(system_now() - start < 3 * SECOND); /* sooner than the recheck without a message */
    CHECK(within(10, is_notified));           /* a late recheck may have found the lock free before the message came */
    CHECK_EQ_INT(redlatch_lock_release_as(lock, owner), REDLATCH_OK);
    end();
}

static void without_channels_waiters_recheck_now_and_then(void) {
    begin("");
    atomic_store(&busy, true);
    atomic_store(&channels_denied, true);
    int status = 0;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, wait_for_it, &status) == 0);
    CHECK(within(10, is_waiting));
    usleep(50000);
    atomic_store(&busy, false);
    pthread_join(thread, NULL);
    CHECK_EQ_INT(status, REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_release_as(lock, owner), REDLATCH_OK);
    end();
}

/* A hold that the server has forgotten is reported to the thread that waits for losses, as an event, and to the
 * release. */
static void a_loss_is_notified(void) {
    begin("");
    int fd = -1;
    redlatch_event event = {.struct_size = sizeof event};
    CHECK_EQ_INT(redlatch_client_event_fd(client, &fd), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_client_wait_lost(client, 0, &event), REDLATCH_AGAIN);
    CHECK_EQ_INT(redlatch_lock_acquire_as(lock, owner, REDLATCH_RENEWED, 0, NULL), REDLATCH_OK);
    atomic_store(&forgotten, true);
    CHECK_EQ_INT(redlatch_client_wait_lost(client, 20000, &event), REDLATCH_OK);
    CHECK(event.kind == REDLATCH_EVENT_LOST && event.status == REDLATCH_LOST && event.owner == owner);
    CHECK_STR(event.name, "orders");
    struct pollfd one = {fd, POLLIN, 0};
    CHECK_EQ_INT(poll(&one, 1, 5000), 1);
    CHECK_EQ_INT(redlatch_client_next_event(client, &event), REDLATCH_OK);
    CHECK(event.kind == REDLATCH_EVENT_LOST && event.reason != REDLATCH_REASON_NONE && event.name_size == 6);
    CHECK_EQ_INT(redlatch_client_next_event(client, &event), REDLATCH_AGAIN);
    CHECK_EQ_INT(poll(&one, 1, 0), 0);
    redlatch_hold hold = {.struct_size = sizeof hold};
    CHECK_EQ_INT(redlatch_lock_hold_status(lock, owner, &hold), REDLATCH_OK);
    CHECK_EQ_INT(hold.state, REDLATCH_GONE);
    CHECK_EQ_INT(redlatch_lock_release_as(lock, owner), REDLATCH_LOST);
    end();
}

static void *acquire_and_end(void *unused) {
    (void)unused;
    CHECK_EQ_INT(redlatch_lock_acquire(lock, 0), REDLATCH_OK);
    return NULL;
}

static pthread_key_t late_key;

static void acquire_late(void *unused) {
    (void)unused;
    CHECK_EQ_INT(redlatch_lock_acquire(lock, 0), REDLATCH_OK);
}

/* Acquires in a destructor of thread data, after the library's own destructor has ended the thread's owner. */
static void *acquire_at_the_end(void *unused) {
    (void)unused;
    redlatch_hold hold = {.struct_size = sizeof hold};
    CHECK_EQ_INT(redlatch_lock_hold_status(lock, 0, &hold), REDLATCH_OK); /* this gives the thread its number */
    CHECK(pthread_setspecific(late_key, &late_key) == 0);
    return NULL;
}

static void check_abandoned(void) {
    redlatch_event event = {.struct_size = sizeof event};
    CHECK_EQ_INT(redlatch_client_wait_lost(client, 5000, &event), REDLATCH_OK);
    CHECK_EQ_INT(event.kind, REDLATCH_EVENT_ABANDONED);
    CHECK_EQ_INT(event.reason, REDLATCH_REASON_ABANDONED);
}

static void ended_owners_abandon(void) {
    begin("");
    redlatch_event event = {.struct_size = sizeof event};
    CHECK_EQ_INT(redlatch_client_wait_lost(client, 0, &event), REDLATCH_AGAIN);
    CHECK_EQ_INT(redlatch_lock_acquire_as(lock, owner, REDLATCH_RENEWED, 0, NULL), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_owner_end(owner), REDLATCH_OK);
    check_abandoned();
    CHECK_EQ_INT(redlatch_owner_end(0), REDLATCH_INVALID);
    end();
    begin("");
    CHECK_EQ_INT(redlatch_client_wait_lost(client, 0, &event), REDLATCH_AGAIN);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, acquire_and_end, NULL) == 0);
    pthread_join(thread, NULL);
    check_abandoned();
    end();
}

static void also_what_is_taken_at_the_very_end(void) {
    begin("");
    redlatch_event event = {.struct_size = sizeof event};
    CHECK_EQ_INT(redlatch_client_wait_lost(client, 0, &event), REDLATCH_AGAIN);
    CHECK(pthread_key_create(&late_key, acquire_late) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, acquire_at_the_end, NULL) == 0);
    pthread_join(thread, NULL);
    CHECK(pthread_key_delete(late_key) == 0);
    check_abandoned();
    end();
}

/* A started acquire whose connection breaks, and started acquires that are cancelled by their tag. */
static void asynchronous_calls(void) {
    begin("h");
    int fd = -1;
    redlatch_event event = {.struct_size = sizeof event};
    CHECK_EQ_INT(redlatch_lock_start_acquire(lock, owner, 60000, 20000, 1), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_client_event_fd(client, &fd), REDLATCH_OK);
    int64_t until = system_now() + 10 * SECOND;
    while (redlatch_client_next_event(client, &event) == REDLATCH_AGAIN && system_now() < until) {
        struct pollfd one = {fd, POLLIN, 0};
        poll(&one, 1, 1000);
    }
    CHECK(event.kind == REDLATCH_EVENT_ACQUIRED && event.status == REDLATCH_OK && event.tag == 1);
    atomic_store(&busy, true); /* if a slow machine loses the hold, the waiters wait on */
    for (uint64_t tag = 2; tag < 4; tag++) {
        for (int i = 0; i < 3; i++) {
            uint64_t other;
            CHECK_EQ_INT(redlatch_owner_new(&other), REDLATCH_OK);
            CHECK_EQ_INT(redlatch_lock_start_acquire(lock, other, 60000, 20000, tag), REDLATCH_OK);
        }
    }
    CHECK_EQ_INT(redlatch_client_cancel(client, 99), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_client_cancel(client, 3), REDLATCH_OK);
    int cancelled = 0;
    while (redlatch_client_next_event(client, &event) == REDLATCH_OK) {
        cancelled += event.tag == 3 && event.status == REDLATCH_CANCELLED && event.kind == REDLATCH_EVENT_ACQUIRED;
    }
    CHECK_EQ_INT(cancelled, 3);
    CHECK_EQ_INT(redlatch_lock_start_release(lock, 0, 4), REDLATCH_INVALID);
    end(); /* with three of them still waiting */
}

int main(void) {
    RUN(a_broken_connection_is_survived);
    RUN(unknown_scripts_are_sent_as_text);
    RUN(a_reply_too_many_costs_the_connection);
    RUN(silence_ends_at_the_time_out);
    RUN(a_dead_peer_is_left);
    RUN(a_message_wakes_a_waiter);
    RUN(without_channels_waiters_recheck_now_and_then);
    RUN(a_loss_is_notified);
    RUN(ended_owners_abandon);
    RUN(also_what_is_taken_at_the_very_end);
    RUN(asynchronous_calls);
    return unit_done();
}
