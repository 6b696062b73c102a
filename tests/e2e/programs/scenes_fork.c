/* Forked children own none of their parent's holds, send nothing on its connections, and do not disturb it.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <redlatch_multi.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stage.h"
#include "witness.h"

/* With ThreadSanitizer a child of a process with threads cannot start threads. */
#if defined(__SANITIZE_THREAD__)
enum { CHILDREN_HAVE_THREADS = 0 };
#else
enum { CHILDREN_HAVE_THREADS = 1 };
#endif

/* The handles that a child inherits. */
struct heritage {
    redlatch_client *client;
    redlatch_lock *held;
    redlatch_lock *free_one;
    redlatch_lock *busy[2];
    redlatch_cancel *cancel;
};

/* Opens a client, which refuses forks unless options are given, and its handles. */
static struct heritage heritage_new(const redlatch_client_options *given) {
    redlatch_client_options options = given ? *given : client_defaults();
    options.after_fork = given ? given->after_fork : REDLATCH_AFTER_FORK_REFUSE;
    struct heritage all = {.client = client_with(&options)};
    all.held = lock_new(all.client, 1);
    all.free_one = lock_new(all.client, 2);
    all.busy[0] = lock_new(all.client, 4);
    all.busy[1] = lock_new(all.client, 5);
    OK(redlatch_cancel_new(&all.cancel));
    OK(redlatch_lock_acquire(all.held, 0));
    return all;
}

static void heritage_free(struct heritage *all) {
    redlatch_cancel_free(all->cancel);
    redlatch_lock_free(all->free_one);
    redlatch_lock_free(all->busy[0]);
    redlatch_lock_free(all->busy[1]);
    redlatch_lock_free(all->held);
    redlatch_client_free(all->client);
}

/* Forks a child that calls `live`. child_end waits for it, and ends the program unless the child's exit status is 0. */
static pid_t child_start(void (*live)(void *), void *argument) {
    fflush(NULL);
    pid_t child = fork();
    MUST(child >= 0, "no process");
    if (child == 0) {
        alarm(SANITIZED ? 120 : 20); /* a child that hangs is a failure, too */
        live(argument);
        _exit(0);
    }
    return child;
}

static void child_end(pid_t child) {
    int how = 0;
    MUST(waitpid(child, &how, 0) == child, "no child");
    MUST(WIFEXITED(how) && WEXITSTATUS(how) == 0, "the child ended with %x", (unsigned)how);
}

static void use_everything(void *argument) {
    struct heritage *all = argument;
    redlatch_event event = {.struct_size = sizeof event};
    redlatch_hold hold = {.struct_size = sizeof hold};
    redlatch_lock_state state = {.struct_size = sizeof state};
    redlatch_stats stats = {.struct_size = sizeof stats};
    redlatch_report *report = NULL;
    redlatch_lock *lock = NULL;
    int fd;
    for (int round = 0; round < 2; round++) { /* before and after closing */
        STATUS(redlatch_lock_acquire(all->free_one, 0), REDLATCH_FORKED);
        STATUS(redlatch_lock_acquire(all->held, REDLATCH_FOREVER), REDLATCH_FORKED);
        STATUS(redlatch_lock_acquire_as(all->held, 5, 1000, 1000, all->cancel), REDLATCH_FORKED);
        STATUS(redlatch_lock_release(all->held), REDLATCH_FORKED);
        STATUS(redlatch_lock_extend(all->held, 0, 1000), REDLATCH_FORKED);
        STATUS(redlatch_lock_leave(all->held, 0), REDLATCH_FORKED);
        STATUS(redlatch_lock_force_release(all->held, NULL), REDLATCH_FORKED);
        STATUS(redlatch_lock_hold_status(all->held, 0, &hold), REDLATCH_FORKED);
        STATUS(redlatch_lock_query(all->held, &state), REDLATCH_FORKED);
        STATUS(redlatch_client_inspect(all->client, "x", 1, NULL, &report), REDLATCH_FORKED);
        STATUS(redlatch_client_wait_free(all->client, "x", 1, 0, NULL), REDLATCH_FORKED);
        STATUS(redlatch_lock_start_acquire(all->free_one, 9, 1000, 0, 1), REDLATCH_FORKED);
        STATUS(redlatch_lock_start_release(all->held, 9, 1), REDLATCH_FORKED);
        STATUS(redlatch_lock_start_extend(all->held, 9, 1000, 1), REDLATCH_FORKED);
        STATUS(redlatch_lock_new(all->client, REDLATCH_MUTEX, "x", 1, NULL, &lock), REDLATCH_FORKED);
        STATUS(redlatch_client_stats(all->client, &stats), REDLATCH_FORKED);
        STATUS(redlatch_client_event_fd(all->client, &fd), REDLATCH_FORKED);
        STATUS(redlatch_client_next_event(all->client, &event), REDLATCH_FORKED);
        STATUS(redlatch_client_wait_lost(all->client, 10, &event), REDLATCH_FORKED);
        STATUS(redlatch_client_cancel(all->client, 1), REDLATCH_FORKED);
        MUST(strstr(redlatch_last_error(), "parent"), "the words are: %s", redlatch_last_error());
        OK(redlatch_client_close(all->client));
    }
    heritage_free(all);
}

