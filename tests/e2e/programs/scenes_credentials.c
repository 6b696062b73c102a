/* One thread replaces user and password while others work: callers contend, a host collects events, a client is closed.
 * Also: what is left of old passwords in memory.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "stage.h"
#include "witness.h"

enum { CALLERS = 6, ROTATIONS = SANITIZED ? 40 : 200, LEASE_MS = 3000 };

/* Gives the user a new password, and only that one. Returns it. */
static const char *rotate(int number) {
    static char password[32];
    snprintf(password, sizeof password, "word-%d", number);
    tell("ACL SETUSER scene on resetpass >%s", password);
    return password;
}

static void begin(void) {
    tell("ACL SETUSER scene reset on ~* +@all");
    tell("ACL SETUSER scene allchannels"); /* an error in Redis 6.0, which has no rules for channels */
}

static redlatch_client *client_of_user(const char *password) {
    redlatch_client_options options = client_defaults();
    options.username = "scene";
    options.password = password;
    options.watchdog_lease_ms = LEASE_MS;
    return client_with(&options);
}

struct contention {
    redlatch_lock *locks[CALLERS];
    atomic_bool stop;
    atomic_int inside;
    atomic_int turns;
};

static void contend(void *shared, int number) {
    struct contention *contention = shared;
    redlatch_lock *lock = contention->locks[number];
    while (!atomic_load(&contention->stop)) {
        OK(redlatch_lock_acquire(lock, 30000));
        int inside = atomic_fetch_add(&contention->inside, 1);
        MUST(inside == 0, "%d others are inside", inside);
        atomic_fetch_add(&contention->turns, 1);
        atomic_fetch_sub(&contention->inside, 1);
        OK(redlatch_lock_release(lock));
    }
}

/* The server refuses the old password before the clients are given the new one. Now and then all connections end. */
static void contended(void) {
    begin();
    const char *password = rotate(0);
    redlatch_client *clients[2] = {client_of_user(password), client_of_user(password)};
    struct contention contention = {.stop = false};
    for (int i = 0; i < CALLERS; i++) {
        contention.locks[i] = lock_new(clients[i % 2], 1);
    }
    redlatch_lock *held = lock_new(clients[0], 2);
    OK(redlatch_lock_acquire(held, 0));
    struct workers *workers = workers_start(CALLERS, contend, &contention);
    for (int i = 1; i <= ROTATIONS; i++) {
        password = rotate(i);
        for (int c = 0; c < 2; c++) {
            OK(redlatch_client_set_credentials(clients[c], "scene", password));
        }
        if (i % 20 == 0) {
            cut_all();
        }
        int turns = atomic_load(&contention.turns);
        UNTIL(atomic_load(&contention.turns) > turns + 3);
    }
    atomic_store(&contention.stop, true);
    workers_join(workers);
    MUST(stats_of(clients[0]).lost + stats_of(clients[1]).lost == 0, "a hold was lost");
    OK(redlatch_lock_release(held));
    for (int i = 0; i < CALLERS; i++) {
        redlatch_lock_free(contention.locks[i]);
    }
    redlatch_lock_free(held);
    redlatch_client_free(clients[0]);
    redlatch_client_free(clients[1]);
}

/* A refused password is reported once to redlatch_client_wait_lost and once to the host. A started wait goes on. */
static void refused(void) {
    begin();
    const char *password = rotate(0);
    redlatch_client *client = client_of_user(password);
    redlatch_client *other = client_new();
    redlatch_lock *mine = lock_new(client, 1);
    redlatch_lock *theirs = lock_new(other, 1);
    redlatch_event event = {.struct_size = sizeof event};
    STATUS(redlatch_client_wait_lost(client, 0, &event), REDLATCH_AGAIN);
    event_fd_of(client);
    OK(redlatch_lock_acquire(theirs, 0));
    OK(redlatch_lock_start_acquire(mine, owner_new(), REDLATCH_LEASE_OF_LOCK, 20000, 7));
    UNTIL(stats_of(client).subscriptions == 1);
    OK(redlatch_client_set_credentials(client, "scene", "wrong"));
    OK(redlatch_client_wait_lost(client, 5000, &event));
    MUST(event.kind == REDLATCH_EVENT_CREDENTIALS_REFUSED, "event %d", event.kind);
    event = event_must(client, REDLATCH_EVENT_CREDENTIALS_REFUSED, REDLATCH_AUTHENTICATION, 0);
    MUST(strstr(event.message, "WRONGPASS") && !strstr(event.message, "wrong"), "%s", event.message);
    STATUS(event_within(client, 100, &event), REDLATCH_AGAIN);
    STATUS(redlatch_client_wait_lost(client, 0, &event), REDLATCH_AGAIN);
    int64_t start = now_ms();
    OK(redlatch_lock_release(theirs));
    event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_OK, 7);
    MUST(now_ms() - start < 2 * SOON, "woken after %d ms", (int)(now_ms() - start));
    OK(redlatch_client_set_credentials(client, "scene", password));
    STATUS(event_within(client, 100, &event), REDLATCH_AGAIN);
    MUST(stats_of(client).lost == 0 && stats_of(client).reconnects == 0, "it did not go on");
    redlatch_lock_free(mine);
    redlatch_lock_free(theirs);
    redlatch_client_free(client);
    redlatch_client_free(other);
}

