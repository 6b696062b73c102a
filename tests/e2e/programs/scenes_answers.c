/* Started queries and changes: their memory is freed, whichever handles and events the host frees first.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stage.h"
#include "witness.h"

static const char id[] = "00000000000000000000000000000000";

/* A client and one handle of each kind. */
struct things {
    redlatch_client *client;
    redlatch_lock *lock;
    redlatch_lock *several;
    redlatch_semaphore *semaphore;
    redlatch_permit_semaphore *permits;
    redlatch_latch *latch;
    redlatch_scan *scan;
};

static struct things things_of(redlatch_client *client, redlatch_client *other) {
    struct things things = {.client = client, .lock = lock_new(client, 1)};
    redlatch_lock *members[2] = {lock_new(client, 2), lock_new(other, 3)};
    OK(redlatch_multi_lock_new(members, 2, NULL, &things.several));
    redlatch_lock_free(members[0]);
    redlatch_lock_free(members[1]);
    const char *name = stage_name(4);
    OK(redlatch_semaphore_new(client, name, strlen(name), NULL, &things.semaphore));
    name = stage_name(5);
    OK(redlatch_permit_semaphore_new(client, name, strlen(name), NULL, &things.permits));
    name = stage_name(6);
    OK(redlatch_latch_new(client, name, strlen(name), &things.latch));
    OK(redlatch_scan_new(client, "*", 1, &things.scan));
    return things;
}

static void things_free(struct things *things) {
    redlatch_lock_free(things->lock);
    redlatch_lock_free(things->several);
    redlatch_semaphore_free(things->semaphore);
    redlatch_permit_semaphore_free(things->permits);
    redlatch_latch_free(things->latch);
    redlatch_scan_free(things->scan);
}

/* Starts every call. Each must return `status`. Returns how many calls there are. */
static int start_all(const struct things *things, int status) {
    const char *name = stage_name(1);
    int started[] = {
        redlatch_lock_start_query(things->lock, 1),
        redlatch_lock_start_query(things->several, 1),
        redlatch_lock_start_force_release(things->lock, 1),
        redlatch_lock_start_force_release(things->several, 1),
        redlatch_client_start_inspect(things->client, name, strlen(name), NULL, 1),
        redlatch_client_start_inspect(things->client, name, strlen(name), "somebody", 1),
        redlatch_scan_start_next(things->scan, 1),
        redlatch_semaphore_start_release_if_exists(things->semaphore, 1, 1),
        redlatch_semaphore_start_try_set_permits(things->semaphore, 3, REDLATCH_FOREVER, 1),
        redlatch_semaphore_start_add_permits(things->semaphore, 1, 1),
        redlatch_semaphore_start_drain(things->semaphore, 1),
        redlatch_semaphore_start_available(things->semaphore, 1),
        redlatch_semaphore_start_delete(things->semaphore, 1),
        redlatch_permit_semaphore_start_release_by_id(things->permits, id, 1),
        redlatch_permit_semaphore_start_update_lease(things->permits, id, 1000, 1),
        redlatch_permit_semaphore_start_lease_of(things->permits, id, 1),
        redlatch_permit_semaphore_start_try_set_permits(things->permits, 3, 1),
        redlatch_permit_semaphore_start_set_permits(things->permits, 3, 1),
        redlatch_permit_semaphore_start_add_permits(things->permits, 1, 1),
        redlatch_permit_semaphore_start_available(things->permits, 1),
        redlatch_permit_semaphore_start_acquired(things->permits, 1),
        redlatch_permit_semaphore_start_permits(things->permits, 1),
        redlatch_permit_semaphore_start_delete(things->permits, 1),
        redlatch_latch_start_try_set_count(things->latch, 3, 1),
        redlatch_latch_start_count(things->latch, 1),
        redlatch_latch_start_delete(things->latch, 1),
    };
    int count = (int)(sizeof started / sizeof started[0]);
    for (int i = 0; i < count; i++) {
        MUST(started[i] == status, "call %d: %s (%s)", i, redlatch_status_name(started[i]), redlatch_last_error());
    }
    return count;
}