/* Reads how many commands and bytes the server has received. Each call sends INFO twice, which the next call counts. */
static void traffic(long long *commands, long long *bytes) {
    *commands = info_number("total_commands_processed");
    *bytes = info_number("total_net_input_bytes");
}

static void child_is_notified(void) {
    struct heritage all = heritage_new(NULL);
    OK(redlatch_lock_acquire(all.free_one, 0)); /* now all connections except the subscriber exist */
    OK(redlatch_lock_release(all.free_one));
    long long commands[3];
    long long bytes[3];
    do { /* until all other commands have arrived, and only the two INFO are counted */
        traffic(&commands[0], &bytes[0]);
        sleep_ms(20);
        traffic(&commands[1], &bytes[1]);
    } while (commands[1] - commands[0] != 2);
    child_end(child_start(use_everything, &all));
    traffic(&commands[2], &bytes[2]);
    MUST(commands[2] - commands[1] == commands[1] - commands[0], "the child sent commands");
    MUST(bytes[2] - bytes[1] == bytes[1] - bytes[0], "the child sent %lld bytes", bytes[2] - 2 * bytes[1] + bytes[0]);
    MUST(hold_of(all.held, 0).state == REDLATCH_HELD, "the parent lost its lock");
    MUST(ask("EXISTS %s", stage_name(1)) == 1, "the parent's lock is gone");
    OK(redlatch_lock_release(all.held));
    OK(redlatch_lock_acquire(all.free_one, 0));
    MUST(stats_of(all.client).reconnects == 0, "the parent's connection broke");
    heritage_free(&all);
}

static void stay(void *argument) {
    sleep_ms(*(const int *)argument);
}

/* A lock is renewed while children have copies of its connections, whether these close the client or just exit. */
static void parent_goes_on(void) {
    redlatch_client_options options = client_defaults();
    options.watchdog_lease_ms = 1500;
    options.after_fork = REDLATCH_AFTER_FORK_REFUSE;
    struct heritage all = heritage_new(&options);
    const int ms = 1200;
    pid_t staying = child_start(stay, (void *)(uintptr_t)&ms);
    child_end(child_start(use_everything, &all));
    for (int64_t until = now_ms() + 2000; now_ms() < until; sleep_ms(10)) {
        MUST(hold_of(all.held, 0).state == REDLATCH_HELD, "not renewed");
        MUST(ask("EXISTS %s", stage_name(1)) == 1, "gone");
    }
    child_end(staying);
    MUST(stats_of(all.client).reconnects == 0, "the parent's connection broke");
    OK(redlatch_lock_release(all.held));
    heritage_free(&all);
}

static void release_and_acquire(redlatch_client *client, redlatch_lock *lock, uint64_t owner) {
    OK(redlatch_lock_start_acquire(lock, owner, REDLATCH_LEASE_OF_LOCK, REDLATCH_FOREVER, 1));
    event_must(client, REDLATCH_EVENT_ACQUIRED, REDLATCH_OK, 1);
    OK(redlatch_lock_start_release(lock, owner, 2));
    event_must(client, REDLATCH_EVENT_RELEASED, REDLATCH_OK, 2);
}

