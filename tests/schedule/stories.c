/* The stories. Each makes a group of related calls once, whatever fails.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "descriptors.h"
#include "model_servers.h"
#include "redlatch_groups.h"
#include "schedule.h"
#include "shortages.h"

static redlatch_lock *new_lock(redlatch_client *client, int kind, const char *name) {
    redlatch_lock *lock = NULL;
    log_call("lock", redlatch_lock_new(client, kind, name, strlen(name), NULL, &lock));
    return lock;
}

/* --------------------------------------------------------------------------------------------------- handles -- */

static void open_and_close(const struct cast *cast) {
    (void)cast;
    redlatch_client *client = NULL;
    redlatch_client_options options;
    redlatch_client_options_init(&options, sizeof options);
    options.name_prefix = "prefix:";
    options.name_prefix_size = 7;
    options.connect_timeout_ms = 300;
    options.unreachable_timeout_ms = 500;
    int fd = -1;
    if (log_call("open", redlatch_client_open("redis://s0:6400", &options, &client)) != REDLATCH_OK) {
        return;
    }
    log_call("event_fd", redlatch_client_event_fd(client, &fd));
    redlatch_lock *lock = new_lock(client, REDLATCH_MUTEX, "opened");
    log_call("acquire", redlatch_lock_acquire(lock, 100));
    log_call("close", redlatch_client_close(client));
    redlatch_lock_free(lock);
    redlatch_client_free(client);
}

static void make_handles(const struct cast *cast) {
    static const redlatch_value values[] = {{"x", 1}, {"y", 1}};
    redlatch_cancel *cancel = NULL;
    log_call("cancel", redlatch_cancel_new(&cancel));
    redlatch_cancel_free(cancel);
    for (int kind = REDLATCH_MUTEX; kind <= REDLATCH_PLAIN; kind++) {
        redlatch_lock_free(new_lock(cast->client, kind, "made"));
    }
    redlatch_lock_options options;
    redlatch_lock_options_init(&options, sizeof options);
    options.key_template = "lock:{name}";
    options.key_template_size = strlen(options.key_template);
    redlatch_lock *lock = NULL;
    log_call("template", redlatch_lock_new(cast->client, REDLATCH_PLAIN, "made", 4, &options, &lock));
    redlatch_lock_free(lock);
    lock = NULL;
    log_call("group", redlatch_group_lock_new(cast->client, "group", 5, values, 2, NULL, &lock));
    redlatch_lock_free(lock);
    redlatch_scan *scan = NULL;
    log_call("scan", redlatch_scan_new(cast->client, "*", 1, &scan));
    redlatch_scan_free(scan);
}

/* ----------------------------------------------------------------------------------------------------- locks -- */

static void use_lock(const struct cast *cast, redlatch_lock *lock) {
    redlatch_hold hold = {.struct_size = sizeof hold};
    redlatch_lock_state state = {.struct_size = sizeof state};
    int32_t released = 0;
    log_call("acquire", redlatch_lock_acquire_as(lock, cast->owner, REDLATCH_RENEWED, 100, NULL));
    log_call("acquire", redlatch_lock_acquire_as(lock, cast->owner, 500, 100, NULL));
    log_call("extend", redlatch_lock_extend(lock, cast->owner, 400));
    log_call("hold", redlatch_lock_hold_status(lock, cast->owner, &hold));
    log_call("query", redlatch_lock_query(lock, &state));
    log_call("release", redlatch_lock_release_as(lock, cast->owner));
    actor_sleep(300000); /* so that a renewal is sent */
    log_call("release", redlatch_lock_release_as(lock, cast->owner));
    log_call("force release", redlatch_lock_force_release(lock, &released));
}

static void acquire_and_release(const struct cast *cast) {
    static const int kinds[] = {REDLATCH_MUTEX, REDLATCH_FAIR, REDLATCH_PLAIN};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        redlatch_lock *lock = new_lock(cast->client, kinds[i], redlatch_kind_name(kinds[i]));
        use_lock(cast, lock);
        redlatch_lock_free(lock);
    }
}

