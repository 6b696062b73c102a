/* Waits at most 5 s for a lock and works under it. The exit status shows the result.
 *
 *     cc lock.c $(pkg-config --cflags --libs redlatch) -o lock && ./lock [NAME]
 *
 * The server's URL is REDIS_URL, or redis://127.0.0.1:6379/0.
 * SPDX-License-Identifier: Apache-2.0 */
#include <redlatch.h>
#include <stdio.h>
#include <string.h>

enum { DONE = 0, BUSY = 1, FAILED = 2, LOST = 3 };

static int work_under(redlatch_lock *lock) {
    redlatch_hold hold = {.struct_size = sizeof hold};
    int status = redlatch_lock_hold_status(lock, 0, &hold); /* sends nothing */
    if (status == REDLATCH_OK) {
        printf("held as %s\n", hold.owner);
    }
    status = redlatch_lock_release(lock);
    if (status == REDLATCH_LOST) {
        fprintf(stderr, "lost before the work was done: %s\n", redlatch_reason_name(redlatch_last_reason()));
        return LOST;
    }
    if (status != REDLATCH_OK) {
        fprintf(stderr, "not released: %s\n", redlatch_last_error());
        return FAILED;
    }
    puts("released");
    return DONE;
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "example:lock";
    redlatch_client *client = NULL;
    redlatch_lock *lock = NULL;
    int result = FAILED;
    int status = redlatch_client_open(NULL, NULL, &client);
    if (status == REDLATCH_OK) {
        status = redlatch_lock_new(client, REDLATCH_MUTEX, name, strlen(name), NULL, &lock);
    }
    if (status == REDLATCH_OK) {
        status = redlatch_lock_acquire(lock, 5000);
    }
    if (status == REDLATCH_OK) {
        result = work_under(lock);
    } else {
        fprintf(stderr, "%s\n", redlatch_last_error());
        result = status == REDLATCH_TIMEOUT ? BUSY : FAILED;
    }
    redlatch_lock_free(lock); /* NULL is allowed */
    redlatch_client_free(client);
    return result;
}