/* Takes `count` events. Frees their reports, and reads their states. */
static void take(redlatch_client *client, int count) {
    for (int i = 0; i < count; i++) {
        redlatch_event event;
        OK(event_within(client, 5000 * (SANITIZED ? 4 : 1), &event));
        MUST(event.tag == 1 && event.status != REDLATCH_CANCELLED, "tag %d", (int)event.tag);
        MUST(!event.state || event.state->owner[sizeof event.state->owner - 1] == '\0', "the state is cut off");
        redlatch_report_free(event.report);
    }
}

/* Every handle is freed while its calls are in progress: their events still come. */
static void handles_freed_before(void) {
    redlatch_client *client = client_new();
    redlatch_client *other = client_new();
    int fd = event_fd_of(client);
    struct things things = things_of(client, other);
    OK(redlatch_lock_acquire(things.lock, 0)); /* so that the inspection asks for its owner's location */
    int count = start_all(&things, REDLATCH_OK);
    things_free(&things);
    redlatch_client_free(other);
    take(client, count);
    MUST(!is_readable(fd), "readable though nothing is left");
    redlatch_client_free(client);
}

/* A client is closed with calls in progress, with calls done, and between the two questions of an inspection. */
static void clients_closed(void) {
    pid_t server = (pid_t)info_number("process_id");
    for (int order = 0; order < 4; order++) {
        redlatch_client_options options = client_defaults();
        options.close_timeout_ms = 50;
        redlatch_client *client = client_with(&options);
        redlatch_client *other = client_new();
        struct things things = things_of(client, other);
        tell("DEL %s", stage_name(1)); /* a release at the end of the previous round may have been cut off */
        OK(redlatch_lock_acquire(things.lock, 0));
        int count = start_all(&things, REDLATCH_OK);
        if (order >= 1) {
            event_fd_of(client);
            take(client, count - 1); /* one is left */
        }
        if (order >= 2) {
            MUST(kill(server, SIGSTOP) == 0, "cannot stop the server");
            things_free(&things);
            things = things_of(client, other);
            start_all(&things, REDLATCH_OK);
        }
        /* Order 3 closes the client of a member, while the first client stays open. */
        int status = redlatch_client_close(order == 3 ? other : client);
        if (order == 3) {
            redlatch_client_free(client);
        }
        MUST(kill(server, SIGCONT) == 0, "cannot let the server go on");
        OK(status);
        if (order < 3) {
            start_all(&things, REDLATCH_CLOSED);
            redlatch_client_free(client);
        }
        things_free(&things);
        redlatch_client_free(other);
    }
}

