/* Two tasks of one event loop wait for the same lock while the loop goes on. Only poll() blocks.
 *
 *     cc event_loop.c $(pkg-config --cflags --libs redlatch) -o event_loop && ./event_loop [NAME]
 *
 * A program with an event loop (libuv, libevent, epoll) watches the descriptor in its loop instead of calling poll().
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <redlatch.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TASKS = 2, WORK_MS = 20 };

/* Several tasks share one thread, so each task has an owner number. The tag of a task is its index. */
struct task {
    uint64_t owner;
    int works;
    int done;
};

static void must(int status) {
    if (status != REDLATCH_OK) {
        fprintf(stderr, "%s\n", redlatch_last_error());
        exit(1);
    }
}

static void handle(struct task *tasks, const redlatch_event *event) {
    if (event->kind == REDLATCH_EVENT_LOST) {
        fprintf(stderr, "lost: %s\n", redlatch_reason_name(event->reason));
        return;
    }
    struct task *task = &tasks[event->tag];
    if (event->status != REDLATCH_OK) {
        fprintf(stderr, "task %d: %s\n", (int)event->tag, event->message);
        task->done = 1;
    } else if (event->kind == REDLATCH_EVENT_ACQUIRED) {
        printf("task %d has the lock\n", (int)event->tag);
        task->works = 1;
    } else if (event->kind == REDLATCH_EVENT_RELEASED) {
        task->done = 1;
    }
}

/* Other work of the tasks. Here a task that has worked for one turn of the loop releases the lock. */
static void turn(redlatch_lock *lock, struct task *tasks) {
    for (int i = 0; i < TASKS; i++) {
        if (tasks[i].works) {
            tasks[i].works = 0;
            must(redlatch_lock_start_release(lock, tasks[i].owner, (uint64_t)i));
        }
    }
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "example:event_loop";
    redlatch_client *client = NULL;
    redlatch_lock *lock = NULL;
    struct task tasks[TASKS] = {{0}};
    struct pollfd watched = {.events = POLLIN};
    must(redlatch_client_open(NULL, NULL, &client));
    must(redlatch_client_event_fd(client, &watched.fd));
    must(redlatch_lock_new(client, REDLATCH_MUTEX, name, strlen(name), NULL, &lock));
    for (int i = 0; i < TASKS; i++) {
        must(redlatch_owner_new(&tasks[i].owner));
        must(redlatch_lock_start_acquire(lock, tasks[i].owner, REDLATCH_LEASE_OF_LOCK, 30000, (uint64_t)i));
    }
    while (!tasks[0].done || !tasks[1].done) {
        poll(&watched, 1, WORK_MS);
        redlatch_event event = {.struct_size = sizeof event};
        while (redlatch_client_next_event(client, &event) == REDLATCH_OK) {
            handle(tasks, &event);
        }
        turn(lock, tasks);
    }
    puts("done");
    redlatch_lock_free(lock);
    redlatch_client_free(client);
    return 0;
}