/* The lease of the first owner ends while the second waits. */
static void contend(const struct cast *cast) {
    static const int kinds[] = {REDLATCH_MUTEX, REDLATCH_FAIR, REDLATCH_WRITE};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        redlatch_lock *lock = new_lock(cast->client, kinds[i], redlatch_kind_name(kinds[i]));
        log_call("acquire", redlatch_lock_acquire_as(lock, cast->other_owner, 200, 100, NULL));
        log_call("acquire", redlatch_lock_acquire_as(lock, cast->owner, REDLATCH_RENEWED, 900, NULL));
        log_call("release", redlatch_lock_release_as(lock, cast->owner));
        redlatch_lock_free(lock);
    }
}

static void compose(const struct cast *cast) {
    redlatch_lock *members[] = {new_lock(cast->client, REDLATCH_MUTEX, "first"),
                                new_lock(cast->client, REDLATCH_MUTEX, "second"),
                                new_lock(cast->other, REDLATCH_MUTEX, "third")};
    redlatch_lock *composites[3] = {NULL};
    log_call("multi lock of one", redlatch_multi_lock_new(members, 2, NULL, &composites[0]));
    log_call("multi lock of two", redlatch_multi_lock_new(members, 3, NULL, &composites[1]));
    log_call("redlock", redlatch_redlock_new(members + 1, 2, 1, NULL, &composites[2]));
    for (int i = 0; i < 3; i++) {
        use_lock(cast, composites[i]);
        redlatch_lock_free(composites[i]);
    }
    model_server_cut(0); /* afterwards nothing is left of commands that lacked memory to be written */
    use_lock(cast, members[0]);
    for (int i = 0; i < 3; i++) {
        redlatch_lock_free(members[i]);
    }
}

/* --------------------------------------------------------------------------------------------------- counted -- */

static void count(const struct cast *cast) {
    redlatch_semaphore *semaphore = NULL;
    redlatch_permit_semaphore *permits = NULL;
    redlatch_latch *latch = NULL;
    int64_t number = 0;
    int32_t flag = 0;
    uint64_t serial = 0;
    log_call("semaphore", redlatch_semaphore_new(cast->client, "semaphore", 9, NULL, &semaphore));
    log_call("try set", redlatch_semaphore_try_set_permits(semaphore, 2, REDLATCH_FOREVER, &flag));
    log_call("acquire", redlatch_semaphore_acquire(semaphore, 2, 100, NULL));
    log_call("acquire", redlatch_semaphore_acquire(semaphore, 1, 100, NULL));
    log_call("release", redlatch_semaphore_release(semaphore, 1));
    log_call("drain", redlatch_semaphore_drain(semaphore, &number));
    log_call("delete", redlatch_semaphore_delete(semaphore, &flag));
    redlatch_semaphore_free(semaphore);
    log_call("permits", redlatch_permit_semaphore_new(cast->client, "permits", 7, NULL, &permits));
    log_call("try set", redlatch_permit_semaphore_try_set_permits(permits, 2, &flag));
    log_call("acquire", redlatch_permit_semaphore_acquire(permits, 2, REDLATCH_RENEWED, 100, NULL, &serial));
    redlatch_permit permit = {.struct_size = sizeof permit};
    redlatch_permit_semaphore_permit_status(permits, serial, &permit);
    log_call("release", redlatch_permit_semaphore_release(permits, permit.id));
    log_call("delete", redlatch_permit_semaphore_delete(permits, &flag));
    redlatch_permit_semaphore_free(permits);
    log_call("latch", redlatch_latch_new(cast->client, "latch", 5, &latch));
    log_call("try set", redlatch_latch_try_set_count(latch, 1, &flag));
    log_call("wait", redlatch_latch_wait(latch, 50, NULL));
    log_call("count down", redlatch_latch_count_down(latch));
    redlatch_latch_free(latch);
}

/* ----------------------------------------------------------------------------------------------------- waits -- */