/* The event struct of an older caller has no room for the report. */
static void older_event(void) {
    redlatch_client *client = client_new();
    redlatch_lock *lock = lock_new(client, 1);
    OK(redlatch_lock_acquire(lock, 0));
    const char *name = stage_name(1);
    OK(redlatch_client_start_inspect(client, name, strlen(name), NULL, 7));
    redlatch_event event = {.struct_size = offsetof(redlatch_event, number), .number = 77};
    UNTIL(redlatch_client_next_event(client, &event) == REDLATCH_OK);
    MUST(event.tag == 7 && event.status == REDLATCH_OK, "status %d", event.status);
    MUST(event.number == 77 && !event.report && !event.state, "more was written than there is room for");
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

/* The descriptor is readable even for a result that needed no command, and until the last event is taken. */
static void readable(void) {
    redlatch_client *client = client_new();
    redlatch_lock *locks[2] = {lock_new(client, 1), lock_new(client, 2)};
    OK(redlatch_lock_acquire(locks[0], 0));
    OK(redlatch_lock_acquire(locks[1], 0));
    int fd = event_fd_of(client);
    redlatch_scan *scan = NULL;
    const char *name = stage_name(1);
    OK(redlatch_scan_new(client, name, strlen(name) - 1, &scan)); /* which matches nothing */
    OK(redlatch_scan_start_next(scan, 1));
    UNTIL(is_readable(fd));
    event_must(client, REDLATCH_EVENT_ANSWERED, REDLATCH_OK, 1);
    MUST(!is_readable(fd), "readable though nothing is left");
    OK(redlatch_scan_start_next(scan, 2));
    MUST(is_readable(fd), "the end of a walk is known");
    redlatch_scan_free(scan);
    OK(redlatch_lock_start_query(locks[1], 3));
    event_must(client, REDLATCH_EVENT_ANSWERED, REDLATCH_OK, 2);
    redlatch_event event = event_must(client, REDLATCH_EVENT_ANSWERED, REDLATCH_OK, 3);
    MUST(event.state && event.state->locked && event.state->count == 1, "no state");
    MUST(!is_readable(fd), "readable though nothing is left");
    redlatch_lock_free(locks[0]);
    redlatch_lock_free(locks[1]);
    redlatch_client_free(client);
}

/* In a child no call on the parent's handles can be started. The parent's calls go on. */
static void forked(void) {
    redlatch_client_options options = client_defaults();
    options.after_fork = REDLATCH_AFTER_FORK_REFUSE;
    redlatch_client *client = client_with(&options);
    redlatch_client *other = client_with(&options);
    struct things things = things_of(client, other);
    event_fd_of(client);
    int count = start_all(&things, REDLATCH_OK);
    pid_t child = fork();
    MUST(child >= 0, "no process");
    if (child == 0) {
        start_all(&things, REDLATCH_FORKED);
        things_free(&things);
        redlatch_client_free(client);
        redlatch_client_free(other);
        _exit(0);
    }
    int status = -1;
    MUST(waitpid(child, &status, 0) == child && status == 0, "the child ended with %d", status);
    take(client, count);
    things_free(&things);
    redlatch_client_free(other);
    redlatch_client_free(client);
}

enum { ROUNDS = SANITIZED ? 20 : 200, THREADS = 4 };

struct shared {
    struct things things;
    atomic_int started;
    atomic_int notified;
};

static void start_and_take(void *argument, int number) {
    struct shared *shared = argument;
    const char *name = stage_name(1);
    for (int i = 0; i < ROUNDS; i++) {
        OK(redlatch_semaphore_start_available(shared->things.semaphore, 1));
        OK(redlatch_client_start_inspect(shared->things.client, name, strlen(name), NULL, 1));
        atomic_fetch_add(&shared->started, 2);
        int64_t count;
        OK(redlatch_semaphore_available(shared->things.semaphore, &count));
        redlatch_event event = {.struct_size = sizeof event};
        while (number % 2 == 0 && redlatch_client_next_event(shared->things.client, &event) == REDLATCH_OK) {
            OK(event.status);
            redlatch_report_free(event.report);
            atomic_fetch_add(&shared->notified, 1);
        }
    }
}

/* Threads start calls, make blocking calls and take events at the same time. Each started call has one event. */
static void threads(void) {
    redlatch_client *client = client_new();
    redlatch_client *other = client_new();
    struct shared shared = {.things = things_of(client, other)};
    OK(redlatch_lock_acquire(shared.things.lock, 0));
    struct workers *workers = workers_start(THREADS, start_and_take, &shared);
    workers_join(workers);
    take(client, atomic_load(&shared.started) - atomic_load(&shared.notified));
    redlatch_event none = {.struct_size = sizeof none};
    STATUS(redlatch_client_next_event(client, &none), REDLATCH_AGAIN);
    things_free(&shared.things);
    redlatch_client_free(other);
    redlatch_client_free(client);
}

int main(int argc, char **argv) {
    static const struct scene scenes[] = {
        {"handles_freed_before", handles_freed_before},
        {"clients_closed", clients_closed},
        {"older_event", older_event},
        {"readable", readable},
        {"forked", forked},
        {"threads", threads},
    };
    return stage_main(argc, argv, scenes, sizeof scenes / sizeof scenes[0]);
}