/* The child shares the event descriptor, and the connections that it watches. */
static void event_descriptor(void) {
    struct heritage all = heritage_new(NULL);
    int fd = event_fd_of(all.client);
    uint64_t owner = owner_new();
    release_and_acquire(all.client, all.free_one, owner);
    const int ms = 700;
    pid_t staying = child_start(stay, (void *)(uintptr_t)&ms); /* its copies live on beyond the cut */
    child_end(child_start(use_everything, &all));
    for (int i = 0; i < 20; i++) {
        release_and_acquire(all.client, all.free_one, owner);
    }
    MUST(!is_readable(fd), "readable though nothing is left");
    cut_all();
    for (int i = 0; i < 20; i++) {
        release_and_acquire(all.client, all.free_one, owner);
    }
    sleep_ms(50);
    MUST(!is_readable(fd), "readable though nothing is left: a dead connection is still watched");
    child_end(staying);
    heritage_free(&all);
}

static void own_client(void *argument) {
    (void)argument;
    if (!CHILDREN_HAVE_THREADS) {
        return;
    }
    redlatch_client *client = client_new();
    redlatch_lock *parents = lock_new(client, 1);
    redlatch_lock *own = lock_new(client, 3);
    STATUS(redlatch_lock_acquire(parents, 0), REDLATCH_TIMEOUT);
    STATUS(redlatch_lock_release(parents), REDLATCH_NOT_OWNED);
    for (int i = 0; i < 50; i++) {
        OK(redlatch_lock_acquire(own, REDLATCH_FOREVER));
        OK(redlatch_lock_release(own));
    }
    redlatch_lock_free(own);
    redlatch_lock_free(parents);
    redlatch_client_free(client);
}

static void own_client_and_child(void *argument) {
    own_client(argument);
    redlatch_client *client = client_new();
    redlatch_lock *lock = lock_new(client, 6 + (int)(getpid() % 2));
    if (CHILDREN_HAVE_THREADS) {
        OK(redlatch_lock_acquire(lock, REDLATCH_FOREVER));
        child_end(child_start(own_client, NULL));
        OK(redlatch_lock_release(lock));
    }
    redlatch_lock_free(lock);
    redlatch_client_free(client);
    use_everything(argument);
}

/* Many children and grandchildren open their own clients at the same time. */
static void own_clients(void) {
    enum { CHILDREN = 8 };
    struct heritage all = heritage_new(NULL);
    pid_t children[CHILDREN];
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = child_start(own_client_and_child, &all);
    }
    for (int i = 0; i < CHILDREN; i++) {
        child_end(children[i]);
    }
    MUST(hold_of(all.held, 0).state == REDLATCH_HELD, "the parent lost its lock");
    OK(redlatch_lock_release(all.held));
    heritage_free(&all);
    UNTIL(connections_of_redlatch() == 0);
}

struct busy {
    struct heritage all;
    atomic_bool enough;
};

static void be_busy(void *shared, int number) {
    struct busy *busy = shared;
    redlatch_lock *lock = busy->all.busy[number / 2];
    while (!atomic_load(&busy->enough)) {
        OK(redlatch_lock_acquire(lock, REDLATCH_FOREVER));
        OK(redlatch_lock_release(lock));
    }
}

/* ----------------------------------------------------------------------------------- clients that are made anew -- */

static void use_anew(void *argument) {
    struct heritage *all = argument;
    if (!CHILDREN_HAVE_THREADS) {
        return;
    }
    redlatch_hold hold = {.struct_size = sizeof hold};
    STATUS(redlatch_lock_hold_status(all->held, 0, &hold), REDLATCH_FORKED);
    STATUS(redlatch_lock_release(all->held), REDLATCH_FORKED);
    MUST(strstr(redlatch_last_error(), "belongs to the parent"), "the words are: %s", redlatch_last_error());
    STATUS(redlatch_lock_extend(all->held, 0, 1000), REDLATCH_FORKED);
    STATUS(redlatch_lock_leave(all->held, 0), REDLATCH_FORKED);
    STATUS(redlatch_lock_acquire(all->held, 0), REDLATCH_TIMEOUT);
    OK(redlatch_lock_acquire(all->free_one, REDLATCH_FOREVER));
    MUST(strncmp(hold_of(all->free_one, 0).owner, redlatch_client_uuid(all->client), 36) == 0, "another's uuid");
    OK(redlatch_lock_release(all->free_one));
    redlatch_lock *lock = lock_new(all->client, 6 + (int)(getpid() % 4));
    OK(redlatch_lock_acquire(lock, REDLATCH_FOREVER));
    OK(redlatch_lock_release(lock));
    redlatch_lock_free(lock);
    STATUS(redlatch_lock_acquire_as(all->free_one, 0, 1000, 0, all->cancel), REDLATCH_FORKED);
}