static void end_wait(int begun, redlatch_wait *const *wait) {
    if (log_call("begin", begun) == REDLATCH_OK) {
        log_call("continue", redlatch_wait_continue(*wait, 30, NULL));
        redlatch_wait_drop(*wait);
    }
}

static void begin_waits(const struct cast *cast) {
    redlatch_semaphore *semaphore = NULL;
    redlatch_permit_semaphore *permits = NULL;
    redlatch_latch *latch = NULL;
    redlatch_wait *wait = NULL;
    log_call("wait until free", redlatch_client_wait_free(cast->client, "waited for", 10, 50, NULL));
    log_call("start", redlatch_client_start_wait_free(cast->client, "waited for", 10, 50, 1));
    redlatch_lock *lock = new_lock(cast->client, REDLATCH_MUTEX, "waited for");
    end_wait(redlatch_lock_begin_acquire(lock, cast->owner, REDLATCH_RENEWED, 100, NULL, &wait), &wait);
    log_call("wait until free", redlatch_client_wait_free(cast->client, "waited for", 10, 50, NULL));
    end_wait(redlatch_client_begin_wait_free(cast->client, "waited for", 10, 100, NULL, &wait), &wait);
    log_call("release", redlatch_lock_release_as(lock, cast->owner));
    redlatch_lock_free(lock);
    log_call("semaphore", redlatch_semaphore_new(cast->client, "semaphore", 9, NULL, &semaphore));
    end_wait(redlatch_semaphore_begin_acquire(semaphore, 1, 100, NULL, &wait), &wait);
    redlatch_semaphore_free(semaphore);
    log_call("permits", redlatch_permit_semaphore_new(cast->client, "permits", 7, NULL, &permits));
    end_wait(redlatch_permit_semaphore_begin_acquire(permits, 1, REDLATCH_RENEWED, 100, NULL, &wait), &wait);
    redlatch_permit_semaphore_free(permits);
    log_call("latch", redlatch_latch_new(cast->client, "latch", 5, &latch));
    end_wait(redlatch_latch_begin_wait(latch, 100, NULL, &wait), &wait);
    redlatch_latch_free(latch);
}

/* --------------------------------------------------------------------------------------------------- started -- */

struct event_wait {
    int fd;
};

static bool has_event(const void *context) {
    return descriptor_events(((const struct event_wait *)context)->fd, POLLIN) & POLLIN;
}

/* Collects `count` events, or those that come within two seconds. */
static void collect(redlatch_client *client, int count) {
    struct event_wait wait = {-1};
    if (log_call("event_fd", redlatch_client_event_fd(client, &wait.fd)) != REDLATCH_OK) {
        return;
    }
    int64_t until = schedule_now() + 2000000;
    while (count > 0 && schedule_now() < until) {
        actor_wait(has_event, &wait, until);
        redlatch_event event = {.struct_size = sizeof event};
        while (redlatch_client_next_event(client, &event) == REDLATCH_OK) {
            trace("event: %d, %s, tag %" PRIu64 ", %s", event.kind, redlatch_status_name(event.status), event.tag,
                  event.message ? event.message : "-");
            if (event.report) {
                trace("report: %s", redlatch_report_name(event.report));
            }
            redlatch_report_free(event.report);
            count--;
        }
    }
}

static int started(const char *what, int status) {
    return log_call(what, status) == REDLATCH_OK;
}

