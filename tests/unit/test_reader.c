/* Callers who share a connection: one reads it for all, and when it leaves another one does.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "fake_server.h"
#include "records.h"
#include "redlatch.h"
#include "system.h"
#include "unit.h"

#define INFO "$66\r\n# Server\r\nrun_id:" FAKE_RUN_ID "\r\nhz:10\r\n\r\n"

static struct fake_server server;
static redlatch_client *client;
static redlatch_lock *lock;
static _Atomic pid_t requesting; /* the thread that made the last call */

static sem_t returned; /* a call has returned */
static sem_t leave;    /* a thread may end, which would pass the reader role on, too */

static void take(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0) {
    }
}

/* Makes a call that starts no background thread, which would read in a caller's place. */
static void *ask(void *status_out) {
    int32_t released;
    atomic_store(&requesting, gettid());
    *(int *)status_out = redlatch_lock_force_release(lock, &released);
    sem_post(&returned);
    take(&leave);
    return NULL;
}

/* Returns whether the thread that made the last call sleeps, as the kernel says. */
static bool sleeps(void) {
    char path[64];
    char line[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)atomic_load(&requesting));
    FILE *file = fopen(path, "r");
    if (!file) {
        return false;
    }
    const char *got = fgets(line, sizeof line, file);
    fclose(file);
    const char *state = got ? strrchr(line, ')') : NULL; /* what follows the name */
    return state && state[2] == 'S';
}

/* Waits until the thread sleeps in ten samples in a row: then it waits for its reply, not for a mutex. */
static void wait_until_it_sleeps(void) {
    int rechecks = 0;
    for (int64_t until = system_now() + 20 * SECOND; rechecks < 10 && system_now() < until; usleep(1000)) {
        rechecks = sleeps() ? rechecks + 1 : 0;
    }
    CHECK_EQ_INT(rechecks, 10);
}

static void hear(const char *word) {
    char command[4096];
    CHECK(fake_hear(&server, command, sizeof command));
    CHECK(strstr(command, word) != NULL);
}

static void who_leaves_passes_the_role(void) {
    fake_open_unix(&server);
    redlatch_client_options options;
    CHECK_EQ_INT(redlatch_client_options_init(&options, sizeof options), REDLATCH_OK);
    options.lazy = 1;
    options.command_timeout_ms = 20000;
    CHECK_EQ_INT(redlatch_client_open(server.url, &options, &client), REDLATCH_OK);
    CHECK_EQ_INT(redlatch_lock_new(client, REDLATCH_MUTEX, "orders", 6, NULL, &lock), REDLATCH_OK);
    pthread_t first, second;
    int first_status = 1, second_status = 1;
    CHECK(pthread_create(&first, NULL, ask, &first_status) == 0);
    CHECK(fake_accept(&server));
    hear("CLIENT SETNAME");
    hear("CLIENT ID");
    hear("INFO server");
    fake_say(&server, "+OK\r\n:100\r\n" INFO);
    hear("orders");
    CHECK(pthread_create(&second, NULL, ask, &second_status) == 0);
    hear("orders"); /* over the same connection, which the first reads */
    wait_until_it_sleeps();
    fake_say(&server, ":1\r\n");
    take(&returned);
    CHECK_EQ_INT(first_status, REDLATCH_OK);
    fake_say(&server, ":1\r\n");
    take(&returned);
    CHECK_EQ_INT(second_status, REDLATCH_OK);
    sem_post(&leave);
    sem_post(&leave);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    redlatch_lock_free(lock);
    redlatch_client_free(client);
    fake_close(&server);
}

int main(void) {
    sem_init(&returned, 0, 0);
    sem_init(&leave, 0, 0);
    RUN(who_leaves_passes_the_role);
    return unit_done();
}