static void use_anew_and_free(void *argument) {
    use_anew(argument);
    heritage_free(argument);
}

static void use_anew_in_a_grandchild(void *argument) {
    use_anew(argument);
    child_end(child_start(use_anew_and_free, argument));
    use_anew_and_free(argument);
}

static void use_closed(void *argument) {
    struct heritage *all = argument;
    OK(redlatch_client_close(all->client));
    STATUS(redlatch_lock_acquire(all->free_one, 0), REDLATCH_CLOSED);
    heritage_free(all);
}

/* Children and grandchildren use the inherited client. The parent's copy is not disturbed. */
static void reopened(void) {
    redlatch_client_options options = client_defaults();
    options.watchdog_lease_ms = 1500;
    struct heritage all = heritage_new(&options);
    char uuid[40];
    snprintf(uuid, sizeof uuid, "%s", redlatch_client_uuid(all.client));
    child_end(child_start(use_closed, &all));
    child_end(child_start(use_anew_in_a_grandchild, &all));
    pid_t children[4];
    for (int i = 0; i < 4; i++) {
        children[i] = child_start(i % 2 ? use_anew : use_anew_and_free, &all);
    }
    for (int i = 0; i < 4; i++) {
        child_end(children[i]);
    }
    MUST(strcmp(uuid, redlatch_client_uuid(all.client)) == 0, "the parent has another uuid");
    MUST(hold_of(all.held, 0).state == REDLATCH_HELD, "the parent lost its lock");
    OK(redlatch_lock_release(all.held));
    MUST(stats_of(all.client).reconnects == 0, "the parent's connection broke");
    heritage_free(&all);
}

/* The inherited event descriptor is the parent's. The child gets its own. */
static void use_events_anew(void *argument) {
    struct heritage *all = argument;
    if (CHILDREN_HAVE_THREADS) {
        event_fd_of(all->client);
        release_and_acquire(all->client, all->free_one, owner_new());
    }
    heritage_free(all);
}

static void events_reopened(void) {
    redlatch_client_options options = client_defaults();
    struct heritage all = heritage_new(&options);
    int fd = event_fd_of(all.client);
    uint64_t owner = owner_new();
    release_and_acquire(all.client, all.free_one, owner);
    child_end(child_start(use_events_anew, &all));
    for (int i = 0; i < 20; i++) {
        release_and_acquire(all.client, all.free_one, owner);
    }
    MUST(!is_readable(fd), "readable though nothing is left");
    MUST(stats_of(all.client).reconnects == 0, "the parent's connection broke");
    OK(redlatch_lock_release(all.held));
    heritage_free(&all);
}

static void make_handles(void *shared, int number) {
    (void)number;
    struct busy *busy = shared;
    while (!atomic_load(&busy->enough)) {
        redlatch_lock *lock = lock_new(busy->all.client, 3);
        redlatch_lock_free(lock);
        sleep_ms(1);
    }
}

static void close_and_open(void *argument) {
    struct busy *busy = argument;
    use_everything(&busy->all);
    if (!SANITIZED) { /* in such a child AddressSanitizer's allocator may stay locked for ever */
        own_client(NULL);
    }
}

/* Forks at any moment of the work of the parent's other threads. */
static void be_forked_while_busy(const redlatch_client_options *options, void (*live)(void *)) {
    struct busy busy = {.all = heritage_new(options)};
    struct workers *workers = workers_start(4, be_busy, &busy);
    struct workers *makers = workers_start(1, make_handles, &busy);
    /* AddressSanitizer's allocator keeps locks that threads held at the fork: a child that starts a thread hangs. */
    int children = ADDRESS_SANITIZED ? 0 : SANITIZED ? 20 : 150;
    for (int i = 0; i < children; i++) {
        child_end(child_start(live, &busy));
    }
    atomic_store(&busy.enough, true);
    workers_join(workers);
    workers_join(makers);
    MUST(hold_of(busy.all.held, 0).state == REDLATCH_HELD, "the parent lost its lock");
    heritage_free(&busy.all);
}

