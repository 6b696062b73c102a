/* Names that are used as another kind than they are, by a client of each language. This shows every error text about
 * what was found, what to use instead, and who holds it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "model_servers.h"
#include "players_shared.h"
#include "redlatch_groups.h"

static const struct {
    int kind;
    const char *name;
} locks[] = {{REDLATCH_MUTEX, "a mutex"}, {REDLATCH_FENCED, "fenced"}, {REDLATCH_FAIR, "fair"},
             {REDLATCH_SPIN, "spin"},     {REDLATCH_READ, "read"},     {REDLATCH_WRITE, "write"},
             {REDLATCH_PLAIN, "plain"}};
static const char *const others[] = {"group", "number", "permits", "strange", "list"};

enum { LOCKS = sizeof locks / sizeof locks[0], OTHERS = sizeof others / sizeof others[0] };

/* Uses a name as each kind, which shows the error texts of the client's language. */
static void use(redlatch_client *client, const char *name) {
    size_t size = strlen(name);
    for (int i = 0; i < LOCKS; i++) {
        redlatch_lock *lock = NULL;
        log_call("lock", redlatch_lock_new(client, locks[i].kind, name, size, NULL, &lock));
        log_call("try", redlatch_lock_acquire(lock, 0));
        log_call("acquire", redlatch_lock_acquire(lock, 3));
        log_call("release", redlatch_lock_release(lock));
        redlatch_lock_free(lock);
    }
    redlatch_semaphore *semaphore = NULL;
    redlatch_permit_semaphore *permits = NULL;
    redlatch_latch *latch = NULL;
    int64_t number = 0;
    uint64_t serial = 0;
    log_call("semaphore", redlatch_semaphore_new(client, name, size, NULL, &semaphore));
    log_call("acquire", redlatch_semaphore_acquire(semaphore, 1, 3, NULL));
    log_call("available", redlatch_semaphore_available(semaphore, &number));
    log_call("permits", redlatch_permit_semaphore_new(client, name, size, NULL, &permits));
    log_call("acquire", redlatch_permit_semaphore_acquire(permits, 1, REDLATCH_RENEWED, 3, NULL, &serial));
    log_call("permits", redlatch_permit_semaphore_permits(permits, &number));
    log_call("latch", redlatch_latch_new(client, name, size, &latch));
    log_call("wait", redlatch_latch_wait(latch, 3, NULL));
    log_call("count", redlatch_latch_count(latch, &number));
    log_call("wait until free", redlatch_client_wait_free(client, name, size, 3, NULL));
    redlatch_semaphore_free(semaphore);
    redlatch_permit_semaphore_free(permits);
    redlatch_latch_free(latch);
}

/* Makes one name of each kind, held by `client`. */
static void make_all(redlatch_client *client, redlatch_lock *held[LOCKS + 1]) {
    const redlatch_value value = {"x", 1};
    redlatch_permit_semaphore *permits = NULL;
    for (int i = 0; i < LOCKS; i++) {
        log_call("lock",
                 redlatch_lock_new(client, locks[i].kind, locks[i].name, strlen(locks[i].name), NULL, &held[i]));
        log_call("acquire for ever", redlatch_lock_acquire(held[i], REDLATCH_FOREVER));
    }
    log_call("group", redlatch_group_lock_new(client, "group", 5, &value, 1, NULL, &held[LOCKS]));
    log_call("acquire", redlatch_lock_acquire(held[LOCKS], 0));
    log_call("permits", redlatch_permit_semaphore_new(client, "permits", 7, NULL, &permits));
    log_call("set permits", redlatch_permit_semaphore_set_permits(permits, 0));
    redlatch_permit_semaphore_free(permits);
    model_server_replace(0, "number", 6);
    model_server_replace(0, "strange", 1);
    model_server_replace(0, "list", 4);
}

void wrong_kinds(void) {
    redlatch_client *holder = NULL;
    redlatch_lock *held[LOCKS + 1] = {NULL};
    log_call("open", redlatch_client_open("unix:///s0", NULL, &holder));
    make_all(holder, held);
    for (int32_t language = REDLATCH_LANGUAGE_C; language <= REDLATCH_LANGUAGE_COMMAND; language++) {
        redlatch_client_options options;
        redlatch_client_options_init(&options, sizeof options);
        options.language = language;
        redlatch_client *client = NULL;
        log_call("open", redlatch_client_open("unix:///s0", &options, &client));
        for (int i = 0; i < LOCKS; i++) {
            use(client, locks[i].name);
        }
        for (int i = 0; i < OTHERS; i++) {
            use(client, others[i]);
        }
        redlatch_client_free(client);
    }
    for (int i = 0; i <= LOCKS; i++) {
        redlatch_lock_free(held[i]);
    }
    redlatch_client_free(holder);
}