struct closing {
    redlatch_client *client;
    atomic_bool began;
};

static void replace_until_closed(void *shared, int number) {
    struct closing *closing = shared;
    int status = REDLATCH_OK;
    for (int i = 0; status == REDLATCH_OK; i++) {
        status = redlatch_client_set_credentials(closing->client, i % 2 ? "scene" : NULL, number ? "wrong" : "word-0");
        atomic_store(&closing->began, true);
    }
    STATUS(status, REDLATCH_CLOSED);
}

/* A client is closed at any moment of a change of its credentials. */
static void closed(void) {
    begin();
    for (int i = 0; i < 10; i++) {
        struct closing closing = {.client = client_of_user(rotate(0))};
        redlatch_client *other = client_new();
        redlatch_lock *mine = lock_new(closing.client, 1);
        redlatch_lock *theirs = lock_new(other, 1);
        OK(redlatch_lock_acquire(theirs, 0));
        event_fd_of(closing.client);
        OK(redlatch_lock_start_acquire(mine, owner_new(), REDLATCH_LEASE_OF_LOCK, 20000, 1));
        struct workers *workers = workers_start(2, replace_until_closed, &closing);
        UNTIL(atomic_load(&closing.began));
        sleep_ms(i);
        OK(redlatch_client_close(closing.client));
        workers_join(workers);
        OK(redlatch_lock_release(theirs));
        redlatch_lock_free(mine);
        redlatch_lock_free(theirs);
        redlatch_client_free(closing.client);
        redlatch_client_free(other);
    }
}

enum { SECRET_SIZE = 24 };

/* Returns a byte of the secret. It is computed, so that the binary does not contain the whole secret. */
static char secret_byte(size_t i) {
    static volatile unsigned seed = 11;
    return (char)('a' + (seed * (unsigned)(i + 3) + (unsigned)(i * i)) % 26);
}

static int secrets_in(const char *begin, const char *end) {
    int found = 0;
    for (const char *at = begin; at + SECRET_SIZE <= end; at++) {
        size_t same = 0;
        while (same < SECRET_SIZE && at[same] == secret_byte(same)) {
            same++;
        }
        found += same == SECRET_SIZE;
    }
    return found;
}

/* Returns how often the secret is in the private, writable memory of this process. */
static int secrets_in_memory(void) {
    FILE *maps = fopen("/proc/self/maps", "re");
    MUST(maps, "no maps");
    char line[512];
    int found = 0;
    while (fgets(line, sizeof line, maps)) {
        uintptr_t begin;
        uintptr_t end;
        char rights[5];
        bool good = sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &begin, &end, rights) == 3;
        if (good && strcmp(rights, "rw-p") == 0 && end - begin < ((uintptr_t)1 << 28)) {
            found += secrets_in((const char *)begin, (const char *)end);
        }
    }
    fclose(maps);
    return found;
}

/* No copy of a password is left after it was replaced, whether connections sent it in the greeting or later. */
static void wiped(void) {
    begin();
    tell("ACL SETUSER scene nopass"); /* any password will do */
    char secret[SECRET_SIZE + 1];
    for (int greeted = 0; greeted < 2; greeted++) {
        for (size_t i = 0; i < SECRET_SIZE; i++) {
            secret[i] = secret_byte(i);
        }
        secret[SECRET_SIZE] = '\0';
        redlatch_client *client = client_of_user(greeted ? secret : "first");
        redlatch_lock *lock = lock_new(client, 1);
        if (!greeted) {
            OK(redlatch_client_set_credentials(client, "scene", secret));
        }
        OK(redlatch_lock_acquire(lock, 0));
        MUST(SANITIZED || secrets_in_memory() == 2, "%d copies, expected ours and the client's", secrets_in_memory());
        OK(redlatch_client_set_credentials(client, "scene", "last"));
        OK(redlatch_lock_release(lock));
        explicit_bzero(secret, sizeof secret);
        MUST(SANITIZED || secrets_in_memory() == 0, "%d copies, expected none", secrets_in_memory());
        redlatch_lock_free(lock);
        redlatch_client_free(client);
    }
}

int main(int argc, char **argv) {
    static const struct scene scenes[] = {
        {"contended", contended},
        {"refused", refused},
        {"closed", closed},
        {"wiped", wiped},
    };
    return stage_main(argc, argv, scenes, sizeof scenes / sizeof scenes[0]);
}