static void busy_parent(void) {
    be_forked_while_busy(NULL, close_and_open);
}

static void use_busy_anew(void *argument) {
    struct busy *busy = argument;
    if (SANITIZED) { /* as above */
        return;
    }
    use_anew(&busy->all);
    OK(redlatch_lock_acquire(busy->all.busy[0], REDLATCH_FOREVER)); /* the parent's threads contend for it */
    OK(redlatch_lock_release(busy->all.busy[0]));
    if (getpid() % 2) {
        heritage_free(&busy->all);
    }
}

static void busy_parent_reopened(void) {
    redlatch_client_options options = client_defaults();
    be_forked_while_busy(&options, use_busy_anew);
}

static redlatch_wait *going_on;

static void free_resumable_wait(void *argument) {
    STATUS(redlatch_wait_continue(going_on, 10, NULL), REDLATCH_FORKED);
    redlatch_wait_drop(going_on);
    use_everything(argument);
}

/* A resumable wait stays the parent's. */
static void resumable_wait(void) {
    struct heritage all = heritage_new(NULL);
    uint64_t owner = owner_new();
    OK(redlatch_lock_begin_acquire(all.held, owner, REDLATCH_LEASE_OF_LOCK, 60000, NULL, &going_on));
    STATUS(redlatch_wait_continue(going_on, 10, NULL), REDLATCH_AGAIN);
    child_end(child_start(free_resumable_wait, &all));
    OK(redlatch_lock_release(all.held));
    int status;
    while ((status = redlatch_wait_continue(going_on, 10, NULL)) == REDLATCH_AGAIN) {
    }
    OK(status);
    redlatch_wait_drop(going_on);
    OK(redlatch_lock_release_as(all.held, owner));
    heritage_free(&all);
}

/* Held multi locks of a client that refuses forks, and of one that is set up anew. */
struct composites {
    redlatch_client *clients[2];
    redlatch_lock *members[2][2];
    redlatch_lock *both[2];
    redlatch_client *other;
};

static void free_composites(struct composites *all) {
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            redlatch_lock_free(all->members[i][j]);
        }
        redlatch_client_free(all->clients[i]);
        redlatch_lock_free(all->both[i]);
    }
}

/* A client that is set up anew goes over all multi locks that are held. This child starts no thread, so that it can be
 * played with AddressSanitizer. */
static void free_composites_and_use_another(void *argument) {
    struct composites *all = argument;
    free_composites(all);
    MUST(stats_of(all->other).held == 0, "it holds the parent's locks");
}

static void composites_freed(void) {
    redlatch_client_options options = client_defaults();
    struct composites all = {.other = client_new()};
    for (int i = 0; i < 2; i++) {
        options.after_fork = i == 0 ? REDLATCH_AFTER_FORK_REFUSE : REDLATCH_AFTER_FORK_REOPEN;
        all.clients[i] = client_with(&options);
        all.members[i][0] = lock_new(all.clients[i], 10 + 2 * i);
        all.members[i][1] = lock_new(all.clients[i], 11 + 2 * i);
        OK(redlatch_multi_lock_new(all.members[i], 2, NULL, &all.both[i]));
        OK(redlatch_lock_acquire(all.both[i], 0));
    }
    child_end(child_start(free_composites_and_use_another, &all));
    for (int i = 0; i < 2; i++) {
        MUST(hold_of(all.both[i], 0).state == REDLATCH_HELD, "the parent lost its lock");
        OK(redlatch_lock_release(all.both[i]));
    }
    free_composites(&all);
    redlatch_client_free(all.other);
}

int main(int argc, char **argv) {
    static const struct scene scenes[] = {
        {"child_is_notified", child_is_notified},
        {"parent_goes_on", parent_goes_on},
        {"event_descriptor", event_descriptor},
        {"own_clients", own_clients},
        {"busy_parent", busy_parent},
        {"reopened", reopened},
        {"events_reopened", events_reopened},
        {"busy_parent_reopened", busy_parent_reopened},
        {"resumable_wait", resumable_wait},
        {"composites_freed", composites_freed},
    };
    return stage_main(argc, argv, scenes, sizeof scenes / sizeof scenes[0]);
}