static void start_calls(const struct cast *cast) {
    redlatch_lock *members[] = {new_lock(cast->client, REDLATCH_MUTEX, "first"),
                                new_lock(cast->other, REDLATCH_MUTEX, "second")};
    redlatch_lock *both = NULL;
    redlatch_semaphore *semaphore = NULL;
    redlatch_scan *scan = NULL;
    int fd = -1;
    log_call("event_fd", redlatch_client_event_fd(cast->client, &fd));
    log_call("multi lock", redlatch_multi_lock_new(members, 2, NULL, &both));
    log_call("semaphore", redlatch_semaphore_new(cast->client, "semaphore", 9, NULL, &semaphore));
    log_call("scan", redlatch_scan_new(cast->client, "*", 1, &scan));
    int count = started("start", redlatch_lock_start_acquire(members[0], cast->owner, REDLATCH_RENEWED, 100, 1));
    count += started("start", redlatch_client_start_wait_free(cast->client, "first", 5, 100, 2));
    count += started("start", redlatch_client_start_inspect(cast->client, "first", 5, NULL, 3));
    count += started("start", redlatch_semaphore_start_try_set_permits(semaphore, 1, REDLATCH_FOREVER, 4));
    int steps = started("start", redlatch_scan_start_next(scan, 5));
    count += steps ? steps : started("start again", redlatch_scan_start_next(scan, 5));
    collect(cast->client, count);
    count = started("start", redlatch_lock_start_release(members[0], cast->owner, 6));
    count += started("start", redlatch_semaphore_start_acquire(semaphore, 1, 100, 7));
    collect(cast->client, count);
    count = started("start", redlatch_lock_start_acquire(both, cast->owner, REDLATCH_RENEWED, 100, 8));
    collect(cast->client, count);
    count = started("start", redlatch_lock_start_query(both, 9));
    collect(cast->client, count);
    count = started("start", redlatch_lock_start_release(both, cast->owner, 10));
    collect(cast->client, count);
    redlatch_scan_free(scan);
    redlatch_semaphore_free(semaphore);
    redlatch_lock_free(both);
    redlatch_lock_free(members[0]);
    redlatch_lock_free(members[1]);
}

/* --------------------------------------------------------------------------------------------------- reports -- */

static void report(const struct cast *cast) {
    redlatch_lock *lock = new_lock(cast->client, REDLATCH_MUTEX, "reported");
    redlatch_report *report = NULL;
    redlatch_scan *scan = NULL;
    log_call("acquire", redlatch_lock_acquire_as(lock, cast->owner, REDLATCH_RENEWED, 100, NULL));
    log_call("inspect", redlatch_client_inspect(cast->client, "reported", 8, NULL, &report));
    redlatch_report_free(report);
    log_call("scan", redlatch_scan_new(cast->client, "*", 1, &scan));
    for (int i = 0; i < 4; i++) {
        report = NULL;
        log_call("next", redlatch_scan_next(scan, &report));
        redlatch_report_free(report);
    }
    redlatch_scan_free(scan);
    log_call("time-out", redlatch_lock_acquire_as(lock, cast->other_owner, REDLATCH_RENEWED, 30, NULL));
    log_call("release", redlatch_lock_release_as(lock, cast->owner));
    redlatch_lock_free(lock);
}

/* A started scan. A step that could not be started is started again, and must leave out no lock. */
static void walk(const struct cast *cast) {
    redlatch_lock *locks[] = {new_lock(cast->client, REDLATCH_MUTEX, "walked-1"),
                              new_lock(cast->client, REDLATCH_MUTEX, "walked-2")};
    redlatch_scan *scan = NULL;
    log_call("acquire", redlatch_lock_acquire_as(locks[0], cast->owner, REDLATCH_RENEWED, 100, NULL));
    log_call("acquire", redlatch_lock_acquire_as(locks[1], cast->owner, REDLATCH_RENEWED, 100, NULL));
    log_call("scan", redlatch_scan_new(cast->client, "walked-*", 8, &scan));
    for (uint64_t step = 1; step <= 5; step++) {
        int first = started("start", redlatch_scan_start_next(scan, step));
        collect(cast->client, first ? first : started("start again", redlatch_scan_start_next(scan, step)));
    }
    redlatch_scan_free(scan);
    for (int i = 0; i < 2; i++) {
        log_call("release", redlatch_lock_release_as(locks[i], cast->owner));
        redlatch_lock_free(locks[i]);
    }
}

const struct story stories[] = {
    {"open", open_and_close}, {"handles", make_handles}, {"locks", acquire_and_release},
    {"contend", contend},     {"composites", compose},   {"counts", count},
    {"waits", begin_waits},   {"started", start_calls},  {"reports", report},
    {"walk", walk},
};

const int story_count = sizeof stories / sizeof stories[0];
